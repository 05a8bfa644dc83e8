package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	store "quorate/engine/store/index"
)

// heads reads a page of the chain's transactions; with failed false only those
// that succeeded.
func (v *View) heads(p Page, failed *bool, take TxFunc) ([]byte, error) {
	if !v.at.has(store.TableTxHeads) {
		return v.txs(p, failed, take)
	}
	l := list{prefix: v.at.key(store.TableTxHeads), suffix: heightLen + 4}
	s, ok, err := v.span(&l, &p)
	if !ok {
		return nil, err
	}
	w := headsWalk{v: v, span: s, lead: len(l.prefix), succeeded: failed != nil, limit: p.Limit, take: take}
	err = w.rows(l.prefix)
	return w.next, err
}

// rows reads the rows of a page, all of which begin with prefix.
func (w *headsWalk) rows(prefix []byte) error {
	rows, err := w.v.s.Rows(prefix, w.span.backward)
	if err != nil {
		return err
	}
	defer rows.Close()
	// A row is named after its first transaction.
	from := bytes.Clone(w.span.begin)
	from[len(from)-1] &^= headsPer - 1
	for rows.Seek(from); rows.Valid() && !w.done; rows.Next() {
		k := rows.Key()
		if len(k) != len(w.span.begin) {
			return fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		if before(w.span.end, k, w.span.backward) {
			break
		}
		w.number, w.first = binary.BigEndian.Uint64(k[w.lead:]), binary.BigEndian.Uint32(k[w.lead+heightLen:])
		w.edge = bytes.HasPrefix(w.span.begin, k[:w.lead+heightLen]) || bytes.HasPrefix(w.span.end, k[:w.lead+heightLen])
		if err := rows.Value(w.row); err != nil {
			return err
		}
	}
	return nil
}

// headsWalk reads rows of heads.
type headsWalk struct {
	v         *View
	span      span
	lead      int // bytes before the height in keys
	succeeded bool
	limit     int
	take      TxFunc

	number  uint64
	first   uint32
	edge    bool // the row's block is the first or the last of the page
	passed  int
	seen    uint64 // the transaction seen last: its block and
	index   uint32 // its index there
	starts  []int
	done    bool
	next    []byte
	scratch key
}

// row takes the transactions of a row that lie in the page.
func (w *headsWalk) row(b []byte) error {
	d := decoder{b: b}
	tx := w.v.room()
	tx.reset()
	tx.Block.Number = w.number
	d.headBlock(headsVersion, &tx.Block)
	n := uint32(d.u8())
	if w.span.backward { // as they lie in the row
		for i := n; i > 0 && !w.done && d.err == nil; i-- {
			if d.headIn(tx); d.err == nil {
				w.one(tx, w.first+i-1)
			}
		}
		return w.read(&d)
	}
	w.starts = w.starts[:0]
	rest := d.b
	for range n {
		w.starts = append(w.starts, len(rest)-len(d.b))
		d.skipHead()
	}
	if err := w.read(&d); err != nil {
		return err
	}
	for i := n; i > 0 && !w.done && d.err == nil; i-- {
		d.b = rest[w.starts[i-1]:]
		if d.headIn(tx); d.err == nil {
			w.one(tx, w.first+n-i)
		}
	}
	return d.err
}

// read reports whether the row was well formed as far as it was read.
func (w *headsWalk) read(d *decoder) error {
	if w.done {
		return d.err
	}
	return d.end("row of heads")
}

// one takes a transaction if it lies in the page.
func (w *headsWalk) one(tx *Tx, index uint32) {
	if w.edge && !w.within(index) {
		return
	}
	if w.succeeded && tx.Failed {
		w.seen, w.index = w.number, index
		if w.passed++; w.passed >= maxPassed {
			w.end()
		}
		return
	}
	if w.limit == 0 {
		w.end()
		return
	}
	w.seen, w.index = w.number, index
	tx.Index = index
	if w.limit--; !w.take(tx) {
		w.limit = 0
	}
}

// within reports whether a transaction of the row lies in the page, and ends the
// page behind its last one.
func (w *headsWalk) within(index uint32) bool {
	k := append(w.scratch[:0], w.span.begin[:w.lead]...).u64(w.number).u32(index)
	w.scratch = k
	if before(k, w.span.begin, w.span.backward) || w.span.after != nil && bytes.Equal(k, w.span.after) {
		return false
	}
	w.done = before(w.span.end, k, w.span.backward)
	return !w.done
}

// end ends a page behind the transaction seen last, with more to come.
func (w *headsWalk) end() {
	w.done, w.next = true, key(nil).u64(w.seen).u32(w.index)
}

// txs is heads of a chain that has no table of heads from its beginning on.
func (v *View) txs(p Page, failed *bool, take TxFunc) ([]byte, error) {
	l := list{prefix: v.at.key(store.TableTxs), suffix: heightLen + 4}
	if failed != nil {
		l.match = func(r *store.Rows) (succeeded bool, err error) {
			err = r.Value(func(b []byte) error {
				if len(b) <= txFlagsAt {
					return fmt.Errorf("%w: transaction", errCodec)
				}
				succeeded = b[txFlagsAt]&txFailed == 0
				return nil
			})
			return succeeded, err
		}
	}
	tx := v.room()
	l.take = func(suffix []byte, r *store.Rows) (bool, error) {
		number, index := binary.BigEndian.Uint64(suffix), binary.BigEndian.Uint32(suffix[heightLen:])
		block, err := v.blockRef(number)
		if err == nil {
			err = r.Value(func(b []byte) error { return readTx(tx, block, index, b, headOnly) })
		}
		return err == nil && take(tx), err
	}
	return v.read(&l, &p)
}
