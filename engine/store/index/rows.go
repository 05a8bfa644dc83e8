package index

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// ErrBatchFull is returned by [Batch.Set] when the transaction has no room for the row,
// and by [DB.Write] when one commit has none for all of its rows.
var ErrBatchFull = errors.New("transaction is full")

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
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read a row: %w", err)
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
func (r *Rows) Seek(key []byte) { r.it.Seek(key) }

// Next goes to the next row.
func (r *Rows) Next() { r.it.Next() }

// Valid reports whether there is a row here.
func (r *Rows) Valid() bool { return r.it.ValidForPrefix(r.prefix) }

// Key returns the row's key, until the next step.
func (r *Rows) Key() []byte { return r.it.Item().Key() }

// Value hands the row's value to read, which must not keep it.
func (r *Rows) Value(read func(value []byte) error) error { return r.it.Item().Value(read) }

// Batch is a transaction that writes. It is not safe for concurrent use, and
// it ends with Commit or Discard.
type Batch struct {
	d     *DB
	txn   *badger.Txn
	rows  int
	bytes int
	// slab has room for entries: one allocation for many.
	slab []badger.Entry
}

// slabSize is the number of entries made at once.
const slabSize = 256

// Batch begins a transaction. It fails if [Options.Room] does.
func (d *DB) Batch() (*Batch, error) {
	if d.opts.Room != nil {
		if err := d.opts.Room(); err != nil {
			return nil, err
		}
	}
	db, err := d.use()
	if err != nil {
		return nil, err
	}
	return &Batch{d: d, txn: db.NewTransaction(true)}, nil
}

// Limits returns what a transaction surely can hold: rows, and bytes of keys and
// values together with overhead bytes for each row.
func (d *DB) Limits() (rows, bytes, overhead int) {
	db, err := d.use()
	if err != nil {
		return 1, 1, 1
	}
	defer d.unuse()
	return int(db.MaxBatchCount()) - 2, int(db.MaxBatchSize()) - 64, 14
}

// Set writes a row when the transaction is committed. It keeps key and value
// until then. [ErrBatchFull] leaves the transaction as it was.
func (b *Batch) Set(key, value []byte) error {
	if len(b.slab) == 0 {
		b.slab = make([]badger.Entry, slabSize)
	}
	e := &b.slab[0]
	e.Key, e.Value = key, value
	err := b.txn.SetEntry(e)
	switch {
	case errors.Is(err, badger.ErrTxnTooBig):
		return ErrBatchFull
	case err != nil:
		return fmt.Errorf("write a row: %w", err)
	}
	b.slab = b.slab[1:]
	b.rows++
	b.bytes += len(key) + len(value)
	return nil
}

// Delete removes a row when the transaction is committed. It keeps key until then.
// [ErrBatchFull] leaves the transaction as it was.
func (b *Batch) Delete(key []byte) error {
	err := b.txn.Delete(key)
	switch {
	case errors.Is(err, badger.ErrTxnTooBig):
		return ErrBatchFull
	case err != nil:
		return fmt.Errorf("remove a row: %w", err)
	}
	b.rows++
	b.bytes += len(key)
	return nil
}

// Commit writes all rows or none, and returns when they are durable. After an
// error it is open whether they are.
func (b *Batch) Commit() error {
	defer b.Discard()
	started := time.Now()
	b.d.commit.RLock()
	err := b.txn.Commit()
	b.d.commit.RUnlock()
	b.d.committed() // also after an error, which leaves open what is written
	if err != nil {
		b.d.failed.Inc()
		return fmt.Errorf("commit %d rows: %w", b.rows, err)
	}
	b.d.commits.Observe(time.Since(started).Seconds())
	b.d.entries.Add(float64(b.rows))
	b.d.written.Add(float64(b.bytes))
	b.d.closer.Wrote(int64(b.bytes + b.rows*store.RowOverhead))
	return nil
}

// Discard ends the transaction without a trace. After Commit it does nothing.
func (b *Batch) Discard() {
	if b.txn == nil {
		return
	}
	b.txn.Discard()
	b.txn = nil
	b.d.unuse()
}
