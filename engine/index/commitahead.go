package index

import (
	"context"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// flight is a commit under way.
type flight struct {
	ended  chan error
	done   cursor // of its last block
	tokens []SeenToken
	nfts   []SeenNFT
}

// CommitAhead is Commit for many blocks that are at hand, one group after the other. It
// returns when the rows of the blocks are made, and writes them while those of the next
// ones are made, but not before ready has returned nil: rows of tables that say a height
// in their order, see [store.DB.Load]. After an error none, some or all of these blocks
// and those of the call before are indexed: Cursor returns how far. The last call is to be
// followed by [Chain.Land].
func (c *Chain) CommitAhead(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	c.commit.Lock()
	defer c.commit.Unlock()
	if c.doubt {
		if err := c.settle(); err != nil {
			return err
		}
	}
	if err := c.follows(blocks); err != nil || len(blocks) == 0 {
		return err
	}
	c.maker.pipelined = true
	if err := c.makeAhead(ctx, blocks, ready); err != nil {
		c.doubt = true
		_ = c.settle() // if that fails too, it is done again before the next commit
		return err
	}
	b := c.maker.builder
	c.flying.tokens, c.flying.nfts = slices.Clone(b.seen), slices.Clone(b.nfts)
	return nil
}

// Land waits until what [Chain.CommitAhead] has made is written, and returns why it is not.
func (c *Chain) Land() error {
	c.commit.Lock()
	defer c.commit.Unlock()
	err := c.land()
	if later := c.settle(); err == nil {
		err = later
	}
	return err
}

// front returns how far rows are made, or on their way; nil for nowhere.
func (c *Chain) front() *cursor {
	if c.flying != nil {
		return &c.flying.done
	}
	return c.last.Load()
}

func (c *Chain) makeAhead(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	rows := new(load)
	w, cur, first := c.writer(ctx)
	w.load, w.land = rows, c.land
	w.later = func(batch *store.Batch) error { return c.launch(ctx, batch, rows.end(), &w.done, ready) }
	w.marked = func() {}
	defer w.discard()
	defer func() { c.remembered.Store(c.maker.bytes()) }()
	return c.maker.group(ctx, blocks, cur, first, w)
}

// launch loads rows and then commits a batch, after what was launched before.
func (c *Chain) launch(ctx context.Context, batch *store.Batch, rows sorter, done *cursor, ready func() error) error {
	if err := c.land(); err != nil {
		batch.Discard()
		return err
	}
	f := &flight{ended: make(chan error, 1), done: *done}
	c.flying = f
	go func() {
		err := ready()
		if err == nil {
			err = rows.load(ctx, c.db, nil)
		}
		if err != nil {
			batch.Discard()
		} else {
			err = batch.Commit()
		}
		f.ended <- err
	}()
	return nil
}

// land waits for the commit under way. The caller holds the commit lock.
func (c *Chain) land() error {
	f := c.flying
	if f == nil {
		return nil
	}
	c.flying = nil
	if err := <-f.ended; err != nil {
		c.doubt = true
		return err
	}
	c.setLast(&f.done)
	c.tell(f.tokens, f.nfts)
	return nil
}
