package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// errRewound ends what is being made again when the chain goes back.
var errRewound = errors.New("blocks of the chain are being rewound")

// Rewind drops all blocks above a height, which turned out not to be the
// chain's. It needs them once more, so an archive gives them up afterwards. One
// block after the other is removed, the last one first: whoever calls it again
// after it failed, or after a crash, goes on where it was.
//
// Tables that only collect keep what those blocks said until they are made again, and
// of metrics only those before hold until then: both are stale, see [Chain.Stale]. What
// was being made again begins again.
func (c *Chain) Rewind(ctx context.Context, from Blocks, to uint64) error {
	unlock := c.interrupt()
	defer unlock()
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	if cur := c.last.Load(); cur == nil || cur.head.Number <= to {
		return nil
	}
	c.doubt = true // whatever happens, the caches are to be made again
	err := c.rewind(ctx, from, to)
	c.tokenVersion.Add(1)
	if err != nil {
		err = fmt.Errorf("go back to block %d: %w", to, err)
	}
	return errors.Join(err, c.settle())
}

// interrupt ends what is being made again, and keeps it from going on until the
// returned function is called.
func (c *Chain) interrupt() (unlock func()) {
	c.rewinds.Add(1)
	if stop := c.stopBuild.Load(); stop != nil {
		(*stop)(errRewound)
	}
	c.rebuilding.Lock()
	return func() {
		c.rewinds.Add(-1)
		c.rebuilding.Unlock()
	}
}

// interruptible returns a context that ends when the chain goes back. The caller
// holds the lock of rebuilds.
func (c *Chain) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	c.stopBuild.Store(&stop)
	if c.rewinds.Load() > 0 {
		stop(errRewound)
	}
	return ctx, func() {
		c.stopBuild.Store(nil)
		stop(nil)
	}
}

// collects reports whether the rows of a table are only added to, whichever block
// they are from.
func collects(t Table) bool {
	return t == store.TableSeenTokens || t == store.TableSeenNFTs || t == store.TableOwnedNFTs
}

// newest reports whether a table has one row for the newest of a history.
func newest(t Table) bool { return t == store.TableHoldings || t == store.TableHolders }

func (c *Chain) rewind(ctx context.Context, from Blocks, to uint64) error {
	cur := *c.last.Load()
	if first := cur.from[partPure]; to < first {
		return fmt.Errorf("%w: %d, the first is %d", ErrBelow, to, first)
	}
	held, err := c.hold(&cur, to)
	if err != nil {
		return err
	}
	cur.places = cur.places.lacking(collects).without(partMetrics)
	if err := c.abandon(row{cur.places.rowKey(rowServing), cur.places.append(nil)}, row{cur.places.rowKey(rowHeld), held}); err != nil {
		return err
	}
	for cur.head.Number > to {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		number := cur.head.Number
		if err := from.Read(ctx, number, number, func(b *evm.Block) error { return c.undo(b, &cur) }); err != nil {
			return err
		}
		if cur.head.Number == number {
			return fmt.Errorf("%w: block %d cannot be read", ErrOrder, number)
		}
	}
	return nil
}

// undo removes the rows of the last block, and goes back to the one before it.
func (c *Chain) undo(b *evm.Block, cur *cursor) error {
	if b.Number != cur.head.Number || b.Hash != cur.head.Hash {
		return fmt.Errorf("%w: block %d is %s, the indexed one is %s", ErrOrder, b.Number, b.Hash, cur.head.Hash)
	}
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	m := newMaker(c, cur.places, func(t Table) bool { return !collects(t) })
	p, err := newStored(m, s, b.Number)
	if err != nil {
		return err
	}
	m.builder.begin(p)
	if err := m.builder.apply(b); err != nil {
		return err
	}
	next, err := cursorAt(s, cur, b.Number-1)
	if err != nil {
		return err
	}
	e := editor{c: c}
	defer e.discard()
	for _, r := range m.builder.rows.list {
		if !newest(Table(r.key[0])) {
			e.do(func(t *store.Batch) error { return t.Delete(r.key) })
		}
	}
	for h := range p.changed {
		if err := p.restore(&e, &h); err != nil {
			return err
		}
	}
	e.do(func(t *store.Batch) error { return t.Set(next.places.key(store.TableCursor), next.append(nil)) })
	if err := e.commit(); err != nil {
		return err
	}
	*cur = next
	return nil
}

// cursorAt returns the cursor at an earlier height.
func cursorAt(s *store.Snapshot, cur *cursor, number uint64) (cursor, error) {
	next := *cur
	next.gaps = nil
	for _, g := range cur.gaps {
		if g.From <= number {
			next.gaps = append(next.gaps, Gap{g.From, min(g.To, number)})
		}
	}
	found, err := s.Get(cur.places.key(store.TableBlocks).u64(number), func(v []byte) error {
		h, err := decodeHeader(number, v)
		next.head = evm.Head{Number: number, Hash: h.Hash, TimeMilli: h.TimeMilli}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: block %d is missing", errCodec, number)
	}
	return next, err
}

// restore puts the balance that a holding had before into the tables of the newest.
func (p *stored) restore(e *editor, h *holding) error {
	at := p.m.at
	p.key = at.appendKey(p.key[:0], store.TableTokenBalances).addr(&h.holder).addr(&h.token)
	n := len(p.key)
	var value []byte
	if p.seek(p.tokens) {
		height := ^binary.BigEndian.Uint64(p.tokens.Key()[n:])
		if err := p.tokens.Value(func(b []byte) error {
			value = append(key(nil).u64(height), b...)
			return nil
		}); err != nil {
			return err
		}
	}
	for table, k := range map[byte]key{
		store.TableHoldings: at.key(store.TableHoldings).addr(&h.holder).addr(&h.token),
		store.TableHolders:  at.key(store.TableHolders).addr(&h.token).addr(&h.holder),
	} {
		if !p.m.writes(table) {
			continue
		}
		e.do(func(t *store.Batch) error {
			if value == nil {
				return t.Delete(k)
			}
			return t.Set(k, bytes.Clone(value))
		})
	}
	return nil
}

// editor changes rows in as few transactions as may be, in their order. Its first
// error is that of commit.
type editor struct {
	c     *Chain
	batch *store.Batch
	err   error
}

func (e *editor) do(change func(*store.Batch) error) {
	for e.err == nil {
		if e.batch == nil {
			if e.batch, e.err = e.c.db.Batch(); e.err != nil {
				return
			}
		}
		if err := change(e.batch); !errors.Is(err, store.ErrBatchFull) {
			e.err = err
			return
		}
		full := e.batch
		e.batch = nil
		e.err = full.Commit()
	}
}

func (e *editor) commit() error {
	if e.err != nil || e.batch == nil {
		return e.err
	}
	last := e.batch
	e.batch = nil
	return last.Commit()
}

func (e *editor) discard() {
	if e.batch != nil {
		e.batch.Discard()
	}
}
