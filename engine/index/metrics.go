package index

import (
	"context"
	"encoding/binary"
	"fmt"

	"quorate/engine/store"
	"quorate/rollup"
)

// RollupState reports how far the metrics of the chain are made, and their
// edition, which changes when they are made anew. The error is [ErrEmpty] if the
// chain has no block yet, and wraps [ErrRollup] if the metrics are not made up
// to the last block: they are of no use until then.
func (c *Chain) RollupState() (s rollup.State, edition uint32, err error) {
	cur := c.last.Load()
	switch {
	case cur == nil:
		return s, 0, ErrEmpty
	case c.opts.NoRollup:
		return s, 0, fmt.Errorf("%w: none are made", ErrRollup)
	case cur.rolled.state.Next != cur.head.Number+1:
		return s, 0, fmt.Errorf("%w: they are made up to block %d of %d", ErrRollup, cur.rolled.state.Next, cur.head.Number+1)
	}
	return cur.rolled.state, uint32(cur.rolled.edition), nil
}

// Buckets hands over the metrics of the buckets from newest down to oldest, the
// newest first, also of those without blocks and of those after the chain's last
// one, but not before its first. What take gets is good until it returns.
func (c *Chain) Buckets(i rollup.Interval, newest, oldest uint32, take func(number uint32, r *rollup.Record)) error {
	_, edition, err := c.RollupState()
	if err != nil {
		return err
	}
	at := c.last.Load().places
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := append(at.key(store.TableBuckets), byte(edition), byte(i))
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	rows.Seek(at.bucketKey(byte(edition), i, newest))
	b := &rollup.Bucket{Interval: i}
	return rollup.Fill(newest, oldest, func() (*rollup.Bucket, error) {
		if !rows.Valid() {
			return nil, nil
		}
		k := rows.Key()
		if len(k) != len(prefix)+4 {
			return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		b.Number = ^binary.BigEndian.Uint32(k[len(prefix):])
		if err := rows.Value(b.Decode); err != nil {
			return nil, fmt.Errorf("metrics of %s %d: %w", i, b.Number, err)
		}
		rows.Next()
		return b, nil
	}, take)
}

// maxEdition bounds how often metrics are made anew.
const maxEdition = 255

var errEditions = fmt.Errorf("the metrics were made anew %d times: there is no room for another", maxEdition)

// What one step of [Chain.Roll] takes at most: commits of new blocks wait for it.
const (
	rollBlocks = 256
	rollTxs    = 4096
)

// Roll makes the metrics of blocks that were indexed without them, until they
// are made up to the last block. New blocks can be committed meanwhile, and from
// the end on they have metrics. It goes on where an earlier one was ended by ctx
// or otherwise. progress, if not nil, is told of each step: how many blocks have
// metrics, of how many.
func (c *Chain) Roll(ctx context.Context, progress func(done, of uint64)) error {
	if c.opts.NoRollup {
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		done, err := c.rollSome(ctx, progress)
		if err != nil || done {
			return err
		}
	}
}

// Reroll forgets the metrics of the chain; [Chain.Roll] makes them anew. It must
// not be called while the chain's blocks are committed.
func (c *Chain) Reroll() error {
	c.commit.Lock()
	defer c.commit.Unlock()
	cur := c.last.Load()
	if cur == nil {
		return nil
	}
	next := *cur
	if cur.rolled.edition == maxEdition {
		return errEditions
	}
	next.rolled = rolled{edition: cur.rolled.edition + 1}
	b, err := c.db.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := b.Set(next.places.key(store.TableRollup), next.rolled.append(nil)); err != nil {
		return err
	}
	if err := b.Commit(); err != nil {
		return err
	}
	c.stamps.reset()
	c.last.Store(&next)
	return nil
}

// DropOldMetrics removes what is left of metrics that were made before the last
// [Chain.Reroll]. It is for a database that serves nobody.
func (c *Chain) DropOldMetrics() error {
	c.commit.Lock()
	defer c.commit.Unlock()
	cur := c.last.Load()
	if cur == nil || cur.rolled.edition == 0 {
		return nil
	}
	var old [][]byte
	for _, table := range [...]byte{store.TableStamps, store.TableBuckets} {
		for e := range cur.rolled.edition {
			old = append(old, append(cur.places.key(table), e))
		}
	}
	return c.db.Drop(old...)
}

// rollSome makes the metrics of some blocks and tells whether none are left.
func (c *Chain) rollSome(ctx context.Context, progress func(done, of uint64)) (bool, error) {
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return false, err
	}
	cur := c.last.Load()
	if cur == nil || cur.rolled.state.Next > cur.head.Number {
		return true, nil
	}
	c.doubt = true
	if err := c.rollGroup(ctx, *cur); err != nil {
		_ = c.settle() // if that fails too, it is done again before the next commit
		return false, fmt.Errorf("make the metrics from block %d on: %w", cur.rolled.state.Next, err)
	}
	c.doubt = false
	cur = c.last.Load()
	if progress != nil {
		progress(cur.rolled.state.Next, cur.head.Number+1)
	}
	return cur.rolled.state.Next > cur.head.Number, nil
}

// rollGroup makes the metrics of the next blocks and commits them with the
// cursor as it is.
func (c *Chain) rollGroup(ctx context.Context, cur cursor) error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := c.newRoll(s, cur.places, &cur.rolled)
	if err != nil {
		return err
	}
	in, err := newReader(s, cur.places, cur.rolled.state.Next)
	if err != nil {
		return err
	}
	w := &writer{c: c, ctx: ctx, at: cur.places, roll: r}
	defer w.discard()
	for blocks, txs := 0, 0; blocks < rollBlocks && txs < rollTxs && r.State().Next <= cur.head.Number; blocks++ {
		n, err := in.roll(r)
		if err != nil {
			return err
		}
		txs += n
		var made rows
		if err := r.end(&made); err != nil {
			return err
		}
		if err := w.block(&made, cur); err != nil {
			return err
		}
	}
	return w.flush()
}

// reader reads stored blocks one after the other.
type reader struct {
	blocks, txs *store.Rows
	lead        int // of the keys of both tables
}

// newReader begins at a height.
func newReader(s *store.Snapshot, at *places, from uint64) (*reader, error) {
	r := &reader{lead: leadLen}
	for _, t := range [...]struct {
		table byte
		rows  **store.Rows
	}{{store.TableBlocks, &r.blocks}, {store.TableTxs, &r.txs}} {
		prefix := at.key(t.table)
		rows, err := s.Rows(prefix, false)
		if err != nil {
			return nil, err
		}
		rows.Seek(at.key(t.table).u64(from))
		*t.rows = rows
	}
	return r, nil
}

// roll gives the next block to the metrics, but for its end, and the number of
// its transactions.
func (in *reader) roll(r *roll) (n int, err error) {
	number := r.State().Next
	if !in.blocks.Valid() || binary.BigEndian.Uint64(in.blocks.Key()[in.lead:]) != number {
		return 0, fmt.Errorf("%w: block %d is missing", errCodec, number)
	}
	var h Header
	if err := in.blocks.Value(func(b []byte) (err error) {
		h, err = decodeHeader(number, b)
		return err
	}); err != nil {
		return 0, err
	}
	in.blocks.Next()
	r.begin(h.TimeMilli, h.GasUsed, h.Traced)
	for ; in.txs.Valid(); in.txs.Next() {
		k := in.txs.Key()[in.lead:]
		if binary.BigEndian.Uint64(k) != number {
			break
		}
		var tx *Tx
		if err := in.txs.Value(func(b []byte) (err error) {
			tx, err = decodeTx(number, binary.BigEndian.Uint32(k[heightLen:]), b, nil)
			return err
		}); err != nil {
			return n, err
		}
		r.tx(&tx.Tx, tx.Transfers)
		n++
	}
	if n != int(h.TxCount) {
		return n, fmt.Errorf("%w: %d of %d transactions of block %d", errCodec, n, h.TxCount, number)
	}
	return n, nil
}
