package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// ErrBatchFull is returned by [Batch.Set] when the transaction has no room for the row.
var ErrBatchFull = errors.New("transaction is full")

// Batch is a transaction that writes. It is not safe for concurrent use, and
// it ends with Commit or Discard.
type Batch struct {
	d    *DB
	db   *badger.DB // nil once ended
	rows []change
	// size is what Badger counts for rows, bytes that of keys and values.
	size, bytes int
}

// change is a row to write; a nil value removes it.
type change struct{ key, value []byte }

const (
	// largeValue is from how many bytes on a value goes to the value log, and badgerPrefix
	// begins the keys that are Badger's own.
	largeValue   = 1 << 20
	badgerPrefix = "!badger!"
	// maxKey is the length of the longest key that Badger takes.
	maxKey = 65_000
	// rowOverhead is what Badger counts for a row of a transaction besides its key and
	// value, a pointer into the value log is pointerLen long, and endOverhead is more than
	// what counts for the mark behind all rows.
	rowOverhead = 12
	pointerLen  = 12
	endOverhead = 1 << 10
)

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
	return &Batch{d: d, db: db}, nil
}

// Update commits what change does to a transaction, unless it returns an error.
func (d *DB) Update(change func(b *Batch) error) error {
	b, err := d.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := change(b); err != nil {
		return err
	}
	return b.Commit()
}

// Limits returns what a transaction surely can hold: rows, and bytes of keys and
// values together with overhead bytes for each row.
func (d *DB) Limits() (rows, bytes, overhead int) {
	db, err := d.use()
	if err != nil {
		return 1, 1, 1
	}
	defer d.unuse()
	return int(db.MaxBatchCount()) - 2, int(db.MaxBatchSize()) - endOverhead, rowOverhead + 2
}

// Grow makes room for so many further rows, which saves time alone.
func (b *Batch) Grow(rows int) { b.rows = slices.Grow(b.rows, rows) }

// Set writes a row when the transaction is committed. It keeps key and value
// until then. [ErrBatchFull] leaves the transaction as it was.
func (b *Batch) Set(key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return b.put(key, value)
}

// Delete removes a row when the transaction is committed. It keeps key until then.
// [ErrBatchFull] leaves the transaction as it was.
func (b *Batch) Delete(key []byte) error { return b.put(key, nil) }

func (b *Batch) check(key []byte) error {
	switch {
	case b.db == nil:
		return store.ErrClosed
	case len(key) == 0 || len(key) > maxKey || bytes.HasPrefix(key, []byte(badgerPrefix)):
		return fmt.Errorf("write a row: its key of %d bytes is none", len(key))
	}
	return nil
}

func (b *Batch) put(key, value []byte) error {
	if err := b.check(key); err != nil {
		return err
	}
	counts := len(value)
	if counts >= largeValue {
		counts = pointerLen
	}
	size := b.size + len(key) + counts + rowOverhead
	if len(b.rows)+3 > int(b.db.MaxBatchCount()) || size+endOverhead >= int(b.db.MaxBatchSize()) {
		return ErrBatchFull
	}
	b.rows = append(b.rows, change{key, value})
	b.size = size
	b.bytes += len(key) + len(value)
	return nil
}

// Commit writes all rows or none, and returns when they are durable. After an
// error it is open whether they are.
func (b *Batch) Commit() error {
	if b.db == nil {
		return store.ErrClosed
	}
	defer b.Discard()
	if len(b.rows) == 0 {
		return nil
	}
	started := time.Now()
	err := b.transact()
	b.d.committed() // also after an error, which leaves open what is written
	if err != nil {
		b.d.failed.Inc()
		return fmt.Errorf("commit %d rows: %w", len(b.rows), err)
	}
	b.d.commits.Observe(time.Since(started).Seconds())
	b.d.entries.Add(float64(len(b.rows)))
	b.d.written.Add(float64(b.bytes))
	b.d.closer.Wrote(int64(b.bytes + len(b.rows)*store.RowOverhead))
	return nil
}

// transact commits the rows in a transaction of Badger's.
func (b *Batch) transact() error {
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	entries := make([]badger.Entry, len(b.rows))
	for i, r := range b.rows {
		var err error
		if e := &entries[i]; r.value == nil {
			err = txn.Delete(r.key)
		} else {
			e.Key, e.Value = r.key, r.value
			err = txn.SetEntry(e)
		}
		if err != nil {
			return err
		}
	}
	return txn.Commit()
}

// Discard ends the transaction without a trace. After Commit it does nothing.
func (b *Batch) Discard() {
	if b.db == nil {
		return
	}
	b.db, b.rows = nil, nil
	b.d.unuse()
}
