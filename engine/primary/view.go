package primary

import (
	"bytes"
	"fmt"
	"math"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	store "quorate/engine/store/index"
)

// View reads a chain as it was after one block. It is not safe for concurrent use, and
// must be closed soon. A page of a list costs what it holds, not what the chain holds.
//
// Lists hand their rows to take, one by one, until there are Limit of them or take
// returns false, which leaves that row for the next page. The position that a list
// returns is that of the last row that was handed over; it is nil after the last row.
// A position says where in the order of the list that row stands, so blocks that arrive
// meanwhile neither repeat nor hide anything.
type View struct {
	Space
	kind    Kind
	version uint16
	snap    *store.Snapshot
	cur     *cursor
	spent   [2]spentWalk // descending and ascending
	// burned: the rows have what was burned; supplied: what is locked, and what was
	// rewarded; flat: live lists are rows of their own.
	burned, supplied, flat bool
	// read counts the rows that were looked at, seeks the places that were looked for.
	read, seeks int
}

// View opens a view of the chain after its last indexed block. The error wraps
// [ErrEmpty] when there is none.
func (c *Chain) View(kind Kind) (*View, error) {
	c.applying.RLock()
	at := c.at.Load()
	space := at.space
	s, err := c.db.Snapshot()
	c.applying.RUnlock()
	if err != nil {
		return nil, err
	}
	cur, err := readCursor(s, space)
	if err == nil && cur == nil {
		err = ErrEmpty
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	v := &View{Space: space, kind: kind, version: at.version, snap: s, cur: cur}
	v.burned, v.supplied = at.version >= c.cfg.Burned, at.version >= c.cfg.Supplied
	v.flat = at.version < c.cfg.Live
	return v, nil
}

// Close ends the view. Further calls do nothing.
func (v *View) Close() { v.snap.Close() }

// Version returns that of the rules that the rows were made by.
func (v *View) Version() uint16 { return v.version }

// Tip returns the last block of the view.
func (v *View) Tip() chain.Head { return v.cur.head }

// First returns the height of the first block of the view.
func (v *View) First() uint64 { return v.cur.first }

// Cost returns what the view's reads have cost so far: the rows that were looked at, and
// the places that were looked for.
func (v *View) Cost() (rows, seeks int) { return v.read, v.seeks }

// Rows returns the rows below a prefix.
func (v *View) Rows(prefix Key, reverse bool) (*store.Rows, error) {
	v.seeks++
	return v.snap.Rows(prefix, reverse)
}

// Get returns the value of a row.
func (v *View) Get(key Key) (value []byte, found bool, err error) {
	v.read, v.seeks = v.read+1, v.seeks+1
	found, err = v.snap.Get(key, func(b []byte) error {
		value = bytes.Clone(b)
		return nil
	})
	return value, found, err
}

// Bounds returns what bounds a list that begins with times to a range.
func (t *TimeRange) Bounds() (from, to []byte) {
	if t.From > 0 {
		from = Key(nil).U64(t.From)
	}
	if t.To > 0 {
		to = Key(nil).U64(t.To)
	}
	return from, to
}

// Block returns a block by its own ID, or that of its proposer's header.
func (v *View) Block(id chain.ID) (*BlockInfo, bool, error) {
	b, found, err := v.Get(v.Key(store.PrimaryBlockIDs).Short(id))
	if err != nil || !found {
		return nil, false, err
	}
	height, err := heightOf(b)
	if err != nil {
		return nil, false, err
	}
	info, found, err := v.BlockAt(height)
	if err != nil || !found || info.ID != id && (info.Proposer == nil || info.Proposer.ID != id) {
		return nil, false, err
	}
	return info, true, nil
}

// BlockAt returns a block by its height.
func (v *View) BlockAt(height uint64) (*BlockInfo, bool, error) {
	b, found, err := v.Get(v.Key(store.PrimaryBlocks).U64(height))
	if err != nil || !found {
		return nil, false, err
	}
	info, err := decodeBlock(v.kind, height, b)
	return info, err == nil, err
}

// within bounds lists that begin with heights to the blocks of a range of times.
func (v *View) within(l *Lists, t TimeRange) error {
	for _, side := range []struct {
		time uint64
		to   *[]byte
	}{{t.From, &l.From}, {t.To, &l.To}} {
		if side.time == 0 {
			continue
		}
		height, err := v.heightFrom(side.time)
		if err != nil {
			return err
		}
		*side.to = Key(nil).U64(height)
	}
	return nil
}

// Blocks lists blocks by height. A range of times is one of heights: see heightFrom.
func (v *View) Blocks(f *BlockFilter, p Page, take func(*BlockInfo) bool) (Position, error) {
	l := &Lists{Prefixes: []Key{v.Key(store.PrimaryBlocks)}}
	if f.Proposer != nil {
		l.Prefixes[0] = v.Key(store.PrimaryProposed).Bytes(f.Proposer[:])
	}
	if err := v.within(l, f.TimeRange); err != nil {
		return nil, err
	}
	return v.List(l, &p, func(order, value []byte) (Result, error) {
		height, err := heightOf(order)
		if err != nil {
			return Passed, err
		}
		var b *BlockInfo
		if f.Proposer == nil {
			b, err = decodeBlock(v.kind, height, bytes.Clone(value))
		} else {
			var found bool
			if b, found, err = v.BlockAt(height); err == nil && !found {
				err = fmt.Errorf("%w: block %d is missing", ErrRow, height)
			}
		}
		if err != nil || !take(b) {
			return Full, err
		}
		return Taken, nil
	})
}

// Tx returns a transaction by its ID.
func (v *View) Tx(id chain.ID) (*TxRow, bool, error) { return txByID(v.Get, v.Space, id) }

// TxAt returns a transaction by its place.
func (v *View) TxAt(at Place) (*TxRow, bool, error) { return txAt(v.Get, v.Space, at) }

// Txs lists transactions by their places: those that any of the addresses has part in,
// or all if there are none, of blocks in a range of times.
func (v *View) Txs(addresses []address.Address, f TimeRange, p Page, take func(*TxRow) (Result, error)) (Position, error) {
	l := &Lists{Prefixes: []Key{v.Key(store.PrimaryTxs)}}
	if len(addresses) > 0 {
		l.Prefixes = nil
		for _, a := range addresses {
			l.Prefixes = append(l.Prefixes, v.Key(store.PrimaryAddressTxs).Bytes(a[:]))
		}
	}
	if err := v.within(l, f); err != nil {
		return nil, err
	}
	return v.List(l, &p, func(order, value []byte) (Result, error) {
		if len(order) != placeLen {
			return Passed, fmt.Errorf("%w: place of a transaction", ErrRow)
		}
		at := PlaceAt(order)
		if len(addresses) == 0 {
			t, err := decodeTx(at, bytes.Clone(value))
			if err != nil {
				return Passed, err
			}
			return take(t)
		}
		t, found, err := v.TxAt(at)
		if err == nil && !found {
			err = fmt.Errorf("%w: transaction %v is missing", ErrRow, at)
		}
		if err != nil {
			return Passed, err
		}
		return take(t)
	})
}

// Output returns an output by its ID, also one that was spent.
func (v *View) Output(id chain.ID) (*Output, bool, error) {
	b, found, err := v.Get(v.Key(store.PrimaryUTXOs).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	u, err := decodeOutput(b)
	return u, err == nil, err
}

// spentWalk goes through the outputs that were spent by the places where they were made.
type spentWalk struct {
	it *store.Rows // nil: not begun
	at Place       // it stands behind the rows of this place
}

// reaches reports whether the walk comes to a place by going on from where it stands.
func (w *spentWalk) reaches(at Place, asc bool) bool {
	if w.it == nil || w.at == at || w.at.Before(at) != asc {
		return false
	}
	if !w.it.Valid() {
		return true // there is nothing any more
	}
	row := PlaceAt(w.it.Key()[LeadLen:])
	return row == at || at.Before(row) == asc
}

// SpentOf returns outputs that a transaction made and that are spent: what it does not
// return is found by its ID. To ask for transactions in the order of their places,
// ascending if asc, costs next to nothing.
func (v *View) SpentOf(tx *TxRow, asc bool) (list []*Output, err error) {
	w, at := &v.spent[boolIndex(asc)], tx.Place
	if at.Height == 0 { // of a genesis, all of whose outputs have the same place
		return nil, nil
	}
	prefix := v.Key(store.PrimarySpent)
	here := prefix.Clone().Place(at)
	if !w.reaches(at, asc) {
		if w.it == nil {
			if w.it, err = v.snap.Rows(prefix, !asc); err != nil {
				return nil, err
			}
		}
		from := here.Clone()
		if !asc {
			from = from.U64(math.MaxUint64)
		}
		w.it.Seek(from)
		v.seeks++
	}
	for w.at = at; w.it.Valid() && bytes.HasPrefix(w.it.Key(), here); w.it.Next() {
		v.read++
		err := w.it.Value(func(b []byte) error {
			u, err := decodeOutput(bytes.Clone(b))
			list = append(list, u)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Outputs lists the outputs of any of the addresses in any of the states, by where they
// were made.
func (v *View) Outputs(addresses []address.Address, states []OutputState, p Page, take func(*Output) (Result, error)) (Position, error) {
	l := &Lists{}
	for i := range addresses {
		for _, s := range states {
			if list := addressOutputs(v.Space, &addresses[i], s); s.here() {
				l.Live = append(l.Live, list)
			} else {
				l.Prefixes = append(l.Prefixes, list)
			}
		}
	}
	return v.List(l, &p, func(_, value []byte) (Result, error) {
		if len(value) != chain.IDLen {
			return Passed, fmt.Errorf("%w: output of an address", ErrRow)
		}
		u, found, err := v.Output(chain.ID(value))
		if err == nil && !found {
			err = fmt.Errorf("%w: output %s is missing", ErrRow, chain.ID(value))
		}
		if err != nil {
			return Passed, err
		}
		return take(u)
	})
}
