package primary

import (
	"bytes"
	"context"
	"fmt"

	store "quorate/engine/store/index"
)

// Complete adds to the rows of blocks that were indexed bare what their proposers'
// headers say: nothing else of any row follows from those. Blocks that are not indexed
// are passed over. Then it calls then, before rows are made again: what they are made
// from has the headers afterwards. After an error some rows may have been written; the
// same call can be made again.
func (c *Chain) Complete(ctx context.Context, blocks []*Block, then func() error) error {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	// They would be continued, and those that are made already lack the headers.
	if err := c.dropUnfinished(ctx, nil); err != nil {
		return fmt.Errorf("complete blocks of the primary network: %w", err)
	}
	if err := c.complete(ctx, blocks); err != nil {
		return fmt.Errorf("complete blocks of the primary network: %w", err)
	}
	return then()
}

// GiveUp removes rows that an ended call was making and that no further one will go on
// with: those of a [Chain.Deepen] to a block where the rows are not to begin any more,
// and of a [Chain.Check].
func (c *Chain) GiveUp(ctx context.Context) error {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	at := c.at.Load()
	if at.cursor == nil {
		return nil
	}
	if err := c.dropUnfinished(ctx, c.buildRow(Space{Edition: at.space.Edition + 1}, buildRows, at.cursor.first)); err != nil {
		return fmt.Errorf("remove half-made rows of the primary network: %w", err)
	}
	return nil
}

// dropUnfinished removes rows that an ended call was making again, but for those that a
// row of the build codec says.
func (c *Chain) dropUnfinished(ctx context.Context, but []byte) error {
	at := c.at.Load()
	if at.cursor == nil {
		return nil
	}
	clean := false
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	_, err = s.Get(c.buildKey(), func(have []byte) error {
		clean = bytes.Equal(have, but) || bytes.Equal(have, c.noBuild(at.space.Edition+1))
		return nil
	})
	s.Close()
	if err != nil || clean {
		return err
	}
	if err := c.sweep(ctx); err != nil { // it may have been one that is to be removed
		return err
	}
	return c.dropBuild(ctx)
}

func (c *Chain) complete(ctx context.Context, blocks []*Block) error {
	if err := c.alone(); err != nil {
		return err
	}
	defer c.commit.Unlock()
	at := c.at.Load()
	if at.cursor == nil {
		return nil
	}
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	rows := &Overlay{Space: at.space, snap: s}
	many := c.many()
	defer many.discard()
	for _, b := range blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		height := b.Link().Height
		if height < at.cursor.first || height > at.cursor.head.Height {
			continue
		}
		value, found, err := rows.Get(rows.Key(store.PrimaryBlocks).U64(height))
		if err != nil {
			return err
		}
		if !found {
			continue // a machine that keeps no blocks
		}
		info, err := decodeBlock(b.Chain, height, value)
		if err != nil {
			return err
		}
		if info.ID != b.ID() {
			return fmt.Errorf("%w: block %d is %s, not %s", ErrOrder, height, info.ID, b.ID())
		}
		info.Proposer = rows.Proposer(b)
		rows.PutBlock(info)
		for _, r := range rows.group.sorted() {
			if err := many.set(r.key, r.value); err != nil {
				return err
			}
		}
		rows.group, rows.undo = layer{}, nil
	}
	if err := many.end(); err != nil {
		return err
	}
	c.changed.Tell()
	return nil
}
