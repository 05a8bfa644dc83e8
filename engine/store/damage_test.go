package store

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestOpenDamaged: a database whose files were cut off, changed or lost is refused with
// the name of the file. Badger's own goroutines panic at some of these, and at a lost
// manifest it deletes all tables.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	opts := badger.DefaultOptions(t.TempDir()).WithMemTableSize(1 << 20).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20)
	quiet := slog.New(slog.DiscardHandler)
	db, _, err := Open(opts, quiet)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(txn *badger.Txn) error { return txn.Set([]byte("key"), []byte("value")) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(opts.Dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	f := func(name, path string, change func(b []byte) []byte) {
		t.Helper()
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bad := change(bytes.Clone(good)); bad == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, bad, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Open(opts, quiet)
		if !errors.Is(err, ErrDamaged) || !bytes.Contains([]byte(err.Error()), []byte(filepath.Base(path))) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := tables[0]
	f("cut off", table, func(b []byte) []byte { return b[:len(b)/2] })
	f("three bytes", table, func(b []byte) []byte { return b[:3] })
	f("empty", table, func(b []byte) []byte { return b[:0] })
	f("zeros", table, func(b []byte) []byte { return make([]byte, len(b)) })
	f("longer", table, func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xff}, 100)...) })
	f("zeros at the end", table, func(b []byte) []byte { return append(b, make([]byte, 4096)...) })
	f("lost", table, func([]byte) []byte { return nil })
	f("no manifest", filepath.Join(opts.Dir, badger.ManifestFilename), func([]byte) []byte { return nil })

	if db, _, err = Open(opts, quiet); err != nil {
		t.Fatal(err)
	}
	if err := CheckFiles(opts); err != nil {
		t.Errorf("a database that is open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
