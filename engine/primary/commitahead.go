package primary

import (
	"context"
	"errors"
	"time"
)

// CommitAhead is [Chain.CommitAfter] for many blocks that are at hand, one group after the
// other. It returns when the rows of the blocks are made, and writes them while those of
// the next ones are made, again not before ready has returned nil. After an error none,
// some or all of these blocks and those of the calls before are indexed: Cursor returns how
// far. The last call is to be followed by [Chain.Land].
func (c *Chain) CommitAhead(ctx context.Context, blocks []*Block, ready func() error) error {
	c.commit.Lock()
	defer c.commit.Unlock()
	w := c.ahead
	if w == nil {
		w = &writer{c: c, at: *c.at.Load()}
	}
	c.ahead = nil // after a panic it is of no use
	err := w.ahead(ctx, blocks, ready)
	if err != nil {
		w.close()
		return err
	}
	c.ahead = w
	return nil
}

// Land waits until what [Chain.CommitAhead] has made is written, and returns why it is not.
func (c *Chain) Land() error {
	c.commit.Lock()
	defer c.commit.Unlock()
	return c.land()
}

// land is Land by who holds the lock.
func (c *Chain) land() error {
	w := c.ahead
	if w == nil {
		return nil
	}
	c.ahead = nil
	defer w.close()
	return w.flush()
}

// alone takes the commit lock, and waits until nothing is under way. After an error the
// lock is not held.
func (c *Chain) alone() error {
	c.commit.Lock()
	if err := c.land(); err != nil {
		c.commit.Unlock()
		return err
	}
	return nil
}

// ahead makes the rows of a group, and begins to write them if it is time: see due.
func (w *writer) ahead(ctx context.Context, blocks []*Block, ready func() error) error {
	if err := w.due(); err != nil { // rows of the calls before
		return err
	}
	w.ctx, w.ready = ctx, ready
	for _, b := range blocks {
		if err := w.block(b); err != nil {
			w.c.machine = nil // it may have taken half a block
			return errors.Join(w.flush(), err)
		}
	}
	return w.due()
}

// due begins to write rows that are many, or have waited long enough, if nothing is being
// written.
func (w *writer) due() error {
	if w.rows == nil || !w.idle() || w.rows.group.bytes < w.many() && time.Since(w.began) < launchAfter {
		return nil
	}
	return w.launch()
}
