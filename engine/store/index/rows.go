package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

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
	// sought is room for a key that is looked for in runs.
	sought []byte
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
	if err != nil {
		if !errors.Is(err, badger.ErrKeyNotFound) {
			return false, fmt.Errorf("read a row: %w", err)
		}
		item = nil
	}
	if runs := s.at.runsOf(key); len(runs) > 0 {
		hash := hashOf(key)
		s.sought = newest(s.sought[:0], key)
		for _, r := range slices.Backward(runs) {
			if item != nil && item.Version() > r.version {
				break
			}
			v, version, found := r.get(hash, s.sought)
			if !found {
				continue
			}
			if item != nil && item.Version() > version {
				break
			}
			if v.Meta == removed {
				return false, nil
			}
			return true, read(v.Value)
		}
	}
	if item == nil || item.UserMeta() == removed {
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
	// runs are the runs that may have rows, the newest first. With them the row here is that
	// of own, or Badger's if it is nil; key is its key, nil at the end.
	runs []*runRows
	own  *runRows
	key  []byte
	room []byte // for key
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
		r.runs = s.at.runRows(prefix, reverse)
	} else {
		r.from, r.scan = s.at, s.at.scan(prefix, reverse)
		r.it, r.runs = r.scan.it, r.scan.runs
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
		scan{it: r.it, runs: r.runs}.close()
	}
	r.it = nil
}

// Seek goes to the first row with a key that is not before key in the order of
// iteration: not below it, or not above it if reverse.
func (r *Rows) Seek(key []byte) {
	r.it.Seek(key)
	for _, w := range r.runs {
		w.seek(key)
	}
	r.settle()
}

// Next goes to the next row.
func (r *Rows) Next() {
	if len(r.runs) == 0 {
		r.it.Next()
	} else {
		r.pass()
	}
	r.settle()
}

// Valid reports whether there is a row here.
func (r *Rows) Valid() bool {
	if len(r.runs) == 0 {
		return r.it.ValidForPrefix(r.prefix)
	}
	return r.key != nil
}

// Key returns the row's key, until the next step.
func (r *Rows) Key() []byte {
	if len(r.runs) == 0 {
		return r.it.Item().Key()
	}
	return r.key
}

// Value hands the row's value to read, which must not keep it.
func (r *Rows) Value(read func(value []byte) error) error {
	if r.own != nil {
		return read(r.own.it.Value().Value)
	}
	return r.it.Item().Value(read)
}

// settle goes on to the next row that is not removed.
func (r *Rows) settle() {
	if len(r.runs) == 0 {
		for r.it.Valid() && r.it.Item().UserMeta() == removed && r.it.ValidForPrefix(r.prefix) {
			r.it.Next()
		}
		return
	}
	for r.find() {
		if r.own != nil && r.own.it.Value().Meta != removed || r.own == nil && r.it.Item().UserMeta() != removed {
			return
		}
		r.pass()
	}
}

// find finds the row that comes next, removed or not, and reports whether there is one: of
// those with the same key the one with the highest version, and of a run rather than of
// the database, whose rows are older where they have the version of a run's.
func (r *Rows) find() bool {
	r.own, r.key = nil, nil
	var key []byte
	version := uint64(0)
	for _, w := range r.runs {
		if !w.valid() || !bytes.HasPrefix(w.key(), r.prefix) {
			continue
		}
		if order := r.order(key, w.key()); order > 0 || order == 0 && w.version() > version {
			r.own, key, version = w, w.key(), w.version()
		}
	}
	if r.it.ValidForPrefix(r.prefix) {
		item := r.it.Item()
		if order := r.order(key, item.Key()); order > 0 || order == 0 && item.Version() > version {
			r.own, key = nil, item.Key()
		}
	}
	if key == nil {
		return false
	}
	r.room = append(r.room[:0], key...)
	r.key = r.room
	return true
}

// order compares keys in the order of iteration; a nil one comes last.
func (r *Rows) order(a, b []byte) int {
	switch {
	case a == nil:
		return 1
	case r.runs[0].reverse:
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// pass goes on from the key here, wherever there is a row of it.
func (r *Rows) pass() {
	for _, w := range r.runs {
		if w.valid() && bytes.Equal(w.key(), r.key) {
			w.next()
		}
	}
	if r.it.ValidForPrefix(r.prefix) && bytes.Equal(r.it.Item().Key(), r.key) {
		r.it.Next()
	}
}
