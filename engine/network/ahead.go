package network

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quorate/aggregator"
	"quorate/engine/actor"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
)

const (
	// maxAhead bounds the messages that wait to be signed ahead, aheadAtOnce those
	// that are being signed.
	maxAhead    = 1024
	aheadAtOnce = 4
	// aheadBehind is how far below the last known block one may be for its
	// messages to be signed ahead: those of long ago were delivered long ago.
	aheadBehind = 256
	// aheadQuorum is what is asked for, in percent: the default of a request. What more
	// have signed is kept for other quorums.
	aheadQuorum = aggregator.DefaultQuorum
	// aheadWait is the wait after the aggregator was busy with what others asked.
	aheadWait = 200 * time.Millisecond
)

// signAhead has warp messages signed when their blocks are seen, before anyone
// asks. Requests go first: when the aggregator is busy it waits, and what finds
// no room is left to be asked for.
type signAhead struct {
	on    bool
	sign  func(ctx context.Context, message []byte) error
	log   *slog.Logger
	queue *actor.Mailbox[[]byte]

	signed, failed metric.Counter
}

func newSignAhead(on bool, agg *aggregator.Aggregator, epochs func() []uint64, log *slog.Logger, set *metric.Set) *signAhead {
	a := &signAhead{
		on: on, log: log, queue: actor.NewMailbox[[]byte](maxAhead, actor.Shed),
		signed: set.Counter("quorate_ahead_signed_total", "Messages of accepted blocks signed before anyone asked."),
		failed: set.Counter("quorate_ahead_failed_total", "Messages of accepted blocks that could not be signed ahead."),
	}
	a.sign = func(ctx context.Context, message []byte) error {
		// A receiving chain checks against the set of its epoch. Where that is the
		// proposed set the result is known already.
		for _, height := range append([]uint64{0}, epochs()...) {
			_, err := agg.Aggregate(ctx, &aggregator.Request{Message: message, Quorum: aheadQuorum, PChainHeight: height, AtHeight: true, Ahead: true})
			if err != nil {
				return err
			}
		}
		return nil
	}
	set.GaugeFunc("quorate_ahead_waiting", "Messages waiting to be signed ahead.", func() float64 { return float64(a.queue.Len()) })
	set.CounterFunc("quorate_ahead_shed_total", "Messages not signed ahead because too many were waiting.", func() float64 { return float64(a.queue.Shed()) })
	return a
}

// block takes the messages of a block that is being indexed, when it is near target,
// the chain's last known height. It does not wait.
func (a *signAhead) block(b *evm.Block, target uint64) {
	if !a.on || b.Number+aheadBehind < target {
		return
	}
	for i := range b.Txs {
		for k := range b.Txs[i].Logs {
			if m, ok := index.WarpMessage(&b.Txs[i].Logs[k]); ok {
				_ = a.queue.TrySend(m) // the mailbox counts what finds no room
			}
		}
	}
}

// run signs until ctx ends.
func (a *signAhead) run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	next := make(chan []byte)
	for range aheadAtOnce {
		workers.Go(func() {
			for m := range next {
				a.one(ctx, m)
			}
		})
	}
	defer close(next)
	var batch [][]byte
	for {
		select {
		case <-a.queue.Ready():
		case <-ctx.Done():
			return nil
		}
		batch = a.queue.Drain(batch)
		for _, m := range batch {
			select {
			case next <- m:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (a *signAhead) one(ctx context.Context, message []byte) {
	for {
		err := a.sign(ctx, message)
		var failure *aggregator.Error
		switch {
		case err == nil:
			a.signed.Inc()
			return
		case errors.As(err, &failure) && failure.Kind == aggregator.Overloaded:
			select {
			case <-time.After(aheadWait):
				continue
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() == nil {
			a.failed.Inc()
			a.log.Debug("a message could not be signed ahead", "err", err)
		}
		return
	}
}
