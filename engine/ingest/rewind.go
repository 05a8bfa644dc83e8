package ingest

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/chain"
)

// verify asks for the last committed block again: the nodes must have the same.
// [ErrOtherChain]: more of them have another one.
func (i *Ingest[B]) verify(ctx context.Context, head chain.Head) error {
	with, against, err := i.witness(ctx, head.Height, head.ID)
	switch {
	case err != nil:
		return fmt.Errorf("ask for block %d, the last indexed one: %w", head.Height, err)
	case against > with:
		return fmt.Errorf("%w: block %d is %x here; nodes with another one: %d, with the same: %d; nodes of another network than before need a data folder of their own",
			ErrOtherChain, head.Height, head.ID[:], against, with)
	}
	return nil
}

// witness asks the source's nodes whether they have a block.
func (i *Ingest[B]) witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error) {
	err = i.call(ctx, func(ctx context.Context) (err error) {
		if w, ok := i.cfg.Source.(Witness); ok {
			with, against, err = w.Witness(ctx, height, id)
			return err
		}
		blocks, err := i.cfg.Source.Fetch(ctx, height, height)
		switch {
		case err != nil:
			return err
		case len(blocks) != 1 || blocks[0] == *new(B) || blocks[0].Link().Height != height:
			return ErrAnswer
		case blocks[0].Link().ID == id:
			with = 1
		default:
			against = 1
		}
		return nil
	})
	return with, against, err
}

// foreignLooks is how often in a row the nodes must have another block than the
// last committed one before it is given up.
const foreignLooks = 3

// other decides what to do about err, with which verify has ended: nil means that
// the sink was taken back to a block that the nodes have.
func (i *Ingest[B]) other(ctx context.Context, head chain.Head, err error) error {
	sink, can := i.cfg.Sink.(Rewinder)
	if !errors.Is(err, ErrOtherChain) {
		return err
	}
	i.mu.Lock()
	i.foreign++
	wait := i.foreign < foreignLooks
	i.mu.Unlock()
	if !can || wait {
		return err
	}
	to, searchErr := i.ancestor(ctx, sink, head)
	if searchErr != nil {
		return fmt.Errorf("%w; %w", err, searchErr)
	}
	i.log.Error("blocks are removed: the nodes have others", "from", to+1, "to", head.Height, "err", err)
	if err := sink.Rewind(ctx, to); err != nil {
		return fmt.Errorf("go back to block %d: %w", to, err)
	}
	if i.cfg.Repairs != nil {
		if err := i.cfg.Repairs.cut(to); err != nil {
			return err
		}
	}
	i.rewinds.Inc()
	i.mu.Lock()
	i.foreign = 0
	i.state.Head, i.state.Started = i.cfg.Sink.Cursor()
	i.mu.Unlock()
	return nil
}

// ancestor returns the height of the highest committed block that most nodes have.
func (i *Ingest[B]) ancestor(ctx context.Context, sink Rewinder, head chain.Head) (uint64, error) {
	shared := func(height uint64) (bool, error) {
		id, err := sink.ID(ctx, height)
		if err != nil {
			return false, fmt.Errorf("look up block %d: %w", height, err)
		}
		with, against, err := i.witness(ctx, height, id)
		return err == nil && with >= against && with > 0, err
	}
	// Steps that double until one is shared, then the middle between that and the last.
	bad, good := head.Height, uint64(0)
	limit := min(i.cfg.MaxRewind, head.Height-min(head.Height, i.cfg.From))
	for step := min(1, limit); ; step = min(2*step, limit) {
		good = head.Height - step
		ok, err := shared(good)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		if step == limit {
			return 0, fmt.Errorf("the nodes have none of the last %d blocks", limit)
		}
		bad = good
	}
	for bad-good > 1 {
		middle := good + (bad-good)/2
		ok, err := shared(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, nil
}
