package operation

import (
	"errors"
	"fmt"
	"math"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

var (
	// errMoved is returned when a chain has gone back below the height of an export and
	// has another block there.
	errMoved = errors.New("the chain has another block at the height of the export")
	// errAway is wrapped by what waiting may help: a chain that is not there yet.
	errAway = errors.New("the chain is not there now")
)

// batchRows bounds the transactions that are read ahead, of all lists together, and
// batchBytes the rows of one list.
const (
	batchRows  = 512
	batchBytes = 128 << 10
)

// source reads the transactions of one chain that some addresses have part in, in the
// order of the chain.
type source struct {
	chain     Chain
	pin       *pin
	addresses []evm.Address
	lists     []list
	batch     int // transactions of each list
	rows      writer
}

// list is what is read ahead of one address.
type list struct {
	items []item
	next  int    // the first of items that is not taken
	rows  []byte // of items
	after []byte // position in the index; nil before the first page
	ended bool
}

// item is a transaction.
type item struct {
	place
	milli      uint64
	hash       evm.Hash
	count      int // rows
	start, end int // in rows of the list
}

func newSource(c Chain, p *pin, addresses []evm.Address, lists int) *source {
	return &source{
		chain: c, pin: p, addresses: addresses, lists: make([]list, len(addresses)),
		batch: max(4, batchRows/lists), rows: writer{chainID: p.Number},
	}
}

// peek returns the time of the next transaction, false after the last one. It reads
// ahead if need be.
func (s *source) peek() (milli uint64, ok bool, err error) {
	if err := s.fill(); err != nil {
		return 0, false, err
	}
	if first := s.first(); first != nil {
		return first.milli, true, nil
	}
	return 0, false, nil
}

// first returns the next transaction of all lists, nil after the last one.
func (s *source) first() (first *item) {
	for i := range s.lists {
		l := &s.lists[i]
		if l.next < len(l.items) && (first == nil || l.items[l.next].before(first.place)) {
			first = &l.items[l.next]
		}
	}
	return first
}

// take appends the rows of the next transaction, which there must be. It returns their
// number.
func (s *source) take(dst []byte) ([]byte, int, error) {
	first := s.first()
	at, rows, parties := first.place, 0, 0
	hash := first.hash
	start := len(dst)
	for i := range s.lists {
		l := &s.lists[i]
		if l.next == len(l.items) || l.items[l.next].place != at {
			continue
		}
		if parties++; parties == 1 {
			it := &l.items[l.next]
			dst, rows = append(dst, l.rows[it.start:it.end]...), it.count
		}
		l.next++
	}
	if parties > 1 {
		var err error
		if dst, rows, err = s.shared(dst[:start], hash); err != nil {
			return dst, 0, err
		}
	}
	s.pin.Begun, s.pin.Last = true, at
	return dst, rows, nil
}

// shared appends the rows of a transaction that several of the addresses have part in:
// each list has only what concerns its own.
func (s *source) shared(dst []byte, hash evm.Hash) (_ []byte, rows int, err error) {
	err = s.view(func(v *index.View) error {
		tx, found, err := v.Tx(hash)
		if err == nil && !found {
			err = fmt.Errorf("transaction %s is missing", hash)
		}
		if err == nil {
			dst, rows = s.rows.tx(dst, tx, s.addresses)
		}
		return err
	})
	return dst, rows, err
}

// fill reads the next page of all lists that are used up.
func (s *source) fill() error {
	missing := false
	for i := range s.lists {
		l := &s.lists[i]
		missing = missing || !l.ended && l.next == len(l.items)
	}
	if !missing {
		return nil
	}
	return s.view(func(v *index.View) error {
		for i := range s.lists {
			// A page may be empty and not the last.
			for l := &s.lists[i]; !l.ended && l.next == len(l.items); {
				if err := s.page(v, l, s.addresses[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// view calls read with the chain as the export has it.
func (s *source) view(read func(v *index.View) error) error {
	v, err := viewAt(s.chain, s.pin)
	if err != nil {
		return err
	}
	defer v.Close()
	s.rows.v = v
	if err := read(v); err != nil {
		return err
	}
	return s.rows.err
}

// viewAt opens a chain at the height of an export.
func viewAt(c Chain, p *pin) (*index.View, error) {
	v, err := c.At(&p.Tip)
	switch {
	case errors.Is(err, index.ErrAbove), errors.Is(err, index.ErrEmpty), errors.Is(err, index.ErrBelow):
		return nil, fmt.Errorf("%w: %w", errAway, err)
	case err != nil:
		return nil, err
	case v.Tip().Hash != p.Hash:
		v.Close()
		return nil, errMoved
	}
	return v, nil
}

// page reads the next page of a list.
func (s *source) page(v *index.View, l *list, a evm.Address) error {
	l.items, l.rows, l.next = l.items[:0], l.rows[:0], 0
	p := index.Page{After: l.after, Limit: s.batch, Ascending: true, From: s.pin.From, To: s.pin.To}
	if s.pin.Begun {
		p.From = max(p.From, s.pin.Last.Number)
	}
	if p.To <= p.From {
		l.ended = true
		return nil
	}
	of := []evm.Address{a}
	next, err := v.AddressTxs(a, p, func(tx *index.Tx) bool {
		at := place{tx.Block.Number, tx.Index}
		if s.pin.Begun && !s.pin.Last.before(at) {
			return true
		}
		it := item{place: at, milli: tx.Block.TimeMilli, hash: tx.Hash, start: len(l.rows)}
		l.rows, it.count = s.rows.tx(l.rows, tx, of)
		it.end = len(l.rows)
		l.items = append(l.items, it)
		return len(l.rows) < batchBytes
	})
	l.after, l.ended = next, next == nil
	return err
}

// pinned returns a chain as it is now, with the blocks of a frame of time.
func pinned(c Chain, p pin, first, last uint64) (pin, error) {
	v, err := c.At(nil)
	if err != nil {
		return p, err
	}
	defer v.Close()
	tip := v.Tip()
	p.Tip, p.Hash, p.Begun, p.Last = tip.Number, tip.Hash, false, place{}
	p.To = tip.Number + 1
	if p.From, err = v.BlocksBefore(first); err != nil {
		return p, err
	}
	if last > 0 && last < math.MaxUint64 {
		p.To, err = v.BlocksBefore(last + 1)
	}
	return p, err
}
