package index

import (
	"errors"
	"fmt"
	"testing"

	"quorate/engine/store"
)

// sorted loads rows that are in the order of their keys.
func sorted(t *testing.T, d *DB, from, to int, value string) {
	t.Helper()
	if err := d.Load(to-from, func(i int) (k, v []byte) {
		return fmt.Appendf(nil, "r%06d", from+i), fmt.Appendf(nil, "%s %d", value, from+i)
	}); err != nil {
		t.Fatal(err)
	}
}

// holds fails unless the database has exactly the rows from 0 on that want names.
func holds(t *testing.T, d *DB, n int, want func(i int) string) {
	t.Helper()
	s := snapshot(t, d)
	defer s.Close()
	r, err := s.Rows([]byte("r"), false)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for r.Seek([]byte("r")); r.Valid(); r.Next() {
		for ; i < n && want(i) == ""; i++ { // not there
		}
		if err := r.Value(func(v []byte) error {
			if k := fmt.Sprintf("r%06d", i); string(r.Key()) != k || string(v) != want(i) {
				return fmt.Errorf("row %s is %q, want %s with %q", r.Key(), v, k, want(i))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(r.Key(), func(v []byte) error {
			if string(v) != want(i) {
				return fmt.Errorf("%s is %q by itself, want %q", r.Key(), v, want(i))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for ; i < n && want(i) == ""; i++ {
	}
	if i != n {
		t.Fatalf("%d rows, want %d", i, n)
	}
}

// Rows that were loaded are seen from the next commit on, take the place of older ones,
// removed ones too, give way to younger ones, and are there after the database was opened again. There are more than
// fit a transaction.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	most, _, _ := d.Limits()
	n := most + most/2
	write(t, d, map[string]string{"r000001": "old", "r000002": "old", "r000003": "old"})
	b, err := d.Batch()
	if err == nil {
		err = errors.Join(b.Delete([]byte("r000002")), b.Commit())
	}
	if err != nil {
		t.Fatal(err)
	}
	sorted(t, d, 1, n, "first")
	write(t, d, map[string]string{"r000000": "committed", "r000003": "committed"})
	sorted(t, d, 5, n/2, "second") // after a commit, which makes it younger
	holds(t, d, n, func(i int) string {
		if i == 0 || i == 3 {
			return "committed"
		}
		return fmt.Sprintf("first %d", i) // until the next commit
	})
	write(t, d, map[string]string{"other": "row"})
	want := func(i int) string {
		switch {
		case i == 0 || i == 3:
			return "committed"
		case i >= 5 && i < n/2:
			return fmt.Sprintf("second %d", i)
		}
		return fmt.Sprintf("first %d", i)
	}
	holds(t, d, n, want)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := openSmall(t, dir, Options{})
	holds(t, again, n, want)
	sorted(t, again, 4, 5, "third")
	b, err = again.Batch()
	if err == nil {
		err = errors.Join(b.Delete([]byte("r000006")), b.Commit())
	}
	if err != nil {
		t.Fatal(err)
	}
	holds(t, again, n, func(i int) string {
		switch i {
		case 4:
			return "third 4"
		case 6:
			return ""
		}
		return want(i)
	})
}

// A load asks for room as a transaction does, and fails once the database is closed.
func TestLoadRefused(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	var room error
	d := openSmall(t, t.TempDir(), Options{Room: func() error { return room }})
	small := func(int) (k, v []byte) { return []byte("a"), []byte{1} }
	room = full
	if err := d.Load(1, small); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
	room = nil
	if err := errors.Join(d.Load(0, nil), d.Load(1, small)); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Load(1, small); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
