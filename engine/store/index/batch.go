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
	run  *newRun // nil: there is none
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
	// runsInMemTable is how many runs are as large as a table in memory: rows wait in memory
	// for their run, and those of the next ones are made meanwhile.
	runsInMemTable = 16
	// rowOverhead is what Badger counts for a row of a transaction besides its key and
	// value, a pointer into the value log is pointerLen long, and endOverhead is more than
	// what counts for the mark behind all rows, and the row of a run of up to a hundred files.
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

// RunBytes returns about how many bytes of keys and values a run has when many rows are at
// hand: see [Batch.Run]. A run of a quarter of that is worth while too.
func (d *DB) RunBytes() int { return d.opts.MemTableMB << 20 / runsInMemTable }

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

// Run writes n rows as a run when the transaction is committed, or removes those whose
// value is nil: it is for thousands of rows of one edition of a chain, each key once, for
// which a transaction need not have room. The rows that are set beside it have other keys.
// Keys and values are kept until then, and row is called by several goroutines. alone says
// that nothing else has to be done meanwhile: it is done by two of them then.
func (b *Batch) Run(n int, row func(i int) (key, value []byte), alone bool) error {
	r := &newRun{n: n, row: row, alone: alone}
	for i := range n {
		key, value := row(i)
		if err := b.check(key); err != nil {
			return err
		}
		s, ok := spaceOf(key)
		if i == 0 {
			r.space = s
		}
		if !ok || s != r.space {
			return fmt.Errorf("write a run: the key %x is of no chain or another one", key)
		}
		r.bytes += len(key) + len(value)
		r.counts[key[0]]++
	}
	b.run = r
	return nil
}

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
	count, bytes := len(b.rows), b.bytes
	if b.run != nil {
		count, bytes = count+b.run.n, bytes+b.run.bytes
	}
	if count == 0 {
		return nil
	}
	started := time.Now()
	var err error
	if b.run != nil && b.run.n > 0 {
		err = b.d.commitRun(b.db, b.run, b.rows)
	} else {
		err = b.transact()
	}
	b.d.committed() // also after an error, which leaves open what is written
	if err != nil {
		b.d.failed.Inc()
		return fmt.Errorf("commit %d rows: %w", count, err)
	}
	b.d.commits.Observe(time.Since(started).Seconds())
	b.d.entries.Add(float64(count))
	b.d.written.Add(float64(bytes))
	b.d.closer.Wrote(int64(b.bytes + len(b.rows)*store.RowOverhead))
	if b.run != nil {
		b.d.mergeSoon()
	}
	return nil
}

// transact commits the rows in a transaction of Badger's.
func (b *Batch) transact() error {
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	if err := b.d.setRows(txn, b.rows); err != nil {
		return err
	}
	b.d.commit.RLock()
	defer b.d.commit.RUnlock()
	return txn.Commit()
}

// setRows writes rows in a transaction. What is removed from a run is hidden by a row.
func (d *DB) setRows(txn *badger.Txn, rows []change) (err error) {
	entries := make([]badger.Entry, len(rows))
	for i, r := range rows {
		e := &entries[i]
		e.Key, e.Value = r.key, r.value
		switch {
		case r.value != nil:
			err = txn.SetEntry(e)
		case d.hides(r.key):
			err = txn.SetEntry(e.WithMeta(removed))
		default:
			err = txn.Delete(r.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Discard ends the transaction without a trace. After Commit it does nothing.
func (b *Batch) Discard() {
	if b.db == nil {
		return
	}
	b.db, b.rows, b.run = nil, nil, nil
	b.d.unuse()
}
