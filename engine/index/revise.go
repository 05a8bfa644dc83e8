package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Revision is a block that was committed with calls or balances that turned out to be
// false. Both forms are traced and have the same hash.
type Revision struct{ Was, Is *evm.Block }

// Revise puts the rows that follow from the true calls and balances of blocks in the
// place of those that follow from the false ones. Metrics in which that changes something
// stay served and are stale from then on, see [Chain.Stale]; what was being made again
// starts over. At the end it calls keep, which keeps the blocks as they are now where
// tables are made from: no table is made before it has. Whoever calls Revise again
// after it failed, or after a crash, repairs what was left half done.
func (c *Chain) Revise(ctx context.Context, list []Revision, keep func() error) error {
	unlock := c.interrupt()
	defer unlock()
	if err := c.reviseRows(ctx, list); err != nil {
		return fmt.Errorf("revise blocks of chain %s: %w", c.id, err)
	}
	return keep()
}

func (c *Chain) reviseRows(ctx context.Context, list []Revision) error {
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	last := c.last.Load()
	if last == nil {
		return ErrEmpty
	}
	for _, r := range list {
		if !r.Was.Traced || !r.Is.Traced || r.Was.Hash != r.Is.Hash {
			return fmt.Errorf("%w: block %d is %s and %s, or has no trace", ErrOrder, r.Is.Number, r.Was.Hash, r.Is.Hash)
		}
		if err := c.isIndexed(last, r.Is); err != nil {
			return err
		}
	}
	cur := *last
	if slices.ContainsFunc(list, func(r Revision) bool { return !sameCreations(r.Was, r.Is) }) {
		cur.places = cur.places.lacking(partMetrics.has)
	}
	c.doubt = true // whatever happens, the caches are to be made again
	err := c.abandon(row{cur.places.rowKey(rowServing), cur.places.append(nil)})
	for i := 0; err == nil && i < len(list); i++ {
		if err = ctx.Err(); err == nil {
			err = c.reviseBlock(&cur, list[i])
		}
	}
	c.tokenVersion.Add(1) // what was kept of answers is good no longer
	return errors.Join(err, c.settle())
}

// reviseBlock changes the rows in which the two forms of a block differ.
func (c *Chain) reviseBlock(cur *cursor, r Revision) error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	m := c.pureMaker(cur.places, func(t Table) bool { return !collects(t) })
	p, err := newStored(m, s, 0)
	if err != nil {
		return err
	}
	b := m.builder
	b.begin(p)
	if err := b.apply(r.Was); err != nil {
		return err
	}
	was := make(map[string][]byte, len(b.rows.list))
	for _, row := range b.rows.list {
		was[string(row.key)] = row.value
	}
	b.begin(p)
	b.rows = rows{}
	if err := b.apply(r.Is); err != nil {
		return err
	}
	e := editor{c: c}
	defer e.discard()
	for _, row := range b.rows.list {
		old, had := was[string(row.key)]
		if delete(was, string(row.key)); !had || !bytes.Equal(old, row.value) {
			e.do(func(t *store.Batch) error { return t.Set(row.key, row.value) })
		}
	}
	for key := range was {
		e.do(func(t *store.Batch) error { return t.Delete([]byte(key)) })
	}
	return e.commit()
}

// sameCreations reports whether the same contracts were made in two forms of a block.
func sameCreations(a, b *evm.Block) bool {
	type creation struct {
		made, by evm.Address
		typ      evm.CallType
	}
	all := func(blk *evm.Block) (list []creation) {
		for i := range blk.Txs {
			creations(&blk.Txs[i], func(made, by *evm.Address, typ evm.CallType) {
				list = append(list, creation{*made, *by, typ})
			})
		}
		return list
	}
	return slices.Equal(all(a), all(b))
}
