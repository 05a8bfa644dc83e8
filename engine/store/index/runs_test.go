package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/store"
)

// keyOf returns the key of a row of a chain's table.
func keyOf(table byte, ordinal uint32, sort string) string {
	return string(TableKey(nil, table, ordinal, 0)) + sort
}

// commitRun commits rows as a run, of which "" removes one, and others beside them.
func commitRun(d *DB, run, beside map[string]string) error {
	b, err := d.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	keys := slices.Collect(maps.Keys(run)) // in any order
	if err := b.Run(len(keys), func(i int) (key, value []byte) {
		if v := run[keys[i]]; v != "" {
			value = []byte(v)
		}
		return []byte(keys[i]), value
	}, len(keys)%2 == 0); err != nil {
		return err
	}
	for k, v := range beside {
		if v == "" {
			err = b.Delete([]byte(k))
		} else {
			err = b.Set([]byte(k), []byte(v))
		}
		if err != nil {
			return err
		}
	}
	return b.Commit()
}

// rowsAt returns the rows below a prefix as an iterator shows them from a key on.
func rowsAt(s *Snapshot, prefix, from string, reverse bool) (list []string, err error) {
	it, err := s.Rows([]byte(prefix), reverse)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Seek([]byte(from)); it.Valid(); it.Next() {
		if err := it.Value(func(v []byte) error {
			list = append(list, string(it.Key())+"="+string(v))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// wantAt is rowsAt of a map.
func wantAt(rows map[string]string, prefix, from string, reverse bool) (list []string) {
	keys := slices.Sorted(maps.Keys(rows))
	if reverse {
		slices.Reverse(keys)
	}
	for _, k := range keys {
		if strings.HasPrefix(k, prefix) && (!reverse && k >= from || reverse && k <= from) {
			list = append(list, k+"="+rows[k])
		}
	}
	return list
}

// world is a database and the rows that it must have, as a map.
type world struct {
	t    *testing.T
	dir  string
	d    *DB
	rnd  *rand.Rand
	rows map[string]string
	old  []*seen // snapshots that are open
}

// seen is a snapshot with the rows that it must have.
type seen struct {
	s    *Snapshot
	rows map[string]string
}

func (w *world) open() {
	w.t.Helper()
	d, err := Open(w.dir, Options{MemTableMB: 8, BlockCacheMB: 4, IndexCacheMB: 4, NoSync: true})
	if err != nil {
		w.t.Fatal(err)
	}
	d.runs.size = 4 << 10 // a run has several files
	w.d = d
}

func (w *world) close() {
	w.t.Helper()
	for _, o := range w.old {
		o.s.Close()
	}
	w.old = nil
	if err := w.d.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// key returns a key of one of few, so that rows are often written again.
func (w *world) key(ordinal uint32) string {
	return keyOf(0x40+byte(w.rnd.IntN(3)), ordinal, fmt.Sprintf("%03d", w.rnd.IntN(300)))
}

func (w *world) value() string {
	switch w.rnd.IntN(5) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("long", w.rnd.IntN(200))
	}
	return fmt.Sprint(w.rnd.Uint64())
}

// change makes n rows of a chain, or of two where both is true.
func (w *world) change(n int, ordinal uint32) map[string]string {
	rows := make(map[string]string)
	for range n {
		rows[w.key(ordinal)] = w.value()
	}
	return rows
}

func (w *world) took(rows map[string]string) {
	for k, v := range rows {
		if w.rows[k] = v; v == "" {
			delete(w.rows, k)
		}
	}
}

// check compares a snapshot with what it must have.
func (w *world) check(o *seen) {
	w.t.Helper()
	for range 20 {
		k := w.key(1 + w.rnd.Uint32N(2))
		var got []byte
		found, err := o.s.Get([]byte(k), func(v []byte) error { got = bytes.Clone(v); return nil })
		want, any := o.rows[k]
		if err != nil || found != any || string(got) != want {
			w.t.Fatalf("%x is %.40q %t (%v), want %.40q %t", k, got, found, err, want, any)
		}
	}
	for range 4 {
		from := w.key(1 + w.rnd.Uint32N(2))
		prefix, reverse := from[:leadLen+w.rnd.IntN(3)], w.rnd.IntN(2) == 0
		if w.rnd.IntN(4) == 0 {
			prefix = from[:w.rnd.IntN(2)]
		}
		got, err := rowsAt(o.s, prefix, from, reverse)
		want := wantAt(o.rows, prefix, from, reverse)
		if prefix == "" { // the database has rows of its own
			got = slices.DeleteFunc(got, func(r string) bool { return r[0] < 0x40 })
		}
		if err != nil || !slices.Equal(got, want) {
			w.t.Fatalf("below %x from %x, reverse %t: %d rows, want %d (%v)", prefix, from, reverse, len(got), len(want), err)
		}
	}
}

// TestRuns: whatever is written in runs, transactions and large commits, merged, dropped
// and opened again, each snapshot has the rows that were there when it was made.
func TestRuns(t *testing.T) {
	t.Parallel()
	seeds := torture.Pick(8, 24)
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, dir: t.TempDir(), rnd: rand.New(rand.NewPCG(seed, 1)), rows: make(map[string]string)}
			w.open()
			merges, drops := 0, 0
			for range 150 {
				w.step(&merges, &drops)
				now := &seen{snapshot(t, w.d), w.rows}
				w.check(now)
				now.s.Close()
				for _, o := range w.old {
					w.check(o)
				}
			}
			w.close()
			if merges == 0 || drops == 0 {
				t.Errorf("%d merges, %d times all runs of a chain were dropped", merges, drops)
			}
		})
	}
}

func (w *world) step(merges, drops *int) {
	w.t.Helper()
	ordinal := 1 + w.rnd.Uint32N(2)
	switch op := w.rnd.IntN(20); {
	case op < 9:
		rows, beside := w.change(1+w.rnd.IntN(400), ordinal), map[string]string{keyOf(0x50, ordinal, ""): fmt.Sprint(w.rnd.Uint64())}
		if err := commitRun(w.d, rows, beside); err != nil {
			w.t.Fatal(err)
		}
		w.took(rows)
		w.took(beside)
	case op < 13:
		rows := w.change(1+w.rnd.IntN(300), ordinal) // of many the rows are put in order
		var list []change
		for k, v := range rows {
			c := change{key: []byte(k)}
			if v != "" {
				c.value = []byte(v)
			}
			list = append(list, c)
		}
		mustWrite(w.t, w.d, list)
		w.took(rows)
	case op < 15:
		merged, err := w.d.mergeSome(true)
		if err != nil {
			w.t.Fatal(err)
		}
		if merged {
			*merges++
		}
	case op < 17:
		w.old = append(w.old, &seen{snapshot(w.t, w.d), maps.Clone(w.rows)})
	case op < 18 && len(w.old) > 0:
		w.old[0].s.Close()
		w.old = w.old[1:]
	case op < 19:
		if w.close(); w.rnd.IntN(6) == 0 {
			compress(w.t, w.dir)
		}
		w.open()
	default:
		w.drop(ordinal)
		*drops++
	}
}

// drop removes all rows of a chain, as an edition of it is removed.
func (w *world) drop(ordinal uint32) {
	w.t.Helper()
	if err := w.d.DropRuns(ordinal, 0); err != nil {
		w.t.Fatal(err)
	}
	s := snapshot(w.t, w.d)
	var list []change
	for _, table := range []byte{0x40, 0x41, 0x42, 0x50} {
		rows, err := rowsAt(s, keyOf(table, ordinal, ""), keyOf(table, ordinal, ""), false)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range rows {
			key, _, _ := strings.Cut(r[leadLen:], "=")
			list = append(list, change{key: []byte(r[:leadLen] + key)})
		}
	}
	s.Close()
	if len(list) > 0 {
		mustWrite(w.t, w.d, list)
	}
	maps.DeleteFunc(w.rows, func(k, _ string) bool {
		s, _ := spaceOf([]byte(k))
		return s == space(ordinal)
	})
}

// filesOf returns the names of the files in a folder of runs.
func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, runsDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// runOf returns the rows of a run from a number to before another.
func runOf(ordinal uint32, from, to int, value string) map[string]string {
	rows := make(map[string]string)
	for i := from; i < to; i++ {
		rows[keyOf(0x40, ordinal, fmt.Sprintf("%06d", i))] = fmt.Sprintf("%s %d", value, i)
	}
	return rows
}

// Files of runs that are merged or dropped go when no snapshot sees them any more; those
// that no commit names go when the database is opened.
func TestRunFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	for i := range 3 {
		if err := commitRun(d, runOf(1, i*100, i*100+100, "x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	s := snapshot(t, d)
	if merged, err := d.mergeSome(true); !merged || err != nil {
		t.Fatal(merged, err)
	}
	if n := len(filesOf(t, dir)); n != 4 {
		t.Errorf("%d files, want those of three runs and the one they were merged to", n)
	}
	s.Close()
	if n := len(filesOf(t, dir)); n != 1 {
		t.Errorf("%d files when nobody sees the old ones any more", n)
	}
	if n, bytes := d.runFigures(); n != 1 || bytes == 0 {
		t.Errorf("%d runs of %d bytes", n, bytes)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(dir, runsDir, "000077.sst")
	for _, name := range []string{"000077.sst", "-1.sst", "18446744073709551615.sst", "others.txt"} {
		if err := os.WriteFile(filepath.Join(dir, runsDir, name), []byte("of a commit that never was"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, runsDir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	d = openSmall(t, dir, Options{})
	if _, err := os.Stat(stray); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that no commit names: %v", err)
	}
	if err := commitRun(d, runOf(1, 0, 100, "y"), nil); err != nil { // of another number
		t.Fatal(err)
	}
	if err := d.DropRuns(1, 0); err != nil {
		t.Fatal(err)
	}
	if names := filesOf(t, dir); !slices.Equal(names, []string{"-1.sst", "18446744073709551615.sst", "lost+found", "others.txt"}) {
		t.Errorf("%q after all runs were dropped", names)
	}
}

// A run goes with a transaction that has no room for more, and a merge that is refused
// leaves no file.
func TestRunRoom(t *testing.T) {
	t.Parallel()
	dir, full := t.TempDir(), errors.New("full")
	refuse := false
	d := openSmall(t, dir, Options{Room: func() error {
		if refuse {
			return full
		}
		return nil
	}})
	b, err := d.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	n := 0
	for ; err == nil; n++ {
		err = b.Set(fmt.Appendf(nil, "\x50\x00\x00\x00\x01%08d", n), make([]byte, 100))
	}
	if !errors.Is(err, ErrBatchFull) || n < 1000 {
		t.Fatal(n, err)
	}
	if err := b.Run(1, func(int) (key, value []byte) { return []byte(keyOf(0x40, 1, "a")), []byte("b") }, false); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	d.runs.size = 4 << 10
	for range 2 {
		if err := commitRun(d, runOf(1, 0, 1000, "x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	before := filesOf(t, dir)
	refuse = true
	if _, err := d.mergeSome(true); !errors.Is(err, full) {
		t.Error(err)
	}
	if now := filesOf(t, dir); !slices.Equal(now, before) {
		t.Errorf("%q, and %q before", now, before)
	}
}

// A database with a run that is missing, cut off or empty is not opened, and the error
// names the file; one whose bytes have changed is found by VerifyFiles.
func TestRunDamaged(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut off": func(path string) error { return os.Truncate(path, 100) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"zeroed":  func(path string) error { return os.WriteFile(path, make([]byte, 5000), 0o600) },
		"garbage": func(path string) error { // at the end of its blocks
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			end := len(b) - 4 // behind the blocks: index | its length | checksum | its length
			end -= int(binary.BigEndian.Uint32(b[end:])) + 4
			end -= int(binary.BigEndian.Uint32(b[end:]))
			copy(b[end-40:end], bytes.Repeat([]byte{0xff}, 40))
			return os.WriteFile(path, b, 0o600)
		},
		"changed": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[100] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := openSmall(t, dir, Options{})
			if err := commitRun(d, runOf(1, 0, 1000, "x"), nil); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := VerifyFiles(dir); err != nil {
				t.Fatalf("while nothing is wrong: %v", err)
			}
			file := filesOf(t, dir)[0]
			if err := spoil(filepath.Join(dir, runsDir, file)); err != nil {
				t.Fatal(err)
			}
			err := VerifyFiles(dir)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(runsDir, file)) {
				t.Errorf("VerifyFiles: %v", err)
			}
			if name == "changed" { // it is found before it is merged
				d := openSmall(t, dir, Options{})
				if err := commitRun(d, runOf(1, 0, 1000, "y"), nil); err != nil {
					t.Fatal(err)
				}
				if _, err := d.mergeSome(true); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("it is merged: %v", err)
				}
				return
			}
			if d, err := Open(dir, Options{}); err == nil {
				t.Error("it opens", d.Close())
			} else if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(runsDir, file)) {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// A run that cannot be written leaves the database as it was, and nothing behind.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{})
	cursor := keyOf(0x50, 1, "")
	if err := commitRun(d, runOf(1, 0, 500, "first"), map[string]string{cursor: "1"}); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(dir, "aside")
	if err := os.Rename(filepath.Join(dir, runsDir), aside); err != nil {
		t.Fatal(err)
	}
	if err := commitRun(d, runOf(1, 0, 500, "second"), map[string]string{cursor: "2"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder for it: %v", err)
	}
	if err := os.Rename(aside, filepath.Join(dir, runsDir)); err != nil {
		t.Fatal(err)
	}
	for _, mixed := range []map[string]string{
		{keyOf(0x40, 1, "a"): "of one chain", keyOf(0x40, 2, "a"): "of another"},
		{"abc": "of none"},
		{"": "of none"},
	} {
		if err := commitRun(d, mixed, nil); err == nil {
			t.Errorf("%q is taken", mixed)
		}
	}
	if n := len(filesOf(t, dir)); n != 1 {
		t.Errorf("%d files", n)
	}
	want := runOf(1, 0, 500, "first")
	want[cursor] = "1"
	s := snapshot(t, d)
	defer s.Close()
	for _, table := range []byte{0x40, 0x50} {
		lead := keyOf(table, 1, "")
		if got, err := rowsAt(s, lead, lead, false); err != nil || !slices.Equal(got, wantAt(want, lead, lead, false)) {
			t.Errorf("table %x: %d rows (%v)", table, len(got), err)
		}
	}
}

// TestRunsAtOnce: writers of several chains, merges and readers at once; whoever reads
// finds the rows of a commit all there or not at all.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	ctx, done := context.WithCancel(t.Context())
	rounds := 150
	if testing.Short() {
		rounds = 15
	}
	var writers, readers sync.WaitGroup
	for ordinal := range uint32(3) {
		cursor := keyOf(0x50, ordinal, "")
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(ordinal), 3))
			for n := range rounds {
				rows := runOf(ordinal, 0, 200, fmt.Sprint(n))
				beside, err := map[string]string{cursor: fmt.Sprint(n)}, error(nil)
				if rnd.IntN(3) > 0 {
					err = commitRun(d, rows, beside)
				} else {
					maps.Copy(rows, beside)
					var list []change
					for k, v := range rows {
						list = append(list, change{[]byte(k), []byte(v)})
					}
					err = tryWrite(d, list)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := wholeAt(d, ordinal, cursor); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for ctx.Err() == nil {
			if _, err := d.mergeSome(true); err != nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Wait()
	done()
	readers.Wait()
}

// wholeAt fails unless all rows of a chain are of the commit that its cursor names.
func wholeAt(d *DB, ordinal uint32, cursor string) error {
	s, err := d.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	n := ""
	found, err := s.Get([]byte(cursor), func(v []byte) error { n = string(v); return nil })
	if err != nil || !found {
		return err
	}
	lead := keyOf(0x40, ordinal, "")
	got, err := rowsAt(s, lead, lead, false)
	if want := runOf(ordinal, 0, 200, n); err == nil && !slices.Equal(got, wantAt(want, lead, lead, false)) {
		err = fmt.Errorf("chain %d at %s: %d rows, of %.60q", ordinal, n, len(got), got)
	}
	return err
}

func TestToMerge(t *testing.T) {
	t.Parallel()
	same := func(n int, size int64) []int64 { return slices.Repeat([]int64{size}, n) }
	for _, c := range []struct {
		name     string
		sizes    []int64
		resting  bool
		from, to int
	}{
		{"none", nil, false, 0, 0},
		{"none at rest", nil, true, 0, 0},
		{"one", []int64{5}, true, 0, 0},
		{"few", same(alike-1, 4), false, 0, 0},
		{"enough", same(alike, 4), false, 0, alike},
		{"behind a large one", append([]int64{1000}, same(alike, 4)...), false, 1, alike + 1},
		{"before a few small ones", append(same(alike, 400), 1, 1), false, 0, alike},
		{"of other sizes", append(same(alike-1, 4), 4*alike), false, 0, 0},
		{"small beside large", []int64{1000, 10}, true, 0, 0},
		{"alike at rest", []int64{1000, 10, 10}, true, 1, 3},
		{"all at rest", []int64{30, 10, 10}, true, 0, 3},
		{"a row of them", []int64{1000, 200, 40, 8}, true, 0, 0},
		{"the last makes them too many", []int64{1000, 200, 40, 11}, true, 0, 4},
	} {
		if from, to := toMerge(c.sizes, c.resting); from != c.from || to != c.to {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, from, to, c.from, c.to)
		}
	}
}
