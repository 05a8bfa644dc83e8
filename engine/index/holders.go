package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Holder is an address that held an ERC-20 token.
type Holder struct {
	Address evm.Address
	Balance uint256.Int // at the view's tip, in base units
}

// Frame is a part of time, in Unix seconds: from Start on and before End. A block
// belongs to the second in which it was made.
type Frame struct{ Start, End uint64 }

// Lengths of the positions in a list of holders: behind an address, or in the
// middle of its history, where the row at a height is the next to look at.
const (
	behindLen = evm.AddressLen
	insideLen = evm.AddressLen + heightLen
)

// Holders returns the addresses that had more than above of an ERC-20 token in a
// frame, in their order: after the last block before it, or after one of its
// blocks. Only After and Limit of the page count. A page can be short, or empty,
// and have a position to go on from. Of a token of [Chain.Uneven] only what its
// contract stated counts, at the heights at which it was asked.
func (v *View) Holders(token evm.Address, above uint256.Int, f Frame, p Page) ([]Holder, []byte, error) {
	if p.After != nil && len(p.After) != behindLen && len(p.After) != insideLen {
		return nil, nil, ErrPosition
	}
	lo, hi, ok, err := v.heights(f)
	if err != nil {
		return nil, nil, err
	}
	least, over := new(uint256.Int).AddOverflow(&above, uint256.NewInt(1))
	if !ok || over || p.Limit < 1 {
		return nil, nil, nil
	}
	w := holderWalk{v: v, token: token, above: above, lo: lo, hi: hi}
	defer w.close()
	if v.c.Uneven(token) {
		if next, ok, err := w.said(&p); ok || err != nil {
			return w.out, next, err
		}
	}
	if v.at.has(store.TableHolders) {
		next, more, err := w.newest(&p)
		if err != nil || !more {
			return w.out, next, err
		}
		p.After = next
	}
	if err := w.open(least.ByteLen(), p.After); err != nil {
		return nil, nil, err
	}
	next, err := w.page(&p)
	return w.out, next, err
}

// sparse is how many holders the newest balances of a page are passed over, for
// each that is taken, before it goes on by the lengths of the highest balances.
const sparse = 20

// newest fills the page from the table of the newest balances, which lies in the
// order of addresses. It returns the position to go on from, nil at the end; with
// more the page is not full, but so few addresses had enough that the way by
// lengths is the shorter one.
func (w *holderWalk) newest(p *Page) (next []byte, more bool, err error) {
	prefix := w.v.at.key(store.TableHolders).addr(&w.token)
	begin := append(slices.Clone(prefix), p.After[:min(len(p.After), behindLen)]...)
	if len(p.After) == behindLen {
		begin = append(begin, 0)
	}
	rows := w.v.heldRows(prefix, begin)
	defer func() { rows.close(err) }()
	w.out = make([]Holder, 0, min(p.Limit, 64))
	last := make([]byte, 0, behindLen)
	for {
		if w.passed > sparse*(1+len(w.out)) {
			return last, true, nil
		}
		row, err := rows.next()
		if err != nil || row == nil {
			return nil, false, err
		}
		a := row.addr
		h, held, inside, err := w.judge(&a, &row.heldRow, p)
		switch {
		case err != nil:
			return nil, false, err
		case inside != nil:
			return append(key(nil), a[:]...).u64(*inside), false, nil
		case held && len(w.out) == p.Limit:
			return last, false, nil
		case held:
			w.out = append(w.out, h)
		default:
			if w.passed++; w.passed >= maxPassed {
				return append(last[:0], a[:]...), false, nil
			}
		}
		last = append(last[:0], a[:]...)
	}
}

// judge decides by an address' newest balance whether it is a holder, and asks its
// history when that does not say.
func (w *holderWalk) judge(a *evm.Address, now *heldRow, p *Page) (h Holder, held bool, inside *uint64, err error) {
	from := w.hi
	if len(p.After) == insideLen && bytes.Equal(a[:], p.After[:evm.AddressLen]) {
		from = min(from, binary.BigEndian.Uint64(p.After[evm.AddressLen:]))
	}
	switch {
	case now.height <= w.v.tip.Number && !w.above.Lt(&now.peak):
		return h, false, nil, nil
	case now.height <= from && w.above.Lt(&now.amount), now.height <= from && w.lo == 0 && from == w.hi:
		// Without a lower bound the peak counts, whenever it was.
		return Holder{Address: *a, Balance: now.amount}, true, nil, nil
	}
	return w.look(a, from)
}

// EventHolders returns the addresses that have ever had any of an ERC-20 token as
// its events tell, in their order. Only After and Limit of the page count, as in
// [View.Holders].
func (v *View) EventHolders(token evm.Address, p Page) ([]evm.Address, []byte, error) {
	if p.After != nil && len(p.After) != behindLen && len(p.After) != insideLen {
		return nil, nil, ErrPosition
	}
	if p.Limit < 1 {
		return nil, nil, nil
	}
	w := holderWalk{v: v, token: token, hi: v.tip.Number}
	defer w.close()
	if err := w.open(1, p.After); err != nil {
		return nil, nil, err
	}
	next, err := w.page(&p)
	list := make([]evm.Address, len(w.out))
	for i := range w.out {
		list[i] = w.out[i].Address
	}
	return list, next, err
}

// heights returns the lowest and the highest block whose balances count in a frame.
func (v *View) heights(f Frame) (lo, hi uint64, ok bool, err error) {
	if f.Start >= f.End {
		return 0, 0, false, nil
	}
	end, err := v.BlocksBefore(milli(f.End))
	if err != nil || end == 0 {
		return 0, 0, false, err
	}
	start, err := v.BlocksBefore(milli(f.Start))
	return max(start, 1) - 1, end - 1, err == nil, err
}

// milli returns a time in Unix milliseconds; no bound stays one.
func milli(second uint64) uint64 { return min(second, math.MaxUint64/1000) * 1000 }

// BlocksBefore returns how many blocks were made before a time in Unix milliseconds,
// the genesis block among them, and so the height of the first one after: the times of
// blocks do not fall. Where the index begins above that block it is the first height of
// the index.
func (v *View) BlocksBefore(milli uint64) (uint64, error) {
	switch {
	case milli == 0:
		return v.First(), nil
	case milli > v.tip.TimeMilli:
		return v.tip.Number + 1, nil
	}
	from, to := v.First(), v.tip.Number // the tip is none of them
	for from < to {
		mid := from + (to-from)/2
		h, found, err := v.Block(mid)
		if err == nil && !found {
			err = fmt.Errorf("%w: block %d is missing", errCodec, mid)
		}
		if err != nil {
			return 0, err
		}
		if h.TimeMilli < milli {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from, nil
}

// holderWalk reads a page of holders.
type holderWalk struct {
	v      *View
	token  evm.Address
	above  uint256.Int
	lo, hi uint64 // heights whose balances count

	lists   []heldList
	history *store.Rows // of the balances of the address that is looked at
	prefix  key         // of that
	key     key
	passed  int // rows and holders that did not match
	out     []Holder
}

// heldList is the part of the token's holders whose highest balance had one
// length, in the order of addresses.
type heldList struct {
	rows   *store.Rows
	prefix key
	valid  bool
	addr   evm.Address // of the row here
	height uint64
}

// read takes the row that the iterator stands at.
func (l *heldList) read() error {
	if l.valid = l.rows.Valid(); !l.valid {
		return nil
	}
	if copy(l.addr[:], l.rows.Key()[len(l.prefix):]) != evm.AddressLen {
		return fmt.Errorf("%w: key of a holder", errCodec)
	}
	return l.rows.Value(func(b []byte) error {
		if len(b) != heightLen {
			return fmt.Errorf("%w: holder", errCodec)
		}
		l.height = binary.BigEndian.Uint64(b)
		return nil
	})
}

// open opens a list for each length from least bytes on that there is.
func (w *holderWalk) open(least int, after []byte) (err error) {
	prefix := w.v.at.key(store.TableTokenHolders).addr(&w.token)
	lengths, err := w.v.s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer lengths.Close()
	for n := least; n <= word; n++ {
		lengths.Seek(append(slices.Clone(prefix), byte(n)))
		if !lengths.Valid() {
			break
		}
		n = int(lengths.Key()[len(prefix)])
		l := heldList{prefix: append(slices.Clone(prefix), byte(n))}
		if l.rows, err = w.v.s.Rows(l.prefix, false); err != nil {
			return err
		}
		w.lists = append(w.lists, l)
		begin := append(slices.Clone(l.prefix), after[:min(len(after), behindLen)]...)
		if len(after) == behindLen {
			begin = append(begin, 0)
		}
		l.rows.Seek(begin)
		if err := w.lists[len(w.lists)-1].read(); err != nil {
			return err
		}
	}
	return nil
}

// close gives the iterators back before the view ends, for the next page.
func (w *holderWalk) close() {
	for i := range w.lists {
		w.lists[i].rows.Close()
	}
	if w.history != nil {
		w.history.Close()
	}
}

// page fills the page and returns the position to go on from, nil at the end.
func (w *holderWalk) page(p *Page) ([]byte, error) {
	last := slices.Clone(p.After) // the position behind the holder seen last
	for {
		a, reached, found, err := w.next()
		if err != nil || !found {
			return nil, err
		}
		var h Holder
		held := false
		if reached {
			from := w.hi
			if len(p.After) == insideLen && bytes.Equal(a[:], p.After[:evm.AddressLen]) {
				from = min(from, binary.BigEndian.Uint64(p.After[evm.AddressLen:]))
			}
			var inside *uint64
			if h, held, inside, err = w.look(&a, from); err != nil {
				return nil, err
			}
			if inside != nil {
				return append(key(nil), a[:]...).u64(*inside), nil
			}
		}
		switch {
		case held && len(w.out) == p.Limit:
			return last, nil
		case held:
			w.out = append(w.out, h)
		default:
			w.passed++
		}
		last = append(last[:0], a[:]...)
		if w.passed >= maxPassed {
			return last, nil
		}
	}
}

// next goes to the next address in any of the lists. It reports whether the address
// had reached one of the lengths by the end of the frame.
func (w *holderWalk) next() (a evm.Address, reached, found bool, err error) {
	for i := range w.lists {
		if l := &w.lists[i]; l.valid && (!found || bytes.Compare(l.addr[:], a[:]) < 0) {
			a, found = l.addr, true
		}
	}
	for i := range w.lists {
		l := &w.lists[i]
		if !l.valid || l.addr != a {
			continue
		}
		reached = reached || l.height <= w.hi
		l.rows.Next()
		if err := l.read(); err != nil {
			return a, false, false, err
		}
	}
	return a, reached, found, nil
}

// look asks an address' history for what it has at the tip, and whether it had
// more than above in the frame, at height from or below. When that takes too long
// it returns the height to go on from.
func (w *holderWalk) look(a *evm.Address, from uint64) (h Holder, held bool, inside *uint64, err error) {
	if w.history != nil {
		w.history.Close()
	}
	w.prefix = w.v.at.appendKey(w.prefix[:0], store.TableTokenBalances).addr(a).addr(&w.token)
	w.key = append(w.key[:0], w.prefix...)
	if w.history, err = w.v.s.Rows(w.prefix, false); err != nil {
		return h, false, nil, err
	}
	now, found, err := w.at(w.v.tip.Number)
	if err == nil && !found && w.v.at.has(store.TableHolders) {
		return h, false, nil, nil // it came after the tip
	}
	if err == nil && !found {
		err = fmt.Errorf("%w: balance of holder %s is missing", errCodec, *a)
	}
	if err != nil || !w.above.Lt(&now.peak) {
		return h, false, nil, err
	}
	h = Holder{Address: *a, Balance: now.amount}
	last := now
	if now.height > from {
		if last, found, err = w.at(from); err != nil || !found {
			return h, false, nil, err
		}
	}
	switch {
	case w.above.Lt(&last.amount):
		return h, true, nil, nil
	case !w.above.Lt(&last.peak) || last.height <= w.lo:
		return h, false, nil, nil
	}
	if from == w.hi {
		first, found, err := w.at(w.lo)
		// A peak that is not that of the beginning was reached in the frame.
		if err != nil || !found || w.above.Lt(&first.amount) || first.peak.Lt(&last.peak) {
			return h, err == nil, nil, err
		}
	}
	held, inside, err = w.back(last.height)
	return h, held, inside, err
}

// back looks at the balances from a height down to the frame's beginning.
func (w *holderWalk) back(from uint64) (held bool, inside *uint64, err error) {
	row, found, err := w.at(from)
	for {
		switch {
		case err != nil || !found:
			return false, nil, err
		case w.above.Lt(&row.amount):
			return true, nil, nil
		case row.height <= w.lo:
			return false, nil, nil
		}
		if w.passed++; w.passed >= maxPassed {
			below := row.height - 1
			return false, &below, nil
		}
		w.history.Next()
		row, found, err = w.read()
	}
}

// heldRow is a row of an address' history.
type heldRow struct {
	balance
	height uint64
}

// at returns the newest row at or below a height of the history that key begins.
func (w *holderWalk) at(height uint64) (heldRow, bool, error) {
	w.key = w.key[:historyLen]
	w.history.Seek(w.key.u64(^height))
	return w.read()
}

// historyLen is the length of what the rows of an address' history begin with.
const historyLen = leadLen + 2*evm.AddressLen

// read returns the row of the history that the iterator stands at, if it is there.
func (w *holderWalk) read() (r heldRow, found bool, err error) {
	if !w.history.Valid() {
		return r, false, nil
	}
	k := w.history.Key()
	if len(k) != historyLen+heightLen {
		return r, false, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
	}
	r.height = ^binary.BigEndian.Uint64(k[historyLen:])
	return r, true, w.history.Value(r.balance.decode)
}

// decode reads a row of the newest balances.
func (r *heldRow) decode(b []byte) error {
	if len(b) < heightLen {
		return fmt.Errorf("%w: newest balance", errCodec)
	}
	r.height = binary.BigEndian.Uint64(b)
	return r.balance.decode(b[heightLen:])
}
