package verdict

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	evmsource "quorate/engine/source/evm"
)

const (
	// maxDoubts bounds the balances that wait to be proven. More are dropped: the
	// sample is smaller then.
	maxDoubts = 1024
	// proofBatch is how many balances are proven by one request, of two proofs each.
	proofBatch = 32
	// proofPause is the wait after no node could be asked, and proofPauseMost how
	// long none is asked after none had proofs.
	proofPause     = time.Second
	proofPauseMost = 30 * time.Second
)

// NearHead is how many blocks a chain's index may lack to be at the chain's head.
const NearHead = 64

// Proofs has a sample of the balances that nodes answered proven by the state roots of
// their blocks, beside the ingest and never in its way.
type Proofs struct {
	log     *slog.Logger
	sampler evmsource.Sampler // of the goroutine that commits
	doubts  *actor.Mailbox[evmsource.Doubt]
	prove   func(ctx context.Context, doubts []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error
	// found is called with the first and the last of blocks of one of which something false
	// was told.
	found func(from, to uint64, err error)

	proven, unproven, refuted metric.Counter
}

// NewProofs returns a lane that does nothing yet.
func NewProofs(log *slog.Logger, set *metric.Set, client *evmsource.Client, found func(from, to uint64, err error)) *Proofs {
	counter := func(name, help string) metric.Counter {
		return set.Counter("quorate_balances_"+name+"_total", help)
	}
	return &Proofs{
		log: log, doubts: actor.NewMailbox[evmsource.Doubt](maxDoubts, actor.Shed), prove: client.Prove, found: found,
		proven:   counter("proven", "Balances answered by a node that a state root has proven, and the calls that explain them."),
		unproven: counter("unproven", "Balances of the sample that no node has proven."),
		refuted:  counter("refuted", "Balances, or calls that should explain them, answered by a node and proven to be false."),
	}
}

// Take picks balances of a block that was committed; target is the chain's last known
// height. Nodes that execute blocks after they accepted them have the states of the newest
// ones alone, as they are run: further below none is asked.
func (l *Proofs) Take(b *evm.Block, target uint64) {
	doubts := l.sampler.Sample(b)
	if b.Reserved != nil && b.Reserved.Settled+NearHead < target {
		return
	}
	for _, d := range doubts {
		_ = l.doubts.TrySend(d) // the mailbox counts what it sheds
	}
}

// Run proves until ctx ends.
func (l *Proofs) Run(ctx context.Context) error {
	var batch []evmsource.Doubt
	for {
		select {
		case <-l.doubts.Ready():
		case <-ctx.Done():
			return nil
		}
		batch = l.doubts.Drain(batch)
		for some := range slices.Chunk(batch, proofBatch) {
			if wait := l.proveSome(ctx, some); wait > 0 {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return nil
				}
			}
		}
	}
}

// proveSome returns how long to wait before the next ones.
func (l *Proofs) proveSome(ctx context.Context, some []evmsource.Doubt) (wait time.Duration) {
	none := true
	err := l.prove(ctx, some, func(d *evmsource.Doubt, err error) {
		none = none && errors.Is(err, evmsource.ErrUnproven)
		l.judge(d, err)
	})
	switch {
	case err != nil && ctx.Err() == nil:
		l.unproven.Add(float64(len(some)))
		l.log.Debug("no node could be asked for proofs", "err", err)
		return proofPause
	case none:
		return proofPauseMost
	}
	return 0
}

func (l *Proofs) judge(d *evmsource.Doubt, err error) {
	switch {
	case err == nil:
		l.proven.Inc()
	case errors.Is(err, evmsource.ErrUnproven):
		l.unproven.Inc()
	default:
		l.refuted.Inc()
		l.log.Error("a node answered with a false balance or false calls: what is served of this block may be wrong", "from", d.From, "to", d.Height, "account", d.Account.String(), "err", err)
		l.found(d.From, d.Height, err)
	}
}
