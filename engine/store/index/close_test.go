package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"quorate/engine/store"
)

// TestCloseFolderGone: Badger repeats the flush of a close for ever when its
// folder is gone. Close does not begin it, and says why.
func TestCloseFolderGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	d, err := Open(dir, Options{MemTableMB: 8, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Batch()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Set([]byte{TableBlocks, 1}, bytes.Repeat([]byte("x"), 1000)), b.Commit()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := d.CloseWithin(time.Minute); !errors.Is(err, store.ErrLeft) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("close without the folder: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := d.Snapshot(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("snapshot after the close: %v", err)
	}
}

// TestCloseHangs: a close whose database is in use for ever ends all the same.
func TestCloseHangs(t *testing.T) {
	t.Parallel()
	d, err := Open(filepath.Join(t.TempDir(), "index"), Options{MemTableMB: 8, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CloseWithin(20 * time.Millisecond); !errors.Is(err, store.ErrLeft) {
		t.Errorf("close of a database in use: %v", err)
	}
	s.Close() // lets the close go on that nobody waits for any more
	for open := true; open; runtime.Gosched() {
		d.mu.Lock() // held during the close
		open = d.db != nil
		d.mu.Unlock()
	}
}
