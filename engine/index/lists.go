package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"sync"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// maxPassed bounds the rows that one page passes over because they do not match.
const maxPassed = 5000

// list is a table's rows in the order of their heights.
type list struct {
	prefix   key  // what all rows start with
	suffix   int  // bytes after it: height and more
	inverted bool // newest rows come first
	// match reports whether a row belongs to the list; nil takes all.
	match func(r *store.Rows) (bool, error)
	// take adds a row to the page, and reports whether there is room for more.
	take func(suffix []byte, r *store.Rows) (more bool, err error)
	// again: the row that the page before ended with comes once more.
	again bool
	// ends reports, once there is no more room, that nobody asks whether another row
	// follows; nil: the next position is nil after the last row.
	ends func() bool
}

// span is where a page begins and ends in a table.
type span struct {
	begin, end []byte // both belong to it
	after      []byte // the row that the page before ended with; nil on the first page
	backward   bool   // against the order of keys
}

// span returns where a page of a list lies; ok is false if there is nothing.
func (v *View) span(l *list, p *Page) (s span, ok bool, err error) {
	if p.After != nil && len(p.After) != l.suffix {
		return s, false, ErrPosition
	}
	lo, hi, ok := v.bounds(p)
	if !ok || p.Limit < 1 {
		return s, false, nil
	}
	s.backward = p.Ascending == l.inverted
	first, last := lo, hi // in the order of keys
	if l.inverted {
		first, last = ^hi, ^lo
	}
	size := len(l.prefix) + l.suffix
	room := make(key, 0, 3*size)
	piece := func() key { // with room for a whole key
		room = room[:len(room)+size]
		return append(room[len(room)-size:len(room)-size:len(room)], l.prefix...)
	}
	begin, end := piece().u64(first), piece().u64(last)
	for range l.suffix - heightLen {
		begin, end = append(begin, 0), append(end, 0xff)
	}
	if s.backward {
		begin, end = end, begin
	}
	s.begin, s.end = begin, end
	if p.After != nil {
		if s.after = append(piece(), p.After...); before(s.begin, s.after, s.backward) {
			s.begin = s.after
		}
	}
	return s, true, nil
}

// read reads a page and returns the position to go on from, nil after the last row.
func (v *View) read(l *list, p *Page) (next []byte, err error) {
	s, ok, err := v.span(l, p)
	if !ok {
		return nil, err
	}
	rows, err := v.s.Rows(l.prefix, s.backward)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.Seek(s.begin)
	if s.after != nil && !l.again && rows.Valid() && bytes.Equal(rows.Key(), s.after) {
		rows.Next()
	}
	return l.walk(rows, &s, p.Limit)
}

// before reports whether a comes before b in the order of iteration.
func before(a, b []byte, backward bool) bool {
	if backward {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

// walk takes the rows up to the end of a page.
func (l *list) walk(rows *store.Rows, s *span, limit int) ([]byte, error) {
	at := make([]byte, 0, l.suffix) // the row seen last
	passed := 0
	for ; rows.Valid() && !before(s.end, rows.Key(), s.backward); rows.Next() {
		k := rows.Key()
		if len(k) != len(l.prefix)+l.suffix {
			return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		if l.match != nil {
			ok, err := l.match(rows)
			if err != nil {
				return nil, err
			}
			if !ok {
				at = append(at[:0], k[len(l.prefix):]...)
				if passed++; passed >= maxPassed {
					return at, nil
				}
				continue
			}
		}
		if limit == 0 {
			return at, nil
		}
		at = append(at[:0], k[len(l.prefix):]...)
		more, err := l.take(at, rows)
		if err != nil {
			return nil, err
		}
		if limit--; !more {
			limit = 0
			if l.ends != nil && l.ends() {
				return at, nil
			}
		}
	}
	return nil, nil
}

// List names what a page may show of an address.
type List uint8

// Lists whose newest height [View.Newest] knows.
const (
	ListTxs List = iota + 1
	ListTokenTransfers
)

// Newest returns the height of the newest row of an address' list. While that does
// not grow the list's pages stay as they are, whatever else blocks bring.
func (v *View) Newest(l List, a evm.Address) (height uint64, found bool, err error) {
	table := [...]byte{ListTxs: store.TableAddressTxs, ListTokenTransfers: store.TableTokenTransfers}[l]
	prefix := v.at.key(table).addr(&a)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(^v.tip.Number))
	if !rows.Valid() {
		return 0, false, nil
	}
	k := rows.Key()[len(prefix):]
	if len(k) < heightLen {
		return 0, false, fmt.Errorf("%w: key of a list", errCodec)
	}
	return ^binary.BigEndian.Uint64(k), true, nil
}

// TxFunc takes a transaction of a list and reports whether the page has room for
// more. The transaction is good until it returns.
type TxFunc func(tx *Tx) (more bool)

// BlockTxs yields the transactions of a block, as [View.LatestTxs] does; none
// if there is no such block. It returns the position to go on from, nil at the end.
func (v *View) BlockTxs(number uint64, p Page, take TxFunc) ([]byte, error) {
	if number > v.tip.Number {
		return nil, nil
	}
	p.From, p.To = number, number+1
	return v.heads(p, nil, take)
}

// LatestTxs yields the transactions of the chain, only those that failed or
// succeeded if failed is not nil: what lists show of them, so neither base fee,
// fees offered, transfers nor calls, and of the input the first four bytes.
func (v *View) LatestTxs(p Page, failed *bool, take TxFunc) ([]byte, error) {
	if failed == nil || !*failed {
		return v.heads(p, failed, take)
	}
	l := list{prefix: v.at.key(store.TableFailed), suffix: heightLen + 4, inverted: true}
	l.take = func(suffix []byte, _ *store.Rows) (bool, error) {
		tx, err := v.listed(^binary.BigEndian.Uint64(suffix), ^binary.BigEndian.Uint32(suffix[heightLen:]), headOnly)
		return err == nil && take(tx), err
	}
	return v.read(&l, &p)
}

// AddressTxs yields the transactions that an address has part in: of transfers
// and calls at least those from and to the address, and of all else what
// [View.LatestTxs] says.
func (v *View) AddressTxs(a evm.Address, p Page, take TxFunc) ([]byte, error) {
	return v.addressTxs(&addressList{a: a, take: func(_ []byte, tx *Tx) bool { return take(tx) }}, &p)
}

// addressTxSuffix is the length of a position among the transactions of an address.
const addressTxSuffix = heightLen + 4

// singleTxs is a list whose rows have one transaction each.
func (v *View) singleTxs(of *addressList, prefix key) *list {
	l := &list{prefix: prefix, suffix: addressTxSuffix, inverted: true, again: of.again, ends: of.ends}
	if of.roles != 0 {
		l.match = matching(of.roles)
	}
	l.take = func(suffix []byte, r *store.Rows) (bool, error) {
		number, index := ^binary.BigEndian.Uint64(suffix), ^binary.BigEndian.Uint32(suffix[heightLen:])
		tx := v.room()
		small := false
		err := r.Value(func(b []byte) error {
			if small = len(b) > 1; !small { // its roles alone
				return nil
			}
			tx.reset()
			tx.Block.Number, tx.Index = number, index
			return readPart(tx, &of.a, b[1:])
		})
		if err == nil && !small {
			tx, err = v.listed(number, index, withParts)
		}
		return err == nil && of.take(suffix, tx), err
	}
	return l
}

// txRooms are transactions that ended views have read rows into, with their slices.
var txRooms = sync.Pool{New: func() any { return &Tx{} }}

// room returns the transaction that is used again for each row of a list.
func (v *View) room() *Tx {
	if v.row == nil {
		v.row = txRooms.Get().(*Tx)
	}
	return v.row
}

// listed reads a transaction that must be there into the room for rows.
func (v *View) listed(number uint64, index uint32, much depth) (*Tx, error) {
	block, err := v.blockRef(number)
	if err != nil {
		return nil, err
	}
	tx := v.room()
	return tx, v.readTx(number, index, func(b []byte) error { return readTx(tx, block, index, b, much) })
}

// TransferFunc takes a transfer of a list and reports whether the page has room for
// more. The transfer is good until it returns.
type TransferFunc func(t *AddressedTransfer) (more bool)

// AddressTransfers yields the transfers of a kind from or to an address. Only
// ERC-721 transfers are listed by address; other kinds are an [ErrKind].
func (v *View) AddressTransfers(a evm.Address, kind TransferKind, p Page, take TransferFunc) ([]byte, error) {
	if kind != ERC721 {
		return nil, fmt.Errorf("%w: %s", ErrKind, kind)
	}
	return v.transfers(v.at.key(store.TableAddressNFTs).addr(&a), p, take)
}

// TokenTransfers yields the transfers of a token, of whatever kind.
func (v *View) TokenTransfers(token evm.Address, p Page, take TransferFunc) ([]byte, error) {
	return v.transfers(v.at.key(store.TableTokenTransfers).addr(&token), p, take)
}

func (v *View) transfers(prefix key, p Page, take TransferFunc) ([]byte, error) {
	var tx *Tx // read last: it may have many
	var out AddressedTransfer
	l := list{prefix: prefix, suffix: heightLen + 4 + 2, inverted: true}
	l.take = func(suffix []byte, r *store.Rows) (bool, error) {
		number := ^binary.BigEndian.Uint64(suffix)
		log, item := ^binary.BigEndian.Uint32(suffix[heightLen:]), ^binary.BigEndian.Uint16(suffix[heightLen+4:])
		var index uint32
		if err := r.Value(func(b []byte) error {
			if len(b) != 4 {
				return fmt.Errorf("%w: transfer", errCodec)
			}
			index = binary.BigEndian.Uint32(b)
			return nil
		}); err != nil {
			return false, err
		}
		if tx == nil || tx.Block.Number != number || tx.Index != index {
			var err error
			if tx, err = v.listed(number, index, withParts); err != nil {
				return false, err
			}
		}
		t := tx.transfer(log, item)
		if t == nil {
			return false, fmt.Errorf("%w: log %d of block %d is no transfer", errCodec, log, number)
		}
		out = AddressedTransfer{Tx: TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}, Transfer: *t}
		return take(&out), nil
	}
	return v.read(&l, &p)
}

// transfer finds a transfer: they are in the order of logs and items.
func (tx *Tx) transfer(log uint32, item uint16) *Transfer {
	n := len(tx.Transfers)
	at := sort.Search(n, func(i int) bool {
		t := &tx.Transfers[i]
		return t.LogIndex > log || t.LogIndex == log && t.Item >= item
	})
	if at == n || tx.Transfers[at].LogIndex != log || tx.Transfers[at].Item != item {
		return nil
	}
	return &tx.Transfers[at]
}
