package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain/evm"
	"quorate/engine/store"
)

// maxPassed bounds the rows that one page passes over because they do not match.
const maxPassed = 5000

// list is a table's rows in the order of their heights.
type list struct {
	prefix   key  // what all rows start with
	suffix   int  // bytes after it: height and more
	inverted bool // newest rows come first
	// match tells whether a row belongs to the list; nil takes all.
	match func(r *store.Rows) (bool, error)
	// take adds a row to the page.
	take func(suffix []byte, r *store.Rows) error
}

// read reads a page and gives the position to go on from, nil after the last row.
func (v *View) read(l *list, p *Page) (next []byte, err error) {
	if p.After != nil && len(p.After) != l.suffix {
		return nil, ErrPosition
	}
	lo, hi, ok := v.bounds(p)
	if !ok || p.Limit < 1 {
		return nil, nil
	}
	// Backward means against the order of keys.
	backward := p.Ascending == l.inverted
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
	begin, end, after := piece().u64(first), piece().u64(last), append(piece(), p.After...)
	for range l.suffix - heightLen {
		begin, end = append(begin, 0), append(end, 0xff)
	}
	if backward {
		begin, end = end, begin
	}
	if p.After != nil && before(begin, after, backward) {
		begin = after
	}
	rows, err := v.s.Rows(l.prefix, backward)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.Seek(begin)
	if p.After != nil && rows.Valid() && bytes.Equal(rows.Key(), after) {
		rows.Next()
	}
	return l.walk(rows, end, backward, p.Limit)
}

// before tells whether a comes before b in the order of iteration.
func before(a, b []byte, backward bool) bool {
	if backward {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

// walk takes the rows up to end.
func (l *list) walk(rows *store.Rows, end []byte, backward bool, limit int) ([]byte, error) {
	at := make([]byte, 0, l.suffix) // the row seen last
	taken, passed := 0, 0
	for ; rows.Valid() && !before(end, rows.Key(), backward); rows.Next() {
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
		if taken == limit {
			return at, nil
		}
		at = append(at[:0], k[len(l.prefix):]...)
		if err := l.take(at, rows); err != nil {
			return nil, err
		}
		taken++
	}
	return nil, nil
}

// pageRoom is for how many rows of a page room is made at once.
func pageRoom(p *Page) int { return max(0, min(p.Limit, 100)) }

// BlockTxs returns the transactions of a block; none if there is no such block.
func (v *View) BlockTxs(number uint64, p Page) ([]*Tx, []byte, error) {
	if number > v.tip.Number {
		return nil, nil, nil
	}
	p.From, p.To = number, number+1
	return v.txs(p, nil)
}

// LatestTxs returns the transactions of the chain, only those that failed or
// succeeded if failed is not nil.
func (v *View) LatestTxs(p Page, failed *bool) ([]*Tx, []byte, error) {
	if failed == nil {
		return v.txs(p, nil)
	}
	if !*failed {
		return v.txs(p, func(r *store.Rows) (succeeded bool, err error) {
			err = r.Value(func(b []byte) error {
				if len(b) <= txFlagsAt {
					return fmt.Errorf("%w: transaction", errCodec)
				}
				succeeded = b[txFlagsAt]&txFailed == 0
				return nil
			})
			return succeeded, err
		})
	}
	txs := make([]*Tx, 0, pageRoom(&p))
	l := list{prefix: v.at.key(store.TableFailed), suffix: heightLen + 4, inverted: true}
	l.take = func(suffix []byte, _ *store.Rows) error {
		return v.appendTx(&txs, ^binary.BigEndian.Uint64(suffix), ^binary.BigEndian.Uint32(suffix[heightLen:]))
	}
	next, err := v.read(&l, &p)
	return txs, next, err
}

func (v *View) appendTx(txs *[]*Tx, number uint64, index uint32) error {
	tx, err := v.txAt(number, index)
	if err == nil {
		*txs = append(*txs, tx)
	}
	return err
}

// txs reads the table of transactions itself.
func (v *View) txs(p Page, match func(r *store.Rows) (bool, error)) ([]*Tx, []byte, error) {
	txs := make([]*Tx, 0, pageRoom(&p))
	// Rows that lie next to each other are cheap to read, and as many as a page
	// would push out of the cache what is dear.
	var s slab
	l := list{prefix: v.at.key(store.TableTxs), suffix: heightLen + 4, match: match}
	l.take = func(suffix []byte, r *store.Rows) error {
		number, index := binary.BigEndian.Uint64(suffix), binary.BigEndian.Uint32(suffix[heightLen:])
		return r.Value(func(b []byte) error {
			tx, err := decodeTx(number, index, b, &s)
			txs = append(txs, tx)
			return err
		})
	}
	next, err := v.read(&l, &p)
	return txs, next, err
}

// AddressTxs returns the transactions that an address has part in.
func (v *View) AddressTxs(a evm.Address, p Page) ([]*Tx, []byte, error) {
	k := pageKey{addr: a, limit: p.Limit, ascending: p.Ascending, begun: p.After != nil}
	if p.After != nil && copy(k.after[:], p.After) != len(p.After) {
		return nil, nil, ErrPosition
	}
	k.lo, k.hi, _ = v.bounds(&p)
	page, ok := v.c.read.pages.get(k)
	if !ok {
		var err error
		if page, err = v.addressPage(&a, &p); err != nil {
			return nil, nil, err
		}
		v.c.read.putPage(k, page)
	}
	txs := make([]*Tx, 0, len(page.places))
	for _, at := range page.places {
		if err := v.appendTx(&txs, at.number, at.index); err != nil {
			return nil, nil, err
		}
	}
	return txs, bytes.Clone(page.next), nil
}

// addressPage reads where the transactions of a page are.
func (v *View) addressPage(a *evm.Address, p *Page) (page txPage, err error) {
	page.places = make([]txPlace, 0, pageRoom(p))
	l := list{prefix: v.at.key(store.TableAddressTxs).addr(a), suffix: heightLen + 4, inverted: true}
	l.take = func(suffix []byte, _ *store.Rows) error {
		page.places = append(page.places, txPlace{^binary.BigEndian.Uint64(suffix), ^binary.BigEndian.Uint32(suffix[heightLen:])})
		return nil
	}
	page.next, err = v.read(&l, p)
	return page, err
}

// AddressTransfers returns the transfers of a kind from or to an address. Only
// ERC-721 transfers are listed by address; other kinds are an [ErrKind].
func (v *View) AddressTransfers(a evm.Address, kind TransferKind, p Page) ([]AddressedTransfer, []byte, error) {
	if kind != ERC721 {
		return nil, nil, fmt.Errorf("%w: %s", ErrKind, kind)
	}
	return v.transfers(v.at.key(store.TableAddressNFTs).addr(&a), p)
}

// TokenTransfers returns the transfers of a token, of whatever kind.
func (v *View) TokenTransfers(token evm.Address, p Page) ([]AddressedTransfer, []byte, error) {
	return v.transfers(v.at.key(store.TableTokenTransfers).addr(&token), p)
}

func (v *View) transfers(prefix key, p Page) ([]AddressedTransfer, []byte, error) {
	out := make([]AddressedTransfer, 0, pageRoom(&p))
	l := list{prefix: prefix, suffix: heightLen + 4 + 2, inverted: true}
	l.take = func(suffix []byte, r *store.Rows) error {
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
			return err
		}
		tx, err := v.txAt(number, index)
		if err != nil {
			return err
		}
		for i := range tx.Transfers {
			if t := &tx.Transfers[i]; t.LogIndex == log && t.Item == item {
				out = append(out, AddressedTransfer{
					Tx: TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}, Transfer: *t,
				})
				return nil
			}
		}
		return fmt.Errorf("%w: log %d of block %d is no transfer", errCodec, log, number)
	}
	next, err := v.read(&l, &p)
	return out, next, err
}
