package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quorate/engine/chain"
)

const (
	// repairFirst is the wait before a gap is tried again; it doubles up to repairMost.
	repairFirst = time.Minute
	repairMost  = 6 * time.Hour
	// repairAgain is the wait for a gap whose block is not to blame, repairIdle the one
	// for others then, and when nothing is due.
	repairAgain = 30 * time.Second
	repairIdle  = 5 * time.Second
)

// completed notes that a block is complete.
func (i *Ingest[B]) completed(link *chain.Link) error {
	i.able()
	if i.cfg.Repairs == nil {
		return nil
	}
	return i.cfg.Repairs.filled(link.Height)
}

// optional reports whether blocks may be committed as they are when no node can
// complete any.
func (i *Ingest[B]) optional() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.cfg.Optional && !i.any && (i.cfg.Repairs == nil || !i.cfg.Repairs.Completed())
}

// giveUp makes a block a gap: it is in the list, on disk, before it is committed.
func (i *Ingest[B]) giveUp(link *chain.Link, reason error) error {
	now := time.Now()
	gap := Gap{Height: link.Height, ID: link.ID, Reason: reason.Error(), Since: now, Tries: 1, Next: now.Add(repairFirst)}
	if !errors.Is(reason, ErrIncomplete) {
		gap.Unable, gap.Next = true, now // the block itself is not to blame
	}
	if err := i.cfg.Repairs.add(gap); err != nil {
		return fmt.Errorf("%w: %w", reason, err)
	}
	level := slog.LevelWarn
	if gap.Unable && i.noteWaived() {
		level = slog.LevelDebug
	}
	i.log.Log(context.Background(), level, "a block is indexed without what no node can tell of it now; it is tried again", "height", link.Height, "err", reason)
	return nil
}

// nearHead is how many blocks a chain may lack to be near its head: far fewer than fit
// into the list of gaps.
const nearHead = maxGaps / 10

// outage is a time in which no block could be completed.
type outage struct {
	since  time.Time // zero: there is none
	target uint64    // the height to reach when it began
	why    error     // the last failure
	waived bool      // blocks are committed incomplete
}

// unableTo notes that a block was not completed and is not to blame for it.
func (i *Ingest[B]) unableTo(why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.outage.since.IsZero() {
		i.outage.since, i.outage.target = time.Now(), i.target.Load()
	}
	i.outage.why = why
}

// able ends an outage: some block was completed.
func (i *Ingest[B]) able() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.any, i.outage = true, outage{}
}

// lasts reports whether blocks may be committed incomplete since an outage lasts. Where
// the head was when it began counts: the chain grows meanwhile.
func (i *Ingest[B]) lasts() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	height := i.cfg.From
	if i.state.Started {
		height = i.state.Height
	}
	o := &i.outage
	return i.cfg.UnableAfter > 0 && !o.since.IsZero() && time.Since(o.since) >= i.cfg.UnableAfter && height+i.cfg.near >= o.target
}

// noteWaived notes that blocks are committed incomplete, and reports whether that was
// known.
func (i *Ingest[B]) noteWaived() (was bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	was, i.outage.waived = i.outage.waived, !i.outage.since.IsZero()
	return was
}

// waived returns why blocks are committed incomplete without being tried, nil if they
// are tried. A try may take its time in an outage; whether it is over the repair of gaps
// finds out.
func (i *Ingest[B]) waived() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.outage.waived {
		return nil
	}
	return i.outage.why
}

// repair tries to fill gaps, one at a time, until ctx ends. After a start all are due:
// there may be other nodes now. After a failure it goes on at the other end: nodes that
// were pruned can complete the highest, those that stand still the lowest.
func (i *Ingest[B]) repair(ctx context.Context) {
	i.cfg.Repairs.hasten()
	for highest := false; ; {
		wait := repairIdle
		head, started := i.cfg.Sink.Cursor()
		gap, ok := i.cfg.Repairs.due(time.Now(), head.Height, highest)
		if ok && started {
			wait = 0
			if err := i.fillGap(ctx, gap); err != nil && ctx.Err() == nil {
				wait, highest = repairIdle, !highest
				i.log.Debug("a gap stays for now", "height", gap.Height, "err", err)
			}
		}
		if !pause(ctx, wait, nil) {
			return
		}
	}
}

// fillGap completes a committed block. An error means that others are not likely to be
// filled now either.
func (i *Ingest[B]) fillGap(ctx context.Context, gap Gap) error {
	var blocks []B
	err := i.call(ctx, func(ctx context.Context) (err error) {
		blocks, err = i.cfg.Source.Fetch(ctx, gap.Height, gap.Height)
		return err
	})
	blamed := errors.Is(err, ErrNotFound) // this very block is to blame
	switch {
	case err != nil:
	case len(blocks) != 1 || blocks[0] == *new(B) || blocks[0].Link().ID != gap.ID:
		err, blamed = ErrAnswer, true
	default:
		err = i.call(ctx, func(ctx context.Context) error { return i.cfg.Completer.Complete(ctx, blocks[0]) })
		blamed = errors.Is(err, ErrIncomplete)
		if err == nil {
			i.able()
			err = i.cfg.OnRepaired(ctx, blocks[0])
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		if err = i.cfg.Repairs.filled(gap.Height); err == nil {
			i.repaired.Inc()
			i.log.Info("a gap is filled", "height", gap.Height, "after", time.Since(gap.Since).Round(time.Second))
		}
		return err
	case !blamed:
		i.cfg.Repairs.postpone(gap.Height, err, repairAgain)
		return err
	}
	gap.Reason = err.Error()
	gap.Next = time.Now().Add(min(repairFirst<<min(gap.Tries, 20), repairMost))
	gap.Tries++
	return i.cfg.Repairs.add(gap)
}
