package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// cutDB is a folder as a database that runs has it, with one log of rows.
type cutDB struct {
	files map[string][]byte
	log   string
}

// copyOf reads the folder of an open database, but for its value log, and returns what of
// the log of rows is written.
func copyOf(t *testing.T, dir string) (c cutDB, used int) {
	t.Helper()
	c.files = make(map[string][]byte)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		switch filepath.Ext(f.Name()) {
		case ".vlog", ".sst":
			continue
		}
		if f.Name() == "LOCK" || f.IsDir() { // it has no runs
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(f.Name()) == ".mem" {
			if c.log != "" {
				t.Fatal("two logs of rows")
			}
			c.log, used = f.Name(), len(bytes.TrimRight(b, "\x00"))
			b = b[:used+64] // what comes behind is zero
		}
		c.files[f.Name()] = b
	}
	return c, used
}

// open opens a copy of the folder whose log of rows is another, with as small tables as
// there are: the marks of the log are the same with all of them.
func (c *cutDB) open(t *testing.T, log []byte) *badger.DB {
	t.Helper()
	dir := t.TempDir()
	for name, b := range c.files {
		if name == c.log {
			b = log
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{NoSync: true}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	db, err := badger.Open(settings(dir, &o).WithMemTableSize(1 << 20).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20).WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// valuesOf returns what is under keys, nil where nothing is.
func valuesOf(t *testing.T, db *badger.DB, keys [][]byte) (list [][]byte) {
	t.Helper()
	if err := db.View(func(txn *badger.Txn) error {
		for _, k := range keys {
			item, err := txn.Get(k)
			if errors.Is(err, badger.ErrKeyNotFound) {
				list = append(list, nil)
				continue
			}
			if err != nil {
				return err
			}
			v, err := item.ValueCopy(nil)
			if err != nil {
				return err
			}
			list = append(list, append([]byte{}, v...))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// A database whose log ends anywhere in the rows of a large commit, as after a crash, has
// all of them or none, and all from before; what is written then is there like ever.
// Badger's marks are not documented: with another version of Badger this finds out whether
// they mean the same.
func TestWriteCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		rows, step int
	}{{"at each byte", 5, 1}, {"of many rows", 3000, 9973}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cutAll(t, c.rows, c.step)
		})
	}
}

func cutAll(t *testing.T, n, step int) {
	dir := t.TempDir()
	d := openSorted(t, dir, Options{})
	write(t, d, map[string]string{"a": "kept", "r000000": "old 0", "r000001": "old 1", "r000003": "old 3"})
	_, from := copyOf(t, dir)
	list := series(0, n, "new")
	list[1].value = nil // removed
	mustWrite(t, d, list)
	whole, to := copyOf(t, dir)
	keys, before, after := [][]byte{[]byte("a")}, [][]byte{[]byte("kept")}, [][]byte{[]byte("kept")}
	for i, r := range list {
		var old []byte
		if i == 0 || i == 1 || i == 3 {
			old = fmt.Appendf(nil, "old %d", i)
		}
		keys, before, after = append(keys, r.key), append(before, old), append(after, r.value)
	}
	log := whole.files[whole.log]
	all, none := 0, 0
	try := func(what string, log []byte) {
		t.Helper()
		db := whole.open(t, log)
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		switch got := valuesOf(t, db, keys); {
		case same(got, after):
			all++
		case same(got, before):
			none++
		default:
			t.Fatalf("%s: a part of the rows is there: %.200q", what, got)
		}
	}
	for end := from; end <= to; end += step {
		torn := make([]byte, len(log))
		copy(torn, log[:end])
		try(fmt.Sprintf("a log of %d bytes", end), torn)
	}
	if none == 0 || step == 1 && all == 0 {
		t.Errorf("%d times all rows, %d times none", all, none)
	}
	// Pages of a file come to the disk in any order.
	for page := (from + 4095) / 4096; step > 1 && page < to/4096-1; page += 7 {
		torn := bytes.Clone(log)
		clear(torn[page*4096 : (page+1)*4096])
		was := all
		if try("without page "+strconv.Itoa(page), torn); all > was {
			t.Errorf("all rows are there without page %d", page)
		}
	}
	try("the whole log", log)
	if all == 0 {
		t.Error("no rows are there with the whole log")
	}
}

func same(a, b [][]byte) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) || !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// After a crash in the midst of a large commit the next ones and the next transactions are as ever,
// also when the database is opened again.
func TestWriteAfterCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSorted(t, dir, Options{})
	mustWrite(t, d, series(0, 500, "first"))
	_, from := copyOf(t, dir)
	mustWrite(t, d, series(0, 500, "lost"))
	c, to := copyOf(t, dir)
	torn := t.TempDir()
	for name, b := range c.files {
		if name == c.log {
			b = b[:(from+to)/2]
		}
		if err := os.WriteFile(filepath.Join(torn, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(i int) string { return fmt.Sprintf("first %d", i) }
	for range 2 {
		d := openSorted(t, torn, Options{})
		holds(t, d, 500, want)
		mustWrite(t, d, series(100, 200, "second"))
		write(t, d, map[string]string{"r000300": "third"})
		want = func(i int) string {
			switch {
			case i >= 100 && i < 200:
				return fmt.Sprintf("second %d", i)
			case i == 300:
				return "third"
			}
			return fmt.Sprintf("first %d", i)
		}
		holds(t, d, 500, want)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
