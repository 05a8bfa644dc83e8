package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// gcRatio is the share of a value log file that must be garbage to rewrite it.
const gcRatio = 0.5

// Run is the writer: it commits what was put, in groups, until ctx ends or the
// database is closed. At the end of ctx it refuses further entries and commits
// those that it had accepted. At most one Run works at a time; it may be
// started anew after an error or a panic.
func (r *Results) Run(ctx context.Context) error {
	r.running.Lock()
	defer r.running.Unlock()
	var gc sync.WaitGroup
	defer gc.Wait()
	gcCtx, stopGC := context.WithCancel(ctx)
	defer stopGC()
	gc.Go(func() { r.upkeep(gcCtx) })

	var batch []put
	for {
		select {
		case <-r.closing:
			return nil
		case <-ctx.Done():
			r.commit(r.mailbox.Close())
			return nil
		case <-r.mailbox.Ready():
			batch = r.mailbox.Drain(batch)
			r.commit(batch)
		}
	}
}

// commit writes the entries and answers each as soon as its transaction has
// ended. A failed transaction is its waiters' error, not the writer's end.
func (r *Results) commit(batch []put) {
	done := 0
	// Whatever happens here, nobody is left waiting.
	defer func() { fail(batch[done:], errors.New("the writer of the results database failed")) }()
	for done < len(batch) {
		started := time.Now()
		n, err := r.commitSome(batch[done:])
		if err != nil {
			r.failed.Inc()
			r.log.Error("results were not committed", "entries", n, "error", err)
		} else {
			r.entries.Add(float64(n))
			r.commits.Observe(time.Since(started).Seconds())
		}
		fail(batch[done:done+n], err)
		done += n
	}
}

// commitSome commits as many entries as one transaction takes, at least one,
// and gives their number.
func (r *Results) commitSome(batch []put) (n int, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return len(batch), ErrClosed
	}
	txn := r.db.NewTransaction(true)
	defer txn.Discard()
	size := 0
	for ; n < len(batch); n++ {
		p := &batch[n]
		size += len(p.key) + len(p.value) + rowOverhead
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
	r.closer.unflushed.Add(int64(size))
	r.grew(int64(size))
	return n, nil
}

// upkeep keeps the database within its size and rewrites value log files that
// are mostly garbage, at a slow pace.
func (r *Results) upkeep(ctx context.Context) {
	tick := time.NewTicker(r.opts.GCEvery)
	defer tick.Stop()
	for {
		if err := r.prune(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
			r.log.Warn("old results were not deleted", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.closing:
			return
		case <-r.pruneNow:
			continue
		case <-tick.C:
		}
		for ctx.Err() == nil {
			err := r.rewriteOne()
			if errors.Is(err, badger.ErrNoRewrite) {
				break
			}
			if err != nil {
				r.log.Warn("the value log was not collected", "error", err)
				break
			}
		}
	}
}

func (r *Results) rewriteOne() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return badger.ErrNoRewrite
	}
	return r.db.RunValueLogGC(gcRatio)
}
