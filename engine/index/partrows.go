package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// The parts codec, version 2, has what an address sees of the transactions of a block,
// the newest first:
//
//	u8 2 | block hash | uv block time, Unix ms |
//	for each: u8 index, its last byte | u8 roles | uv length | [part]
//
// The rest of the index is in the key. A transaction whose part is too large has length
// 0, and is read by itself.
//
// Until version 3 of the table a row had one transaction.
const (
	partsVersion = 2
	// partsTable is the first version of the table that has such rows.
	partsTable = 3
	// partsPer is the number of indexes whose transactions share a row.
	partsPer = 1 << 8
	// minEntry is the least that an entry takes.
	minEntry = 3
)

// partEntry is a transaction as an address sees it, for a row.
type partEntry struct {
	who      evm.Address
	index    uint32
	role     Role
	from, to int // where its part lies
}

// partRows are the entries of a block.
type partRows struct {
	list  []partEntry
	bytes []byte
}

// parts takes all addresses that have part in a transaction.
func (b *builder) parts(ref *BlockRef, tx *evm.Tx, traced bool) {
	if !b.m.writes(store.TableAddressTxs) {
		return
	}
	b.takeRoles(tx)
	grouped, g := b.m.at.grouped(), &b.grouped
	for a, role := range b.roles {
		if grouped {
			from := len(g.bytes)
			g.bytes, _ = b.part.append(g.bytes, tx, b.transfers, traced, &a)
			g.list = append(g.list, partEntry{who: a, index: tx.Index, role: role, from: from, to: len(g.bytes)})
			continue
		}
		head := appendRowHead(append(b.value[:0], byte(role)), partVersion, &ref.Hash, ref.TimeMilli)
		value, small := b.part.append(head, tx, b.transfers, traced, &a)
		if b.value = value; !small {
			value = value[:1]
		}
		b.put(b.start(store.TableAddressTxs).addr(&a).u64(^ref.Number).u32(^tx.Index), value)
	}
}

// grouped reports whether the transactions of a block that an address sees share rows.
func (p *places) grouped() bool {
	return p.of[store.TableAddressTxs].version&^incomplete >= partsTable
}

// groupedParts appends the rows of all addresses that have part in a block.
func (b *builder) groupedParts(ref *BlockRef) {
	g := &b.grouped
	slices.SortFunc(g.list, func(a, b partEntry) int {
		if n := bytes.Compare(a.who[:], b.who[:]); n != 0 {
			return n
		}
		return cmp.Compare(b.index, a.index)
	})
	for list := g.list; len(list) > 0; {
		first := &list[0]
		n := 1
		for n < len(list) && list[n].who == first.who && list[n].index/partsPer == first.index/partsPer {
			n++
		}
		b.value = appendRowHead(b.value[:0], partsVersion, &ref.Hash, ref.TimeMilli)
		for i := range list[:n] {
			e := &list[i]
			b.value = binary.AppendUvarint(append(b.value, byte(e.index), byte(e.role)), uint64(e.to-e.from))
			b.value = append(b.value, g.bytes[e.from:e.to]...)
		}
		b.put(b.start(store.TableAddressTxs).addr(&first.who).u64(^ref.Number).u32(^(first.index &^ (partsPer - 1))), b.value)
		list = list[n:]
	}
	g.list, g.bytes = g.list[:0], g.bytes[:0]
}

// addressList is a list of the transactions of an address.
type addressList struct {
	a     evm.Address
	roles Role // the address has one of them; 0 takes all
	// take adds a transaction to the page, and reports whether there is room for more.
	take func(suffix []byte, tx *Tx) (more bool)
	// again and ends are as in a list.
	again bool
	ends  func() bool
}

// addressTxs reads a page of the transactions of an address.
func (v *View) addressTxs(l *addressList, p *Page) (next []byte, err error) {
	prefix := v.at.key(store.TableAddressTxs).addr(&l.a)
	if !v.at.grouped() {
		return v.read(v.singleTxs(l, prefix), p)
	}
	s, ok, err := v.span(&list{prefix: prefix, suffix: addressTxSuffix, inverted: true}, p)
	if !ok {
		return nil, err
	}
	w := partsWalk{v: v, l: l, span: s, limit: p.Limit}
	err = w.rows(prefix, p.After)
	return w.next, err
}

// partsWalk reads rows of the parts codec.
type partsWalk struct {
	v     *View
	l     *addressList
	span  span
	limit int

	name   [addressTxSuffix]byte // of the row: the position of its first index
	edge   bool                  // the page before ended in the row
	block  BlockRef
	at     [addressTxSuffix]byte // the transaction seen last
	passed int
	done   bool
	next   []byte
	starts []int32 // of the entries of a row
}

// rows reads the rows of a page, all of which begin with prefix. after is the position
// that the page before ended at.
func (w *partsWalk) rows(prefix, after []byte) error {
	rows, err := w.v.s.Rows(prefix, w.span.backward)
	if err != nil {
		return err
	}
	defer rows.Close()
	const last = addressTxSuffix - 1
	from := bytes.Clone(w.span.begin)
	from[len(prefix)+last] = partsPer - 1
	for rows.Seek(from); rows.Valid(); rows.Next() {
		k := rows.Key()
		if len(k) != len(prefix)+addressTxSuffix {
			return fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		if before(w.span.end, k, w.span.backward) {
			break
		}
		w.name = [addressTxSuffix]byte(k[len(prefix):])
		if w.edge = after != nil && bytes.Equal(w.name[:last], after[:last]); w.edge {
			w.at = [addressTxSuffix]byte(after)
		}
		if err := rows.Value(w.row); err != nil || w.done {
			return err
		}
	}
	return nil
}

// row takes the transactions of a row.
func (w *partsWalk) row(b []byte) error {
	d := decoder{b: b}
	w.block = BlockRef{Number: ^binary.BigEndian.Uint64(w.name[:])}
	d.headBlock(partsVersion, &w.block)
	if !w.span.backward {
		for len(d.b) > 0 && !w.done {
			if err := w.entry(&d); err != nil {
				return err
			}
		}
		return d.err
	}
	w.starts = w.starts[:0]
	all := d.b
	for len(d.b) > 0 {
		w.starts = append(w.starts, int32(len(all)-len(d.b)))
		d.take(minEntry - 1)
		d.take(d.count(1))
	}
	for i := len(w.starts) - 1; i >= 0 && !w.done && d.err == nil; i-- {
		d.b = all[w.starts[i]:]
		if err := w.entry(&d); err != nil {
			return err
		}
	}
	return d.err
}

// entry takes the next transaction of a row, if it belongs to the list.
func (w *partsWalk) entry(d *decoder) error {
	low, role := d.u8(), Role(d.u8())
	b := d.take(d.count(1))
	if d.err != nil {
		return d.err
	}
	at := w.name
	at[addressTxSuffix-1] = ^low
	if w.edge && !w.behind(&at) {
		return nil
	}
	if w.l.roles != 0 && role&w.l.roles == 0 {
		w.at = at
		if w.passed++; w.passed >= maxPassed {
			w.end()
		}
		return nil
	}
	if w.limit == 0 {
		w.end()
		return nil
	}
	w.at = at
	tx, err := w.tx(b)
	if err != nil {
		return err
	}
	more := w.l.take(w.at[:], tx)
	if w.limit--; !more {
		if w.limit = 0; w.l.ends != nil && w.l.ends() {
			w.end()
		}
	}
	return nil
}

// behind reports whether a position comes behind the one that the page before ended at.
func (w *partsWalk) behind(at *[addressTxSuffix]byte) bool {
	order := bytes.Compare(at[:], w.at[:])
	if w.span.backward {
		order = -order
	}
	return order > 0 || order == 0 && w.l.again
}

// tx reads the transaction at w.at, of which the row has b.
func (w *partsWalk) tx(b []byte) (*Tx, error) {
	index := ^binary.BigEndian.Uint32(w.at[heightLen:])
	if len(b) == 0 {
		return w.v.listed(w.block.Number, index, withParts)
	}
	tx := w.v.room()
	tx.reset()
	tx.Block, tx.Index = w.block, index
	d := decoder{b: b, self: &w.l.a}
	return tx, d.part(tx)
}

// end ends a page behind the transaction seen last, with more to come.
func (w *partsWalk) end() { w.done, w.next = true, bytes.Clone(w.at[:]) }
