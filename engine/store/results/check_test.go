package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{TTL: time.Hour})
	if err := r.Put(t.Context(), []byte("a"), []byte("kept")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustHave(t, r, []byte("a"), []byte("kept"))
	mustLack(t, r, nil)
	mustLack(t, r, []byte{store.ProbeKey})
	stop()
	if err := r.Check(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	db, err := badger.Open(settings(dir).WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	err = db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{store.ProbeKey}})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			keys++
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil || keys != 1 {
		t.Errorf("three checks left %d entries, %v", keys, err)
	}
}

// writerless returns a database without a writer: the test plays it.
func writerless(t *testing.T) *DB {
	t.Helper()
	r, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A writer that does nothing holds no check longer than its context.
func TestCheckBlocked(t *testing.T) {
	t.Parallel()
	r := writerless(t)
	cause := errors.New("no patience")
	for range 3 { // the last one's probe waits in the mailbox, and is no hindrance
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- r.Check(ctx) }()
		<-r.mailbox.Ready()
		cancel(cause)
		if err := <-errs; !errors.Is(err, cause) {
			t.Errorf("got %v, want %v", err, cause)
		}
	}
	// Nor does a database that hangs, here by its lock: the check under way keeps
	// its goroutine until then, and the next ones wait for it.
	r.prober.Wait()() // the last one has ended
	r.commit(r.mailbox.Drain(nil))
	r.mu.Lock()
	for _, want := range []string{"did not answer in time", "still hangs"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- r.Check(ctx) }()
		if want == "did not answer in time" {
			<-r.mailbox.Ready()
			for _, p := range r.mailbox.Drain(nil) { // "committed"; the read hangs
				p.reply.Answer(struct{}{}, nil)
			}
		}
		cancel(cause)
		if err := <-errs; !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q and %v", err, want, cause)
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Check(t.Context()); err != nil {
		t.Errorf("after the hang: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What is read back must be what was written just now.
func TestCheckReadsBack(t *testing.T) {
	t.Parallel()
	r := writerless(t)
	refused := errors.New("disk is full")
	for _, tc := range []struct {
		name  string
		write func(batch []put)
		want  error
	}{
		{"nothing", func(batch []put) { fail(batch, nil) }, store.ErrProbe},
		{"good", r.commit, nil},
		{"the earlier one", func(batch []put) { fail(batch, nil) }, store.ErrProbe},
		{"another value", func(batch []put) {
			batch[0].value[expiryLen] ^= 1
			r.commit(batch)
		}, store.ErrProbe},
		{"cut", func(batch []put) {
			batch[0].value = batch[0].value[:expiryLen-1]
			r.commit(batch)
		}, store.ErrFormat},
		{"refused", func(batch []put) { fail(batch, refused) }, refused},
	} {
		errs := make(chan error, 1)
		go func() { errs <- r.Check(t.Context()) }()
		<-r.mailbox.Ready()
		tc.write(r.mailbox.Drain(nil))
		if err := <-errs; !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestChecksAtOnce(t *testing.T) {
	t.Parallel()
	r, stop := start(t, t.TempDir(), Options{})
	const n = 20
	errs := make(chan error, n)
	for range n {
		go func() { errs <- r.Check(t.Context()) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for range n {
		go func() {
			err := r.Check(t.Context())
			if err != nil && !errors.Is(err, store.ErrClosed) {
				err = fmt.Errorf("while it is being closed: %w", err)
			} else {
				err = nil
			}
			errs <- err
		}()
	}
	stop()
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
