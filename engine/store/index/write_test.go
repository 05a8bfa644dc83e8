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

	"quorate/engine/metric"
)

// series returns the rows from a number to before another; a value of "" removes them.
func series(from, to int, value string) (list []change) {
	for i := from; i < to; i++ {
		r := change{key: fmt.Appendf(nil, "r%06d", i)}
		if value != "" {
			r.value = fmt.Appendf(nil, "%s %d", value, i)
		}
		list = append(list, r)
	}
	return list
}

func tryWrite(d *DB, list []change) error {
	b, err := d.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	for _, r := range list {
		if err := b.put(r.key, r.value); err != nil {
			return err
		}
	}
	return b.Commit()
}

func mustWrite(t testing.TB, d *DB, list []change) {
	t.Helper()
	if err := tryWrite(d, list); err != nil {
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
	mustWrite(t, d, append(series(40, 50, ""), change{key: []byte("r000050"), value: []byte{}}))
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

// Of several rows with one key the last counts, as in a transaction; the slices of the
// caller stay as they are.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	var list []change
	for i, value := range []string{"1", "2", "", "3", "", "4", ""} {
		r := change{key: []byte{'r', byte('a' + 5*i%3)}}
		if value != "" {
			r.value = []byte(value)
		}
		list = append(list, r)
	}
	list = append(list, change{[]byte("long key that begins like this"), []byte("5")}, change{[]byte("long key that begins like that"), []byte("6")})
	mustWrite(t, d, list)
	want := map[string]string{}
	for _, r := range list {
		if delete(want, string(r.key)); r.value != nil {
			want[string(r.key)] = string(r.value)
		}
	}
	s := snapshot(t, d)
	for _, r := range list {
		got := ""
		found, err := s.Get(r.key, func(v []byte) error { got = string(v); return nil })
		if value, ok := want[string(r.key)]; err != nil || found != ok || got != value {
			t.Errorf("%q is %q, %v, %v; want %q", r.key, got, found, err, value)
		}
	}
}

// Values for the value log go with the others, and are there after the database was opened
// again.
func TestWriteLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	value := bytes.Repeat([]byte("big"), largeValue)
	mustWrite(t, d, []change{{[]byte("v3"), value}, {[]byte("v1"), []byte("small")}, {[]byte("v2"), value}})
	for range 2 {
		s := snapshot(t, d)
		for key, want := range map[string][]byte{"v1": []byte("small"), "v2": value, "v3": value} {
			if found, err := s.Get([]byte(key), func(v []byte) error {
				if !bytes.Equal(v, want) {
					return errors.New("another value")
				}
				return nil
			}); err != nil || !found {
				t.Errorf("%s: %v, %v", key, found, err)
			}
		}
		s.Close()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = openSmall(t, dir, Options{})
	}
}

// Keys that Badger does not take are refused before anything is written.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	for _, key := range []string{"", strings.Repeat("k", maxKey+1), badgerPrefix + "txn"} {
		list := append(series(0, 5, "a"), change{[]byte(key), nil})
		if err := tryWrite(d, list); err == nil || errors.Is(err, ErrBatchFull) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	if got := keys(t, snapshot(t, d), "r", false, "r"); len(got) > 0 {
		t.Errorf("%q are there", got)
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
				var list []change
				for i := range rows {
					r := change{key: fmt.Appendf(nil, "w%d%04d", w, i)}
					if i%rounds != n { // another is not there each time
						r.value = fmt.Appendf(nil, "%06d", n+1)
					}
					list = append(list, r)
				}
				if err := tryWrite(d, list); err != nil {
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
