package index

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Commit indexes the blocks, which must follow on the last indexed one. All
// rows of a block become visible at once, and are durable when Commit returns.
// As many blocks as fit share a transaction. After an error none, some or all
// blocks are indexed: Cursor returns how far. Blocks are not changed or kept.
func (c *Chain) Commit(ctx context.Context, blocks []*evm.Block) error {
	return c.CommitAfter(ctx, blocks, nil)
}

// CommitAfter is Commit that writes nothing before ready has returned nil: meanwhile
// the rows are made. If ready returns an error no block is indexed, and the error is
// returned. An error before anything is to be written leaves ready uncalled.
func (c *Chain) CommitAfter(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.follows(blocks); err != nil || len(blocks) == 0 {
		return err
	}
	c.doubt = true
	if err := c.commitGroup(ctx, blocks, ready); err != nil {
		_ = c.settle() // if that fails too, it is done again before the next commit
		return err
	}
	c.doubt = false
	c.tell(c.maker.builder.seen, c.maker.builder.nfts)
	return nil
}

// tell reports what was seen in blocks that are committed.
func (c *Chain) tell(tokens []SeenToken, nfts []SeenNFT) {
	if f := c.opts.OnSeen; f != nil && len(tokens)+len(nfts) > 0 {
		f(tokens, nfts)
	}
}

// settle waits for a commit under way, and finds out what is on disk after one that
// did not end well.
func (c *Chain) settle() error {
	_ = c.land() // the doubt says the same
	c.maker.alone()
	if !c.doubt {
		return nil
	}
	if err := c.loadCursor(); err != nil { // the maker's caches are gone with it
		return err
	}
	c.doubt = false
	return nil
}

// follows checks numbers and hashes of the blocks.
func (c *Chain) follows(blocks []*evm.Block) error {
	next := c.start.Load()
	var parent *evm.Hash
	if cur := c.front(); cur != nil {
		next, parent = cur.head.Number+1, &cur.head.Hash
	}
	for _, b := range blocks {
		if b.Number != next {
			return fmt.Errorf("%w: block %d, want %d", ErrOrder, b.Number, next)
		}
		if parent != nil && b.Parent != *parent {
			return fmt.Errorf("%w: block %d has parent %s, want %s", ErrOrder, b.Number, b.Parent, *parent)
		}
		if err := ascends(b); err != nil {
			return err
		}
		next, parent = b.Number+1, &b.Hash
	}
	return nil
}

// ascends checks that the indexes of transactions and logs are their order.
func ascends(b *evm.Block) error {
	last := int64(-1)
	for i := range b.Txs {
		tx := &b.Txs[i]
		if tx.Index != uint32(i) {
			return fmt.Errorf("%w: transaction %d of block %d has index %d", ErrOrder, i, b.Number, tx.Index)
		}
		for j := range tx.Logs {
			if int64(tx.Logs[j].Index) <= last {
				return fmt.Errorf("%w: log %d of block %d comes after log %d", ErrOrder, tx.Logs[j].Index, b.Number, last)
			}
			last = int64(tx.Logs[j].Index)
		}
	}
	return nil
}

// commitGroup makes the rows of all blocks, then writes them.
func (c *Chain) commitGroup(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	w, cur, first := c.writer(ctx)
	w.ready = ready
	w.marked = func() {
		done := w.done
		c.setLast(&done)
	}
	defer w.discard()
	defer func() { c.remembered.Store(c.maker.bytes()) }()
	return c.maker.group(ctx, blocks, cur, first, w)
}

// writer returns a writer of the blocks behind the last ones, with what is known of
// those; first is true if there are none.
func (c *Chain) writer(ctx context.Context) (w *writer, cur cursor, first bool) {
	cur = cursor{places: c.places(), from: c.begins()}
	cur.rolled.Next = cur.from[partMetrics]
	first = true
	if front := c.front(); front != nil {
		cur, first = *front, false
	}
	w = &writer{c: c, ctx: ctx, at: cur.places}
	begun := !first
	w.mark = func(set func(key, value []byte) error) error {
		if err := set(w.at.key(store.TableCursor), w.done.append(nil)); err != nil || begun {
			return err
		}
		begun = true
		if err := set(w.at.rowKey(rowServing), w.at.append(nil)); err != nil || w.done.from == (begins{}) {
			return err
		}
		return set(w.at.rowKey(rowBegins), w.done.from.append(nil))
	}
	return w, cur, first
}

// writer writes rows, in transactions that end at block borders.
//
// A block that is too large for a transaction is written in several, and the
// cursor with the last. After a crash in between its rows lie above the cursor,
// where no reader looks, until the block is indexed again with the same rows.
type writer struct {
	c     *Chain
	ctx   context.Context
	at    *places
	batch *store.Batch
	roll  *roll // nil if no metrics are made
	// mark sets the rows that say how far the tables are made, up to done; marked is
	// called when they are committed.
	mark   func(set func(key, value []byte) error) error
	marked func()
	// ready, if not nil, is called once before the first commit, which its error
	// prevents.
	ready func() error
	// later, if not nil, commits a batch that ends with a block while further ones
	// are made. land waits for what it commits: a part of a block must not be on disk
	// before the block below it, because stamps know one height before.
	later func(*store.Batch) error
	land  func() error
	// load, if not nil, takes the rows of tables that nobody reads before the batch
	// is committed that comes with them.
	load *load

	rows, size int    // in batch, at most
	done       cursor // of the last block in batch
	tail       tail   // up to it
	whole      bool   // batch ends with a whole block
}

// markLen bounds the bytes of the rows that mark sets.
const markLen = leadLen + maxCursorLen + leadLen + 1 + 2 + 1 + editionLen*store.TablesEnd + leadLen + 1 + beginsLen

// fits reports whether batch has room for rows of so many bytes, besides the
// cursor and what goes with it.
func (w *writer) fits(rows, bytes int) bool {
	n, size := w.tail.size(w.roll)
	rows += n + 3
	bytes += size + markLen
	return w.rows+rows < w.c.rowsMax && w.size+bytes+rows*w.c.overhead < w.c.bytesMax
}

func (w *writer) block(r *rows, cur cursor) error {
	list, size := r.list, r.bytes
	if w.load != nil {
		list, size = w.load.take(list)
	}
	if w.whole && !w.fits(len(list), size) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.whole = false
	for i := range list {
		if err := w.set(list[i].key, list[i].value); err != nil {
			return err
		}
	}
	w.rows += len(list)
	w.size += size + len(list)*w.c.overhead
	if w.roll != nil {
		w.tail.take(w.roll)
		cur.rolled = w.tail.state
	}
	w.done, w.whole = cur, true
	return nil
}

// set adds a row to the transaction. A full one is committed without a cursor.
func (w *writer) set(key, value []byte) error {
	for {
		if err := w.open(); err != nil {
			return err
		}
		err := w.batch.Set(key, value)
		if !errors.Is(err, store.ErrBatchFull) {
			return err
		}
		if err := w.commit(); err != nil {
			return err
		}
	}
}

func (w *writer) open() (err error) {
	if w.batch == nil {
		w.batch, err = w.c.db.Batch()
	}
	return err
}

func (w *writer) commit() error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	if w.ready != nil {
		if err := w.ready(); err != nil {
			return err
		}
		w.ready = nil
	}
	if w.land != nil {
		if err := w.land(); err != nil {
			return err
		}
	}
	batch := w.batch
	w.batch, w.rows, w.size = nil, 0, 0
	return batch.Commit()
}

// end commits a batch that ends with a block.
func (w *writer) end() error {
	if w.later == nil {
		return w.commit()
	}
	batch := w.batch
	w.batch, w.rows, w.size = nil, 0, 0
	return w.later(batch)
}

// flush commits what there is with the cursor, and makes it visible.
func (w *writer) flush() error {
	if !w.whole {
		return nil
	}
	if !w.fits(0, 0) { // only after a block that fills the transaction alone
		if err := w.commit(); err != nil {
			return err
		}
	}
	if err := w.mark(w.set); err != nil {
		return err
	}
	if w.roll != nil {
		if err := w.tail.rows(w.at, w.set); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	w.whole = false
	w.tail.written()
	w.marked()
	return nil
}

func (w *writer) discard() {
	if w.batch != nil {
		w.batch.Discard()
	}
}
