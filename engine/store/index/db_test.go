package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quorate/engine/metric"

	"quorate/engine/store"
	"quorate/engine/store/results"
)

func openSmall(t testing.TB, dir string, opts Options) *DB {
	t.Helper()
	opts.MemTableMB, opts.BlockCacheMB, opts.IndexCacheMB, opts.NoSync = 8, 4, 4, true
	d, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func write(t testing.TB, d *DB, rows map[string]string) {
	t.Helper()
	b, err := d.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for k, v := range rows {
		if err := b.Set([]byte(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, d *DB) *Snapshot {
	t.Helper()
	s, err := d.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// keys returns the keys from where a seek leads to the end.
func keys(t testing.TB, s *Snapshot, prefix string, reverse bool, from string) (list []string) {
	t.Helper()
	r, err := s.Rows([]byte(prefix), reverse)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Seek([]byte(from)); r.Valid(); r.Next() {
		list = append(list, string(r.Key()))
	}
	return list
}

func TestRows(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	write(t, d, map[string]string{"\x11a": "1", "\x12a": "2", "\x12b": "3", "\x12c": "4", "\x13a": "5"})
	s := snapshot(t, d)
	for _, c := range []struct {
		reverse bool
		from    string
		want    string
	}{
		{false, "\x12", "\x12a \x12b \x12c"},
		{false, "\x12b", "\x12b \x12c"},
		{false, "\x12b\x00", "\x12c"},
		{false, "\x12z", ""},
		{true, "\x12\xff", "\x12c \x12b \x12a"},
		{true, "\x12bb", "\x12b \x12a"},
		{true, "\x12b", "\x12b \x12a"},
		{true, "\x12A", ""},
	} {
		if got := strings.Join(keys(t, s, "\x12", c.reverse, c.from), " "); got != c.want {
			t.Errorf("from %q, reverse %v: %q, want %q", c.from, c.reverse, got, c.want)
		}
	}
	// A snapshot does not see what is committed later.
	write(t, d, map[string]string{"\x12b": "new", "\x12bb": "new"})
	var value string
	read := func(b []byte) error { value = string(b); return nil }
	if found, err := s.Get([]byte("\x12b"), read); err != nil || !found || value != "3" {
		t.Errorf("%q, %v, %v", value, found, err)
	}
	if found, err := s.Get([]byte("\x12bb"), read); err != nil || found {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := snapshot(t, d).Get([]byte("\x12b"), read); err != nil || !found || value != "new" {
		t.Errorf("%q, %v, %v", value, found, err)
	}
	s.Close()
	s.Close()
	if _, err := s.Get([]byte("a"), read); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed snapshot: %v", err)
	}
	if _, err := s.Rows(nil, false); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed snapshot: %v", err)
	}
}

// What Limits promises fits, and what does not fit leaves the rest as it was.
func TestBatchFull(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	rows, size, overhead := d.Limits()
	for _, length := range []int{0, 1000} {
		b, err := d.Batch()
		if err != nil {
			t.Fatal(err)
		}
		n, used := 0, 0
		for {
			key := binary.BigEndian.AppendUint32([]byte{0x12}, uint32(n))
			err := b.Set(key, make([]byte, length))
			if errors.Is(err, ErrBatchFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
			used += len(key) + length + overhead
		}
		if n < rows && used < size {
			t.Errorf("full with %d rows and %d bytes, promised %d and %d", n, used, rows, size)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := len(keys(t, snapshot(t, d), "\x12", false, "\x12")); got < n {
			t.Errorf("%d rows of %d", got, n)
		}
	}
	// A value that does not fit the tables goes to the value log, and comes back.
	big := strings.Repeat("big", 1<<20)
	write(t, d, map[string]string{"\x15": big})
	if found, err := snapshot(t, d).Get([]byte("\x15"), func(b []byte) error {
		if string(b) != big {
			return errors.New("another value")
		}
		return nil
	}); err != nil || !found {
		t.Errorf("large value: %v, %v", found, err)
	}
}

func TestOrdinals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	for range 2 {
		for i := range 5 {
			n, err := d.Ordinal([32]byte{byte(i)})
			if err != nil || n != uint32(i+1) {
				t.Fatalf("chain %d has ordinal %d, %v", i, n, err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openSmall(t, dir, Options{})
	if n, err := d.Ordinal([32]byte{3}); err != nil || n != 4 {
		t.Errorf("ordinal after a restart %d, %v", n, err)
	}
	if n, err := d.Ordinal([32]byte{9}); err != nil || n != 6 {
		t.Errorf("ordinal of a new chain %d, %v", n, err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	row := func(ordinal uint32, s string) string { return string(TableKey(nil, TableTxs, ordinal, 0)) + s }
	a := openSmall(t, t.TempDir(), Options{})
	write(t, a, map[string]string{row(1, "a"): "1", row(1, "b"): "2", row(2, "a"): "other"})
	b := openSmall(t, t.TempDir(), Options{})
	write(t, b, map[string]string{row(7, "b"): "2"})
	write(t, b, map[string]string{row(7, "a"): "0"})
	digest := func(d *DB, ordinal uint32) [32]byte {
		t.Helper()
		sum, err := d.Digest(t.Context(), TableKey(nil, TableTxs, ordinal, 0), TableKey(nil, TableTokenHolders, ordinal, 0))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	if digest(a, 1) == digest(b, 7) {
		t.Error("another value, the same digest")
	}
	write(t, b, map[string]string{row(7, "a"): "1", string(TableKey(nil, TableTokenMeta, 7, 0)): "not of a block"})
	if digest(a, 1) != digest(b, 7) {
		t.Error("the same rows, another digest")
	}
	write(t, b, map[string]string{string(TableKey(nil, TableTokenHolders, 7, 0)): "of a block"})
	if digest(a, 1) == digest(b, 7) {
		t.Error("another holder, the same digest")
	}
	if digest(a, 1) == digest(a, 2) || digest(a, 3) == digest(a, 1) {
		t.Error("other rows, the same digest")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	many := map[string]string{}
	for i := range 2 * digestEvery {
		many[row(4, fmt.Sprintf("%06d", i))] = ""
	}
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(many)), 500) {
		part := map[string]string{}
		for _, k := range chunk {
			part[k] = ""
		}
		write(t, a, part)
	}
	if _, err := a.Digest(ended, TableKey(nil, TableTxs, 4, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

func TestDBCheck(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	for range 3 {
		if err := d.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// A check that hangs does not hold those who ask.
	release := d.prober.Wait()
	cause := errors.New("no more time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := d.Check(ctx); !errors.Is(err, cause) {
		t.Errorf("while a check hangs: %v", err)
	}
	release()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Close waits for those who read, and refuses new ones meanwhile.
func TestDBClose(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	d := openSmall(t, t.TempDir(), Options{Metrics: set})
	write(t, d, map[string]string{"\x12a": "1"})
	s, err := d.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan error, 1)
	go func() { running <- d.Run(t.Context()) }()
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	if err := <-running; err != nil {
		t.Fatal(err)
	}
	for {
		other, err := d.Snapshot()
		if errors.Is(err, store.ErrClosed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		other.Close()
		runtime.Gosched()
	}
	if got := keys(t, s, "\x12", false, "\x12"); len(got) != 1 {
		t.Errorf("%d rows while closing", len(got))
	}
	select {
	case <-closed:
		t.Fatal("closed under a reader")
	default:
	}
	s.Close()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if _, err := d.Batch(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("batch: %v", err)
	}
	if _, err := d.Ordinal([32]byte{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("ordinal: %v", err)
	}
	// Gauges of a closed database are 0.
	if s := set.String(); !strings.Contains(s, "quorate_store_index_rows_total 1") || !strings.Contains(s, "quorate_store_index_level0_tables 0") {
		t.Errorf("metrics:\n%s", s)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestOpenIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("second open: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Open(dir, results.Options{}); !errors.Is(err, store.ErrFormat) {
		t.Errorf("opened as results: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{MemTableMB: 7}); err == nil {
		t.Error("a table too small for its values")
	}
}

// TestSizeOfOpened: the sizes of a database that was just opened are known at once.
func TestSizeOfOpened(t *testing.T) {
	t.Parallel()
	dir, rows := t.TempDir(), make(map[string]string)
	for i := range 1000 {
		rows["\x12"+strconv.Itoa(i)] = strconv.Itoa(i * 7919)
	}
	d := openSmall(t, dir, Options{})
	write(t, d, rows)
	if err := d.Close(); err != nil { // writes the table
		t.Fatal(err)
	}
	set := metric.NewSet()
	openSmall(t, dir, Options{Metrics: set})
	all, logs := set.Value("quorate_store_index_bytes"), set.Value("quorate_store_index_log_bytes")
	if logs <= 0 || all < logs+1000 || all > logs+1<<20 {
		t.Errorf("%v bytes, %v of them in logs", all, logs)
	}
}
