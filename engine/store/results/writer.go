package results

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// Run is the writer: it commits what was put, in groups, until ctx ends or the
// database is closed. At the end of ctx it refuses further entries and commits
// those that it had accepted. At most one Run works at a time; it may be
// restarted after an error or a panic.
func (d *DB) Run(ctx context.Context) error {
	d.running.Lock()
	defer d.running.Unlock()
	var gc sync.WaitGroup
	defer gc.Wait()
	gcCtx, stopGC := context.WithCancel(ctx)
	defer stopGC()
	gc.Go(func() { d.upkeep(gcCtx) })

	var batch []put
	for {
		select {
		case <-d.closing:
			return nil
		case <-ctx.Done():
			d.commit(d.mailbox.Close())
			return nil
		case <-d.mailbox.Ready():
			batch = d.mailbox.Drain(batch)
			d.commit(batch)
		}
	}
}

// commit writes the entries and answers each as soon as its transaction has
// ended. A failed transaction is its waiters' error, not the writer's end.
func (d *DB) commit(batch []put) {
	done := 0
	// Whatever happens here, nobody is left waiting.
	defer func() { fail(batch[done:], errors.New("the writer of the results database failed")) }()
	for done < len(batch) {
		started := time.Now()
		n, err := d.commitSome(batch[done:])
		if err != nil {
			d.failed.Inc()
			d.log.Error("results were not committed", "entries", n, "error", err)
		} else {
			d.entries.Add(float64(n))
			d.commits.Observe(time.Since(started).Seconds())
		}
		fail(batch[done:done+n], err)
		done += n
	}
}

// commitSome commits as many entries as one transaction takes, at least one,
// and returns their number.
func (d *DB) commitSome(batch []put) (n int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return len(batch), store.ErrClosed
	}
	d.writes.Lock()
	defer d.writes.Unlock()
	txn := d.db.NewTransaction(true)
	defer txn.Discard()
	size := 0
	for ; n < len(batch); n++ {
		p := &batch[n]
		size += len(p.key) + len(p.value) + store.RowOverhead
		entry := badger.NewEntry(p.key, p.value)
		// Badger may drop what has expired; readers look at the value's own mark.
		entry.ExpiresAt = p.expires
		err = txn.SetEntry(entry)
		if errors.Is(err, badger.ErrTxnTooBig) && n > 0 {
			break
		}
		if err != nil {
			return n + 1, fmt.Errorf("add a result: %w", err)
		}
	}
	if err = txn.Commit(); err != nil {
		return n, fmt.Errorf("commit %d results: %w", n, err)
	}
	d.closer.Wrote(int64(size))
	d.grew(int64(size))
	return n, nil
}

// upkeep keeps the database within its size and rewrites value log files that
// are mostly garbage, at a slow pace.
func (d *DB) upkeep(ctx context.Context) {
	tick := time.NewTicker(d.opts.GCEvery)
	defer tick.Stop()
	for {
		if err := d.prune(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			d.log.Warn("old results were not deleted", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.closing:
			return
		case <-d.pruneNow:
			continue
		case <-tick.C:
		}
		for ctx.Err() == nil {
			err := d.rewriteOne()
			if errors.Is(err, badger.ErrNoRewrite) {
				break
			}
			if err != nil {
				d.log.Warn("the value log was not collected", "error", err)
				break
			}
		}
	}
}

func (d *DB) rewriteOne() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return badger.ErrNoRewrite
	}
	return d.db.RunValueLogGC(store.GCRatio)
}
