package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quorate/engine/chain"
)

const (
	// repairFirst is the wait before a gap is tried again; it doubles up to repairMost.
	repairFirst = time.Minute
	repairMost  = 6 * time.Hour
	// repairIdle is how often the list is looked at when nothing is due.
	repairIdle = 5 * time.Second
)

// completed notes that a block is complete.
func (i *Ingest[B]) completed(link *chain.Link) error {
	i.mu.Lock()
	i.any = true
	i.mu.Unlock()
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
	err := i.cfg.Repairs.add(Gap{
		Height: link.Height, ID: link.ID, Reason: reason.Error(), Since: now, Tries: 1, Next: now.Add(repairFirst),
	})
	if err != nil {
		return fmt.Errorf("%w: %w", reason, err)
	}
	i.log.Warn("a block is indexed without what no node can tell of it now; it is tried again", "height", link.Height, "err", reason)
	return nil
}

// repair tries to fill gaps, one at a time, until ctx ends. After a start all are due:
// there may be other nodes now.
func (i *Ingest[B]) repair(ctx context.Context) {
	i.cfg.Repairs.hasten()
	for {
		wait := repairIdle
		head, started := i.cfg.Sink.Cursor()
		gap, ok := i.cfg.Repairs.due(time.Now())
		if ok && started && gap.Height <= head.Height {
			wait = 0
			if err := i.fillGap(ctx, gap); err != nil && ctx.Err() == nil {
				wait = repairIdle // the disk, or nobody can complete anything now
				i.log.Debug("a gap stays for now", "height", gap.Height, "err", err)
			}
		}
		if !pause(ctx, wait, nil) {
			return
		}
	}
}

// fillGap completes a committed block. An error means that others need not be
// tried now either.
func (i *Ingest[B]) fillGap(ctx context.Context, gap Gap) error {
	var blocks []B
	err := i.call(ctx, func(ctx context.Context) (err error) {
		blocks, err = i.cfg.Source.Fetch(ctx, gap.Height, gap.Height)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case err != nil:
	case len(blocks) != 1 || blocks[0] == *new(B) || blocks[0].Link().ID != gap.ID:
		err = ErrAnswer
	default:
		err = i.call(ctx, func(ctx context.Context) error { return i.cfg.Completer.Complete(ctx, blocks[0]) })
	}
	if err == nil && i.cfg.OnRepaired != nil {
		err = i.cfg.OnRepaired(ctx, blocks[0])
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		if err = i.cfg.Repairs.filled(gap.Height); err == nil {
			i.repaired.Inc()
			i.log.Info("a gap is filled", "height", gap.Height, "after", time.Since(gap.Since).Round(time.Second))
		}
		return err
	}
	if errors.Is(err, ErrUnable) {
		return err
	}
	gap.Reason = err.Error()
	gap.Next = time.Now().Add(min(repairFirst<<min(gap.Tries, 20), repairMost))
	gap.Tries++
	return i.cfg.Repairs.add(gap)
}
