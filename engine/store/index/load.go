package index

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"

	"quorate/engine/store"
)

// loads is how many requests of a load Badger may hold at once.
const loads = 2

// Load writes n rows without a transaction, and returns when they are durable. It is
// for rows that nobody looks for before a later transaction names them: a crash in
// between leaves some of them, and snapshots see them from the next commit on, whosever.
// The rows must come in the order of their keys, and each key once: they cost less than those
// of a transaction, which inserts them in the order of a hash table. They take the place of
// what transactions and loads wrote before. It keeps keys and values until it returns.
func (d *DB) Load(n int, row func(i int) (key, value []byte)) error {
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
	started := time.Now()
	// The next commit's version: above all that was written, and seen by the snapshots
	// that see that one.
	now := db.NewTransaction(false)
	version := now.ReadTs() + 1
	now.Discard()
	bytes, err := load(db, version, n, row)
	if err != nil {
		d.failed.Inc()
		return fmt.Errorf("load %d rows: %w", n, err)
	}
	d.commits.Observe(time.Since(started).Seconds())
	d.entries.Add(float64(n))
	d.written.Add(float64(bytes))
	d.closer.Wrote(int64(bytes + n*store.RowOverhead))
	return nil
}

func load(db *badger.DB, version uint64, n int, row func(i int) (key, value []byte)) (bytes int, err error) {
	l := db.NewKVLoader(loads)
	kv := pb.KV{Version: version}
	for i := 0; i < n && err == nil; i++ {
		kv.Key, kv.Value = row(i)
		bytes += len(kv.Key) + len(kv.Value)
		err = l.Set(&kv)
	}
	return bytes, errors.Join(err, l.Finish())
}
