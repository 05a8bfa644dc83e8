package index

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"

	"quorate/engine/store"
)

// Badger's marks of rows in its log. A replay of the log takes those with markTxn when the
// entry with markFin comes behind them that has their version, and none of them otherwise:
// so it treats transactions. Badger has no names for them outside; TestWriteCut finds out
// when they mean something else.
const (
	markDelete = 1 << 0
	markTxn    = 1 << 6
	markFin    = 1 << 7
)

var finKey = []byte("!badger!txn")

const (
	// entryOverhead is what Badger counts for a row besides its key and value: the
	// version and two bytes of marks.
	entryOverhead = 8 + 2
	// finBytes is more than what it counts for the entry behind the rows.
	finBytes = 64
	// requestBytes is from how many bytes on a loader of Badger's begins a new request,
	// those of values counted twice.
	requestBytes = 100 << 20
	// maxKey is how long a key may be, as in a transaction.
	maxKey = 65_000
)

// Write writes n rows in one commit, and returns when they are durable; a nil value
// removes what is there. Snapshots see all of the rows or none, and so does a database that
// is opened after a crash. After an error it is open whether they are durable, as with
// [Batch.Commit], but snapshots that are opened later agree on whether they are there.
//
// The rows must come in the order of their keys, and each key once. From some hundred on
// they cost less than those of a [Batch], which inserts them in the order of a hash table;
// few cost more. Write calls row twice for each, which must return the same, and keeps
// what it returns until the end. [ErrBatchFull] says that one commit cannot hold them, and
// that nothing was written: what [DB.Limits] promises fits, up to some 50 MB. Other commits
// wait meanwhile, and row must not begin any.
func (d *DB) Write(n int, row func(i int) (key, value []byte)) error {
	if n == 0 {
		return nil
	}
	if d.opts.Room != nil {
		if err := d.opts.Room(); err != nil {
			return err
		}
	}
	db, err := d.use()
	if err != nil {
		return err
	}
	defer d.unuse()
	bytes, err := measure(db, n, row)
	if err != nil {
		return err
	}
	started := time.Now()
	err = d.writeAlone(db, n, row)
	d.committed() // also after an error, which leaves open what is written
	if err != nil {
		d.failed.Inc()
		return fmt.Errorf("write %d rows: %w", n, err)
	}
	d.commits.Observe(time.Since(started).Seconds())
	d.entries.Add(float64(n))
	d.written.Add(float64(bytes))
	d.closer.Wrote(int64(bytes + (n+1)*store.RowOverhead))
	return nil
}

// measure returns the bytes of rows, or ErrBatchFull if one request of a loader cannot hold
// them, which would make two without a word.
func measure(db *badger.DB, n int, row func(i int) (key, value []byte)) (bytes int, err error) {
	values := 0
	for i := range n {
		key, value := row(i)
		if len(key) == 0 || len(key) > maxKey {
			return 0, fmt.Errorf("write a row: a key of %d bytes", len(key))
		}
		bytes += len(key) + len(value)
		values += len(value)
	}
	// A value that goes to the value log counts less with Badger.
	size := int64(bytes + n*entryOverhead + finBytes)
	if int64(n)+2 > db.MaxBatchCount() || size >= db.MaxBatchSize() || size+int64(values) >= requestBytes {
		return 0, ErrBatchFull
	}
	return bytes, nil
}

// errBetween is returned for what cannot be unless a commit does not take the lock.
var errBetween = errors.New("another commit came between the rows")

// writeAlone writes the rows with the version that the next commit will have, which no
// snapshot sees yet, and then makes it by a commit of its own, whose row says nothing. No
// other commit may come between: its version would be the same, and show a part of the rows.
func (d *DB) writeAlone(db *badger.DB, n int, row func(i int) (key, value []byte)) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	tick := db.NewTransaction(true)
	defer tick.Discard()
	if err := tick.Set([]byte{tickKey}, nil); err != nil {
		return err
	}
	version := tick.ReadTs() + 1
	err := writeMarked(db, version, n, row)
	// Also after an error: what may be there is seen now, and not with a later commit.
	if e := tick.Commit(); e != nil {
		return errors.Join(err, fmt.Errorf("make them visible: %w", e))
	}
	if err != nil {
		return err
	}
	after := db.NewTransaction(false)
	defer after.Discard()
	if after.ReadTs() != version {
		return errBetween
	}
	return nil
}

// writeMarked writes rows that fit it as one request, whose marks are those of a
// transaction.
func writeMarked(db *badger.DB, version uint64, n int, row func(i int) (key, value []byte)) error {
	l := db.NewKVLoader(1)
	set, remove := []byte{markTxn}, []byte{markTxn | markDelete}
	kv := pb.KV{Version: version}
	for i := range n {
		kv.Key, kv.Value = row(i)
		if kv.Meta = set; kv.Value == nil {
			kv.Meta = remove
		}
		if err := l.Set(&kv); err != nil {
			return err
		}
	}
	kv.Key, kv.Value, kv.Meta = finKey, strconv.AppendUint(nil, version, 10), []byte{markFin}
	if err := l.Set(&kv); err != nil {
		return err
	}
	return l.Finish()
}
