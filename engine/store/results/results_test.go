package results

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/actor"
	"quorate/engine/metric"

	"quorate/engine/store"
)

// start opens a database and runs its writer until the test ends or stop is called.
func start(t testing.TB, dir string, opts Options) (r *DB, stop func()) {
	t.Helper()
	r, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("writer ended with %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

func mustHave(t *testing.T, r *DB, key, want []byte) {
	t.Helper()
	got, ok, err := r.Get(key, []byte("before "))
	if err != nil || !ok || string(got) != "before "+string(want) {
		t.Fatalf("key %x: got %q, %v, %v; want %q", key, got, ok, err, want)
	}
}

func mustLack(t *testing.T, r *DB, key []byte) {
	t.Helper()
	if got, ok, err := r.Get(key, []byte("x")); err != nil || ok || string(got) != "x" {
		t.Fatalf("key %x: got %q, %v, %v; want nothing", key, got, ok, err)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{})
	for i := range 300 {
		if err := r.Put(t.Context(), fmt.Appendf(nil, "key %d", i), fmt.Appendf(nil, "old %d", i)); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if err := r.Put(t.Context(), fmt.Appendf(nil, "key %d", i), fmt.Appendf(nil, "new %d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	r, _ = start(t, dir, Options{})
	for i := range 300 {
		want := fmt.Appendf(nil, "old %d", i)
		if i%3 == 0 {
			want = fmt.Appendf(nil, "new %d", i)
		}
		mustHave(t, r, fmt.Appendf(nil, "key %d", i), want)
	}
	mustLack(t, r, []byte("key 300"))
	mustLack(t, r, nil)
}

// One drained batch may be larger than one transaction can be.
func TestBatchLargerThanTransaction(t *testing.T) {
	t.Parallel()
	r, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	const n = 100 // of 64 KiB: more than five transactions
	rnd := rand.NewChaCha8([32]byte{1})
	var batch []put
	var values [][]byte
	for i := range n {
		value := make([]byte, expiryLen+MaxValue)
		_, _ = rnd.Read(value[expiryLen:])
		values = append(values, value[expiryLen:])
		batch = append(batch, put{
			key:   append([]byte{prefixResult}, fmt.Sprint(i)...),
			value: value, reply: actor.NewReply[struct{}](),
		})
	}
	r.commit(batch)
	for i := range batch {
		if _, err := batch[i].reply.Wait(t.Context()); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		got, ok, err := r.Get([]byte(fmt.Sprint(i)), nil)
		if err != nil || !ok || !bytes.Equal(got, values[i]) {
			t.Fatalf("entry %d: %d bytes, %v, %v", i, len(got), ok, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	r, _ := start(t, t.TempDir(), Options{TTL: time.Hour})
	if err := r.Put(t.Context(), []byte("a"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	mustHave(t, r, []byte("a"), []byte("value"))
	begin := time.Now()
	r.now = func() time.Time { return begin.Add(time.Hour - time.Second) }
	mustHave(t, r, []byte("a"), []byte("value"))
	// Badger's own clock still says that the entry lives: ours decides.
	r.now = func() time.Time { return begin.Add(time.Hour + 2*time.Second) }
	mustLack(t, r, []byte("a"))
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	r, _ := start(t, t.TempDir(), Options{})
	long := make([]byte, MaxKey+1)
	if err := r.Put(t.Context(), long, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("long key: %v", err)
	}
	if err := r.Put(t.Context(), nil, make([]byte, MaxValue+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("long value: %v", err)
	}
	if err := r.Put(t.Context(), long[1:], make([]byte, MaxValue)); err != nil {
		t.Errorf("at the bounds: %v", err)
	}
	mustHave(t, r, long[1:], make([]byte, MaxValue))
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	r, _ := start(t, t.TempDir(), Options{Mailbox: 8, Metrics: set})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 50 {
				key := fmt.Appendf(nil, "%d/%d", w, i)
				if err := r.Put(t.Context(), key, key); err != nil {
					t.Error(err)
					return
				}
				if got, ok, err := r.Get(key, nil); err != nil || !ok || !bytes.Equal(got, key) {
					t.Errorf("%s: not readable after its commit: %v, %v", key, ok, err)
				}
			}
		})
	}
	wg.Wait()
	if n := set.Value("quorate_store_results_written_total"); n != 800 {
		t.Errorf("counted %v entries, want 800", n)
	}
}

// Without a writer nothing leaves the mailbox: a full one holds the sender
// until its context ends.
func TestFullMailbox(t *testing.T) {
	t.Parallel()
	r, err := Open(t.TempDir(), Options{Mailbox: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	for i := range 3 {
		go func() { errs <- r.Put(ctx, []byte{byte(i)}, nil) }()
	}
	for r.mailbox.Len() < 2 { // the third finds it full, now or later
		runtime.Gosched()
		select {
		case err := <-errs:
			t.Fatalf("a put returned %v before it was committed", err)
		default:
		}
	}
	cause := errors.New("the caller has gone")
	cancel()
	for range 3 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	}
	ctx2, cancel2 := context.WithCancelCause(t.Context())
	cancel2(cause)
	if err := r.Put(ctx2, []byte("d"), nil); !errors.Is(err, cause) {
		t.Errorf("full mailbox: got %v, want %v", err, cause)
	}
}

func TestCloseAnswersWaiters(t *testing.T) {
	t.Parallel()
	r, err := Open(t.TempDir(), Options{Mailbox: 2})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 4)
	for i := range 4 { // two in the mailbox, two in front of it
		go func() { errs <- r.Put(context.Background(), []byte{byte(i)}, nil) }()
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := <-errs; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v, want store.ErrClosed", err)
		}
	}
	if _, _, err := r.Get([]byte("a"), nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if err := r.Put(t.Context(), []byte("a"), nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Errorf("run after close: %v", err)
	}
}

// The end of Run commits what it had accepted, and Close while Run works ends it.
func TestEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	reply := make(chan error, 1)
	go func() { reply <- r.Put(context.Background(), []byte("a"), []byte("b")) }()
	for r.mailbox.Len() == 0 {
		runtime.Gosched()
		if len(reply) > 0 {
			t.Fatal("put returned without a writer")
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ended); err != nil {
		t.Fatal(err)
	}
	if err := <-reply; err != nil {
		t.Fatalf("accepted entry: %v", err)
	}
	mustHave(t, r, []byte("a"), []byte("b"))
	if err := r.Put(t.Context(), []byte("c"), nil); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("put after the writer's end: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	if r, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, r, []byte("a"), []byte("b"))
	running := make(chan error, 1)
	go func() { running <- r.Run(context.Background()) }()
	if err := r.Put(t.Context(), []byte("c"), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-running; err != nil {
		t.Fatalf("writer under close: %v", err)
	}
}

// A commit that fails is the error of those who wait for it, and of nobody else.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	r, _ := start(t, t.TempDir(), Options{Metrics: set})
	bad := put{key: make([]byte, 70_000), reply: actor.NewReply[struct{}]()} // Badger refuses it
	if err := r.mailbox.Send(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if _, err := bad.reply.Wait(t.Context()); err == nil {
		t.Fatal("no error from a refused entry")
	}
	if err := r.Put(t.Context(), []byte("a"), []byte("b")); err != nil {
		t.Fatalf("after a failed commit: %v", err)
	}
	mustHave(t, r, []byte("a"), []byte("b"))
	if n := set.Value("quorate_store_results_commit_failures_total"); n != 1 {
		t.Errorf("counted %v failures, want 1", n)
	}
}

func TestSecondOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stop := start(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("got %v, want store.ErrInUse with the folder", err)
	}
	stop()
	_, _ = start(t, dir, Options{})
}

func TestFormat(t *testing.T) {
	t.Parallel()
	formatKey := []byte("\x00format")
	open := func(key, value []byte, want string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "db")
		db, err := badger.Open(settings(dir).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) }); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir, Options{})
		if want == "" && err == nil {
			_ = r.Close()
			return
		}
		if !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want store.ErrFormat with %q", err, want)
		}
	}
	format := func(v uint32, name string) []byte { return append(binary.BigEndian.AppendUint32(nil, v), name...) }
	open(formatKey, format(version, name), "")
	open(formatKey, format(version+1, name), "version 2, this program reads version 1")
	open(formatKey, format(version, "index"), `"index" database`)
	open(formatKey, []byte{1}, "no results database")
	open([]byte("something"), []byte("else"), "no results database")
}

func BenchmarkGet(b *testing.B) {
	r, _ := start(b, b.TempDir(), Options{})
	key, value := make([]byte, 64), make([]byte, 400)
	if err := r.Put(b.Context(), key, value); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		got, ok, err := r.Get(key, dst[:0])
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
		dst = got
	}
}

func BenchmarkPut(b *testing.B) {
	r, _ := start(b, b.TempDir(), Options{})
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		key, value := make([]byte, 64), make([]byte, 400)
		for pb.Next() {
			binary.BigEndian.PutUint64(key, rand.Uint64())
			if err := r.Put(context.Background(), key, value); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
