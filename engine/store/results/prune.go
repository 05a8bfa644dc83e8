package results

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

const (
	// pruneChunk is how many entries are looked at, or deleted, in one transaction,
	// so that neither readers nor the end of the database wait for long.
	pruneChunk = 4096
	// removeChunk is how many entries are deleted while the writer waits.
	removeChunk = 256
	// pruneTo is the share of MaxBytes, in percent, that is left of the results.
	pruneTo = 90
	// ages is how many classes of age results are told apart by.
	ages = 4096
)

// grew notes that so many bytes of results were committed, and has the oldest
// deleted once they are too many.
func (d *DB) grew(bytes int64) {
	if total := d.bytes.Add(bytes); d.opts.MaxBytes > 0 && total > d.opts.MaxBytes {
		select {
		case d.pruneNow <- struct{}{}:
		default: // it will be looked at anyway
		}
	}
}

// prune counts the bytes of all results and, when they are above MaxBytes,
// deletes the oldest until some room is left. The order of age is that of the
// commits. It gives up when the database is closed. One call waits for the other: what
// one deletes, the other would go on to count.
func (d *DB) prune(ctx context.Context) error {
	if d.opts.MaxBytes <= 0 {
		return nil
	}
	d.pruning.Lock()
	defer d.pruning.Unlock()
	newest, err := d.newest()
	if err != nil {
		return err
	}
	var byAge [ages + 1]int64
	total := int64(0)
	age := func(version uint64) uint64 { return min(version*ages/(newest+1), ages) }
	err = d.scan(ctx, []byte{prefixResult}, func(item *badger.Item) error {
		byAge[age(item.Version())] += item.EstimatedSize()
		total += item.EstimatedSize()
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { d.bytes.Store(total) }()
	if total <= d.opts.MaxBytes {
		return nil
	}
	cut := uint64(0)
	for left := total; cut < ages && left > d.opts.MaxBytes*pruneTo/100; cut++ {
		left -= byAge[cut]
	}
	var doomed [][]byte
	deleted := 0
	flush := func() error {
		n, err := d.remove(doomed, newest)
		deleted += n
		doomed = doomed[:0]
		return err
	}
	err = d.scan(ctx, []byte{prefixResult}, func(item *badger.Item) error {
		if age(item.Version()) >= cut {
			return nil
		}
		total -= item.EstimatedSize()
		doomed = append(doomed, item.KeyCopy(nil))
		if len(doomed) >= pruneChunk {
			return flush()
		}
		return nil
	})
	err = errors.Join(err, flush())
	d.pruned.Add(float64(deleted))
	d.log.Info("the oldest results were deleted to make room", "results", deleted, "bytes_left", total)
	return err
}

// newest returns the version of the last commit.
func (d *DB) newest() (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return 0, store.ErrClosed
	}
	// MaxVersion of the database reads what a commit writes at the same time.
	txn := d.db.NewTransaction(false)
	defer txn.Discard()
	return txn.ReadTs(), nil
}

// scan calls f with all keys that begin with prefix, a chunk at a time.
func (d *DB) scan(ctx context.Context, prefix []byte, f func(*badger.Item) error) error {
	for next := prefix; next != nil; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if next, err = d.scanChunk(prefix, next, f); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) scanChunk(prefix, from []byte, f func(*badger.Item) error) (next []byte, err error) {
	items := 0
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return nil, store.ErrClosed
	}
	err = d.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.PrefetchValues = false
		opts.Prefix = prefix
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Seek(from); it.Valid(); it.Next() {
			if items++; items > pruneChunk {
				next = it.Item().KeyCopy(nil)
				return nil
			}
			if err := f(it.Item()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look through the results: %w", err)
	}
	return next, nil
}

// remove deletes entries that were not written again since version upTo.
func (d *DB) remove(keys [][]byte, upTo uint64) (n int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return 0, store.ErrClosed
	}
	for len(keys) > 0 && err == nil {
		done := 0
		err = d.update(func(txn *badger.Txn) error {
			for _, key := range keys[:min(removeChunk, len(keys))] {
				if item, err := txn.Get(key); err == nil && item.Version() > upTo {
					done++
					continue
				}
				err := txn.Delete(key)
				if errors.Is(err, badger.ErrTxnTooBig) && done > 0 {
					return nil
				}
				if err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err == nil {
			n += done
			keys = keys[done:]
		}
	}
	if err != nil {
		return n, fmt.Errorf("delete old results: %w", err)
	}
	return n, nil
}

// update runs a transaction that no other one that writes runs beside.
func (d *DB) update(f func(*badger.Txn) error) error {
	d.writes.Lock()
	defer d.writes.Unlock()
	return d.db.Update(f)
}
