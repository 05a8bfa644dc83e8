package index

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/metric"
	"quorate/engine/store"
)

// row is a row to write; a nil value removes it.
type row struct{ key, value []byte }

func rowsOf(list []row) (n int, at func(i int) (k, v []byte)) {
	return len(list), func(i int) (k, v []byte) { return list[i].key, list[i].value }
}

// series returns the rows from a number to before another; a value of "" removes them.
func series(from, to int, value string) (list []row) {
	for i := from; i < to; i++ {
		r := row{key: fmt.Appendf(nil, "r%06d", i)}
		if value != "" {
			r.value = fmt.Appendf(nil, "%s %d", value, i)
		}
		list = append(list, r)
	}
	return list
}

func mustWrite(t testing.TB, d *DB, list []row) {
	t.Helper()
	if err := d.Write(rowsOf(list)); err != nil {
		t.Fatal(err)
	}
}

// Rows are seen at once, in the place of older ones of whatever kind, and give way to
// younger ones; a nil value removes; all of it is there after the database was opened again.
func TestWrite(t *testing.T) {
	t.Parallel()
	const n = 3000
	dir, set := t.TempDir(), metric.NewSet()
	d := openSmall(t, dir, Options{Metrics: set})
	write(t, d, map[string]string{"r000000": "old", "r000007": "old", "other": "row"})
	before := snapshot(t, d)
	mustWrite(t, d, series(0, n, "first"))
	holds(t, d, n, func(i int) string { return fmt.Sprintf("first %d", i) })
	if got := keys(t, before, "r", false, "r"); len(got) != 2 {
		t.Errorf("a snapshot from before sees %d rows", len(got))
	}
	before.Close()
	if got := set.Value("quorate_store_index_rows_total"); got != n+3 {
		t.Errorf("%v rows were counted", got)
	}
	mustWrite(t, d, series(10, 20, ""))
	mustWrite(t, d, series(15, 17, "second"))
	write(t, d, map[string]string{"r000005": "committed"})
	sorted(t, d, 30, 40, "loaded") // seen from the next commit on
	mustWrite(t, d, append(series(40, 50, ""), row{key: []byte("r000050"), value: []byte{}}))
	want := func(i int) string {
		switch {
		case i == 5:
			return "committed"
		case i == 15 || i == 16:
			return fmt.Sprintf("second %d", i)
		case i >= 10 && i < 20, i >= 40 && i < 50:
			return ""
		case i >= 30 && i < 40:
			return fmt.Sprintf("loaded %d", i)
		}
		return fmt.Sprintf("first %d", i)
	}
	check := func(d *DB) {
		t.Helper()
		s := snapshot(t, d)
		defer s.Close()
		if found, err := s.Get([]byte("r000050"), func(v []byte) error {
			if len(v) > 0 {
				return fmt.Errorf("the row without a value has %q", v)
			}
			return nil
		}); err != nil || !found {
			t.Errorf("the row without a value: %v, %v", found, err)
		}
	}
	check(d)
	mustWrite(t, d, series(50, 51, "first"))
	holds(t, d, n, want)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openSmall(t, dir, Options{})
	holds(t, d, n, want)
	for i := range 3 {
		mustWrite(t, d, series(0, n, strconv.Itoa(i)))
		holds(t, d, n, func(k int) string { return fmt.Sprintf("%d %d", i, k) })
	}
}

// Each Write makes one version, that of its rows: its commit is the next one.
func TestWriteVersion(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	for i := range 5 {
		before := snapshot(t, d).Version()
		mustWrite(t, d, series(0, 500, strconv.Itoa(i)))
		s := snapshot(t, d)
		if s.Version() != before+1 {
			t.Errorf("version %d, then %d", before, s.Version())
		}
		for _, key := range []string{"r000000", "r000499", string([]byte{tickKey})} {
			item, err := s.at.txn.Get([]byte(key))
			if err != nil || item.Version() != s.Version() {
				t.Errorf("%q has not the version of the snapshot, or %v", key, err)
			}
		}
	}
	// A commit without the lock, which would show a part of the rows, is found out.
	n, at := rowsOf(series(0, 500, "torn"))
	calls := 0
	err := d.Write(n, func(i int) (k, v []byte) {
		if calls++; calls == n+n/2 {
			if err := d.db.Update(func(txn *badger.Txn) error { return txn.Set([]byte("other"), nil) }); err != nil {
				t.Error(err)
			}
		}
		return at(i)
	})
	if !errors.Is(err, errBetween) {
		t.Errorf("a commit between: %v", err)
	}
}

// The row that makes others visible belongs to no table.
func TestWriteDigest(t *testing.T) {
	t.Parallel()
	lead := TableKey(nil, TableTxs, 1, 0)
	list := []row{{append(bytes.Clone(lead), "a"...), []byte("1")}, {append(bytes.Clone(lead), "b"...), []byte("2")}}
	a, b := openSmall(t, t.TempDir(), Options{}), openSmall(t, t.TempDir(), Options{})
	mustWrite(t, a, list)
	write(t, b, map[string]string{string(list[0].key): "1", string(list[1].key): "2"})
	var sums [2][32]byte
	for i, d := range []*DB{a, b} {
		var err error
		if sums[i], err = d.Digest(t.Context(), lead); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] != sums[1] {
		t.Error("the same rows, another digest")
	}
	if list, err := a.Chains(); err != nil || len(list) > 0 {
		t.Errorf("chains %v, %v", list, err)
	}
}

// What Limits promises fits one commit. What does not is refused whole.
func TestWriteFull(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	rows, size, overhead := d.Limits()
	fill := func(n, length int) (list []row) {
		for i := range n {
			list = append(list, row{fmt.Appendf(nil, "r%06d", i), make([]byte, length)})
		}
		return list
	}
	const large = 1000
	most := size / (7 + large + overhead)
	for _, list := range [][]row{fill(rows, 0), fill(most, large)} {
		mustWrite(t, d, list)
		if got := keys(t, snapshot(t, d), "r", false, "r"); len(got) != max(len(list), rows) {
			t.Errorf("%d rows of %d", len(got), len(list))
		}
	}
	version := snapshot(t, d).Version()
	for _, list := range [][]row{fill(rows+1, 0), fill(most+most/50, large), fill(1, 2<<20)} {
		list[0].key = []byte("q")
		if err := d.Write(rowsOf(list)); !errors.Is(err, ErrBatchFull) {
			t.Errorf("%d rows with %d bytes each: %v", len(list), len(list[0].value), err)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", maxKey+1)} {
		if err := d.Write(rowsOf([]row{{[]byte("a"), nil}, {[]byte(key), nil}})); err == nil || errors.Is(err, ErrBatchFull) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	if s := snapshot(t, d); s.Version() != version || len(keys(t, s, "q", false, "q")) > 0 {
		t.Error("rows that were refused made a version")
	}
	// A value for the value log, as far as there is one that fits.
	value := bytes.Repeat([]byte("big"), 1<<20/3+1)
	mustWrite(t, d, []row{{[]byte("v"), value}})
	if found, err := snapshot(t, d).Get([]byte("v"), func(v []byte) error {
		if !bytes.Equal(v, value) {
			return errors.New("another value")
		}
		return nil
	}); err != nil || !found {
		t.Errorf("large value: %v, %v", found, err)
	}
}

// Rows ask for room as a transaction does, and are refused once the database is closed.
func TestWriteRefused(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	var room error
	d := openSmall(t, t.TempDir(), Options{Room: func() error { return room }})
	room = full
	if err := d.Write(rowsOf(series(0, 2, "a"))); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
	room = nil
	if err := errors.Join(d.Write(0, nil), d.Write(rowsOf(series(0, 2, "a")))); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(rowsOf(series(0, 2, "a"))); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// Snapshots never see a part of the rows, whoever commits meanwhile and how, and later
// ones never an older state.
func TestWriteAtOnce(t *testing.T) {
	t.Parallel()
	const writers, readers, rounds, rows = 2, 2, 25, 400
	d := openSmall(t, t.TempDir(), Options{})
	var writing, others sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		writing.Go(func() {
			for n := range rounds {
				var list []row
				for i := range rows {
					r := row{key: fmt.Appendf(nil, "w%d%04d", w, i)}
					if i%rounds != n { // another is not there each time
						r.value = fmt.Appendf(nil, "%06d", n+1)
					}
					list = append(list, r)
				}
				if err := d.Write(rowsOf(list)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Go(func() {
		for n := 0; !stop.Load(); n++ {
			b, err := d.Batch()
			if err == nil {
				err = errors.Join(b.Set([]byte("b1"), strconv.AppendInt(nil, int64(n), 10)), b.Set([]byte("b2"), strconv.AppendInt(nil, int64(n), 10)), b.Commit())
			}
			if _, e := d.Ordinal([32]byte{byte(n % 50)}); err != nil || e != nil {
				t.Error(err, e)
			}
			if err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	for range readers {
		others.Go(func() {
			var version uint64
			var last [writers]string
			for !stop.Load() {
				s, err := d.Snapshot()
				if err != nil {
					t.Error(err)
					return
				}
				if s.Version() < version {
					t.Errorf("version %d after %d", s.Version(), version)
				}
				version = s.Version()
				for w := range writers {
					last[w] = seenWhole(t, s, fmt.Sprintf("w%d", w), rows-rows/rounds, last[w])
				}
				seenWhole(t, s, "b", 2, "")
				s.Close()
				runtime.Gosched()
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	others.Wait()
	s := snapshot(t, d)
	for w := range writers {
		if got := seenWhole(t, s, fmt.Sprintf("w%d", w), rows-rows/rounds, ""); got != fmt.Sprintf("%06d", rounds) {
			t.Errorf("the end is %q", got)
		}
	}
}

// seenWhole checks that a snapshot has either no or n rows with a prefix, all of one value
// that is not below last, and returns it.
func seenWhole(t *testing.T, s *Snapshot, prefix string, n int, last string) string {
	t.Helper()
	r, err := s.Rows([]byte(prefix), false)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Close()
	var values []string
	for r.Seek([]byte(prefix)); r.Valid(); r.Next() {
		if err := r.Value(func(v []byte) error { values = append(values, string(v)); return nil }); err != nil {
			t.Error(err)
		}
	}
	one := slices.Compact(slices.Clone(values))
	if len(values) == 0 && last == "" {
		return ""
	}
	if len(values) != n || len(one) != 1 || one[0] < last {
		t.Errorf("%s: %d rows with the values %q after %q", prefix, len(values), one, last)
		return last
	}
	return one[0]
}
