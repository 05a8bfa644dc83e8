package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quorate/engine/store/oldruns/oldrunstest"
)

// allRows returns the rows of chains, as an iterator and as each of them shows them.
func allRows(t *testing.T, d *DB) (list []string) {
	t.Helper()
	s := snapshot(t, d)
	defer s.Close()
	for _, key := range keys(t, s, "\x40", false, "\x40") {
		found, err := s.Get([]byte(key), func(v []byte) error { list = append(list, key+"="+string(v)); return nil })
		if err != nil || !found {
			t.Errorf("%x: %t, %v", key, found, err)
		}
	}
	return list
}

// oldDB returns the folder of a database in which most rows of the second edition of chain 7
// lie in runs, and all the rows that there are of chains.
func oldDB(t *testing.T, rows int) (dir string, want []string) {
	t.Helper()
	dir = t.TempDir()
	d := openSmall(t, dir, Options{})
	for _, id := range []byte{1, 7} {
		if _, err := d.Ordinal([32]byte{id}); err != nil {
			t.Fatal(err)
		}
	}
	for from := 0; from < rows; from += 1000 {
		var list []change
		for i := from; i < min(from+1000, rows); i++ {
			key := fmt.Appendf(TableKey(nil, 0x40, 1+uint32(i%2), uint8(i%4/2)), "%08d", i)
			list = append(list, change{key, fmt.Append(nil, "value ", i)})
		}
		mustWrite(t, d, list)
	}
	want = allRows(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if moved := oldrunstest.Move(t, dir, 1, func(key []byte) bool { return isOld(key) }); moved < rows/8 {
		t.Fatalf("%d rows lie in runs", moved)
	}
	return dir, want
}

// isOld says of which rows there are some in runs.
func isOld(key []byte) bool { return bytes.HasPrefix(key, TableKey(nil, 0x40, 2, 1)) }

// filesIn returns the names of the runs' files.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, runsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// TestOldRuns: a database with runs is opened by who can make their rows again alone, is told
// of which they are, and has no row of theirs that nothing hides; dropped, they are gone.
func TestOldRuns(t *testing.T) {
	t.Parallel()
	dir, want := oldDB(t, 4000)
	lost, before := errors.New("lost"), filesIn(t, dir)
	for name, c := range map[string]struct {
		opts Options
		want error
	}{
		"nobody makes them again": {Options{}, ErrRuns},
		"they cannot be made again": {Options{Remake: func(id [32]byte, ordinal uint32, edition uint8, get func([]byte) ([]byte, error)) error {
			if id != [32]byte{7} || ordinal != 2 || edition != 1 {
				t.Errorf("chain %x, %d, edition %d", id, ordinal, edition)
			}
			if b, err := get(fmt.Appendf(TableKey(nil, 0x40, 1, 0), "%08d", 0)); string(b) != "value 0" || err != nil {
				t.Errorf("a row: %q, %v", b, err)
			}
			return lost
		}}, lost},
	} {
		if d, err := Open(dir, c.opts); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
			_ = d.Close()
		}
		if now := filesIn(t, dir); len(now) != 2*oldrunstest.Runs || !slices.Equal(now, before) {
			t.Errorf("%s: %q, and %q before", name, now, before)
		}
	}
	d := openSmall(t, dir, Options{Remake: func([32]byte, uint32, uint8, func([]byte) ([]byte, error)) error { return nil }})
	for _, c := range []struct {
		ordinal uint32
		edition uint8
		want    bool
	}{{1, 0, false}, {1, 1, false}, {2, 0, false}, {2, 1, true}} {
		if in, err := d.InRuns(c.ordinal, c.edition); in != c.want || err != nil {
			t.Errorf("chain %d, edition %d: %t, %v", c.ordinal, c.edition, in, err)
		}
	}
	got := allRows(t, d)
	for _, row := range got {
		if !slices.Contains(want, row) {
			t.Errorf("%q is read", row)
		}
	}
	if len(got) < len(want)*3/4 || len(got) == len(want) {
		t.Errorf("%d rows of %d", len(got), len(want))
	}
	if err := d.DropRuns(2, 1); err != nil {
		t.Fatal(err)
	}
	if in, err := d.InRuns(2, 1); in || err != nil {
		t.Error(in, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if now := allRows(t, openSmall(t, dir, Options{})); !slices.Equal(now, got) {
		t.Errorf("%d rows, and %d before", len(now), len(got))
	}
	if _, err := os.Stat(filepath.Join(dir, runsDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestOldRunsCompress: nor is it compressed.
func TestOldRunsCompress(t *testing.T) {
	t.Parallel()
	dir, _ := oldDB(t, 100)
	err := Compress(t.Context(), dir, slog.New(slog.DiscardHandler), func(uint64, uint64) {}, func() error { return nil })
	if !errors.Is(err, ErrRuns) || len(filesIn(t, dir)) == 0 {
		t.Error(err)
	}
}
