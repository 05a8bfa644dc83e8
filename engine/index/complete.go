package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Complete takes a block that was committed without its trace, now with it: the
// calls of its transactions, the parts that addresses have in them and the native
// balances. Metrics that lack something from the
// block stay served and are stale from then on, see [Chain.Stale]. A block that is in no
// gap is passed over, so it does no harm to complete one twice. Blocks in which there is
// nothing to trace are completed as they are: a gap goes on over those behind it.
func (c *Chain) Complete(ctx context.Context, blk *evm.Block) error {
	if lacksTrace(blk) {
		return fmt.Errorf("complete block %d: it has no trace", blk.Number)
	}
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	last := c.last.Load()
	if last == nil || !untraced(last.gaps, blk.Number-1, blk.Number) {
		return nil
	}
	if err := c.isIndexed(last, blk); err != nil {
		return err
	}
	cur := *last
	cur.complete(blk.Number)
	if cur.rolled.Untraced || slices.ContainsFunc(blk.Txs, madeByCalls) {
		cur.places = cur.places.lacking(partMetrics.has)
	}
	c.doubt = true
	if err := c.completeRows(ctx, blk, cur); err != nil {
		_ = c.settle() // if that fails too, it is done again before the next commit
		return fmt.Errorf("complete block %d: %w", blk.Number, err)
	}
	c.doubt = false
	c.tokenVersion.Add(1) // what was kept of answers is good no longer
	return nil
}

// lacksTrace reports whether a block lacks its trace and has something to trace.
func lacksTrace(b *evm.Block) bool { return !b.Traced && len(b.Txs)+len(b.Atomic) > 0 }

// isIndexed checks that a block is the one at its height.
func (c *Chain) isIndexed(cur *cursor, blk *evm.Block) error {
	return c.snapshot(func(s *store.Snapshot) error {
		var h Header
		found, err := s.Get(cur.places.key(store.TableBlocks).u64(blk.Number), func(b []byte) (err error) {
			h, err = decodeHeader(blk.Number, b)
			return err
		})
		if err == nil && (!found || h.Hash != blk.Hash || int(h.TxCount) != len(blk.Txs)) {
			err = fmt.Errorf("%w: complete block %d: %s is not the indexed one, %s", ErrOrder, blk.Number, blk.Hash, h.Hash)
		}
		return err
	})
}

// madeByCalls reports whether a transaction made contracts by calls, which are not
// known without its trace.
func madeByCalls(tx evm.Tx) bool {
	n := 0
	creations(&tx, func(_, _ *evm.Address, _ evm.CallType) { n++ })
	if tx.Creation && !tx.Failed && !tx.Contract.IsZero() {
		n--
	}
	return n > 0
}

// lacking returns places in which some tables lack something.
func (p *places) lacking(some func(Table) bool) *places {
	next := *p
	for _, t := range Tables() {
		if some(t) && next.has(byte(t)) {
			next.of[t].version |= incomplete
		}
	}
	return &next
}

// pureMaker returns a maker of the pure tables at places.
func (c *Chain) pureMaker(at *places, take func(Table) bool) *maker {
	return newMaker(c, at, func(t Table) bool { return tables[t].part == partPure && take(t) })
}

// completeRows writes the rows of a block again, all that follow from it alone, and
// with the last of them the cursor.
func (c *Chain) completeRows(ctx context.Context, blk *evm.Block, cur cursor) error {
	again, err := c.building()
	if err != nil {
		return err
	}
	w := &writer{c: c, ctx: ctx, at: cur.places}
	w.mark = func(set func(key, value []byte) error) error {
		err := errors.Join(
			set(w.at.key(store.TableCursor), w.done.append(nil)),
			set(w.at.rowKey(rowServing), w.at.append(nil)),
		)
		if again {
			err = errors.Join(err, set(w.at.rowKey(rowRedo).u64(blk.Number), nil))
		}
		return err
	}
	w.marked = func() { c.setLast(&cur) }
	defer w.discard()
	return c.pureMaker(cur.places, allTables).again(blk, cur, w)
}

// again makes the rows of a block that was made before.
func (m *maker) again(blk *evm.Block, cur cursor, w *writer) error {
	s, err := m.c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := newStored(m, s, 0)
	if err != nil {
		return err
	}
	b := m.builder
	b.begin(p)
	if err := b.apply(blk); err != nil {
		return err
	}
	if err := w.block(&b.rows, cur); err != nil {
		return err
	}
	return w.flush()
}

// building reports whether tables are being made again.
func (c *Chain) building() (yes bool, err error) {
	err = c.snapshot(func(s *store.Snapshot) error {
		list, _, err := c.readBuild(s)
		yes = len(list) > 0
		return err
	})
	return yes, err
}

// redo makes the rows of blocks again that were completed since the build began: it
// may have read them before.
func (b *build) redo(ctx context.Context, from Blocks) error {
	prefix := b.c.places().rowKey(rowRedo)
	var list []uint64
	if err := b.c.snapshot(func(s *store.Snapshot) error {
		rows, err := s.Rows(prefix, false)
		if err != nil {
			return err
		}
		for rows.Seek(prefix); rows.Valid(); rows.Next() {
			list = append(list, binary.BigEndian.Uint64(rows.Key()[len(prefix):]))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, number := range list {
		if number >= b.next {
			continue
		}
		if err := from.Read(ctx, number, number, func(blk *evm.Block) error { return b.redoBlock(ctx, blk) }); err != nil {
			return err
		}
	}
	e := editor{c: b.c}
	defer e.discard()
	for _, number := range list {
		if number < b.next {
			e.do(func(t *store.Batch) error { return t.Delete(slices.Clone(prefix).u64(number)) })
		}
	}
	return e.commit()
}

func (b *build) redoBlock(ctx context.Context, blk *evm.Block) error {
	if lacksTrace(blk) {
		return fmt.Errorf("block %d was completed, and is read without its trace", blk.Number)
	}
	b.cur.complete(blk.Number)
	w := &writer{c: b.c, ctx: ctx, at: b.m.at}
	w.mark = func(set func(key, value []byte) error) error {
		return set(w.at.rowKey(rowBuilding), buildRow(&b.cur, b.editions))
	}
	w.marked = func() {}
	defer w.discard()
	if b.m.writes(store.TableRollup) && slices.ContainsFunc(blk.Txs, madeByCalls) {
		b.lacks = true
	}
	return b.c.pureMaker(b.m.at, func(t Table) bool { return b.m.writes(byte(t)) }).again(blk, b.cur, w)
}
