package index

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// Snapshot reads the database as it was at one moment. It is not safe for
// concurrent use. It must be closed soon: while it is open nothing that it
// could see is given up.
type Snapshot struct {
	d    *DB
	at   *moment
	its  []*Rows // open ones
	room [2]*Rows
}

// Close ends the snapshot and its row iterators. Further calls do nothing.
func (s *Snapshot) Close() {
	if s.at == nil {
		return
	}
	for _, r := range s.its {
		r.Close()
	}
	s.d.leave(s.at)
	s.at, s.its = nil, nil
}

// Version is the version of the database that the snapshot reads: rows that a
// transaction writes make a new one.
func (s *Snapshot) Version() uint64 {
	if s.at == nil {
		return 0
	}
	return s.at.txn.ReadTs()
}

// Get hands the value under key to read, which must not keep it, and reports whether
// there is one.
func (s *Snapshot) Get(key []byte, read func(value []byte) error) (bool, error) {
	if s.at == nil {
		return false, store.ErrClosed
	}
	item, err := s.at.txn.Get(key)
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read a row: %w", err)
	case item.UserMeta() == hidden:
		return false, nil
	}
	return true, item.Value(read)
}

// Rows iterates over the rows of a snapshot in the order of their keys.
type Rows struct {
	it     *badger.Iterator // nil once closed
	prefix []byte
	from   *moment // that it goes back to; nil: it is closed
	scan   scan
}

// Rows returns an iterator over the rows whose keys begin with prefix, from the
// last to the first if reverse. It stands nowhere until the first Seek. It keeps
// prefix. Close of the snapshot closes it.
func (s *Snapshot) Rows(prefix []byte, reverse bool) (*Rows, error) {
	if s.at == nil {
		return nil, store.ErrClosed
	}
	r := &Rows{prefix: prefix}
	if len(prefix) < leadLen {
		r.it = s.at.iterator(prefix, reverse)
	} else {
		r.from, r.scan = s.at, s.at.scan(prefix, reverse)
		r.it = r.scan.it
	}
	if s.its == nil {
		s.its = s.room[:0]
	}
	s.its = append(s.its, r)
	return r, nil
}

// Close ends the iterator. Further calls do nothing.
func (r *Rows) Close() {
	switch {
	case r.it == nil:
	case r.from != nil:
		r.from.release(r.scan)
	default:
		r.it.Close()
	}
	r.it = nil
}

// Seek goes to the first row with a key that is not before key in the order of
// iteration: not below it, or not above it if reverse.
func (r *Rows) Seek(key []byte) {
	r.it.Seek(key)
	r.settle()
}

// Next goes to the next row.
func (r *Rows) Next() {
	r.it.Next()
	r.settle()
}

// settle goes on to the next row that counts.
func (r *Rows) settle() {
	for r.it.Valid() && r.it.Item().UserMeta() == hidden && r.Valid() {
		r.it.Next()
	}
}

// Valid reports whether there is a row here.
func (r *Rows) Valid() bool { return r.it.ValidForPrefix(r.prefix) }

// Key returns the row's key, until the next step.
func (r *Rows) Key() []byte { return r.it.Item().Key() }

// Value hands the row's value to read, which must not keep it.
func (r *Rows) Value(read func(value []byte) error) error { return r.it.Item().Value(read) }
