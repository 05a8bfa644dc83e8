package index

import (
	"errors"
	"fmt"

	store "quorate/engine/store/index"
)

// Distrust makes all tables stale, see [Chain.Stale], which are served until they are made
// again, and calls keep, which changes blocks that they are made from: no table is made
// before it has returned.
func (c *Chain) Distrust(keep func() error) error {
	unlock := c.interrupt()
	defer unlock()
	if err := c.distrust(); err != nil {
		return fmt.Errorf("have all tables of chain %s made again: %w", c.id, err)
	}
	return keep()
}

func (c *Chain) distrust() error {
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	cur := c.last.Load()
	if cur == nil {
		return nil
	}
	at := cur.places.lacking(func(Table) bool { return true })
	c.doubt = true // what is in memory is to be read again
	return errors.Join(c.abandon(row{at.rowKey(rowServing), at.append(nil)}), c.settle())
}

// Distrusted reports whether tables are served that are to be made again since [Chain.Distrust].
func (c *Chain) Distrusted() bool { return c.places().of[store.TableBlocks].version&incomplete != 0 }
