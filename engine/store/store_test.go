package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Log{log: slog.New(slog.NewTextHandler(&out, nil))}
	l.Warningf("low on %s\n", "space")
	l.Infof("chatter")
	l.Debugf("more")
	if s := out.String(); !strings.Contains(s, `level=WARN msg="badger: low on space"`) || strings.Count(s, "\n") != 1 {
		t.Errorf("got %q", s)
	}
}

// TestCloseHangs: a close that does not end is left, with the last error of Badger,
// which repeats what failed.
func TestCloseHangs(t *testing.T) {
	t.Parallel()
	log := &Log{log: slog.New(slog.DiscardHandler)}
	c := NewCloser(badger.DefaultOptions(t.TempDir()), log)
	log.Errorf("error flushing memtable to disk: %s, retrying", "broken disk")
	release := make(chan struct{})
	defer close(release)
	err := c.Close(20*time.Millisecond, func() error { <-release; return nil })
	if !errors.Is(err, ErrLeft) || !strings.Contains(err.Error(), "broken disk, retrying") {
		t.Errorf("got %v", err)
	}
	if err := c.Close(time.Minute, nil); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// TestWritable: the look at a folder leaves nothing behind.
func TestWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writable(dir, 1<<20); err != nil {
		t.Error(err)
	}
	if err := writable(dir, 1<<60); err == nil {
		t.Error("there is room for an exabyte")
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) > 0 {
		t.Errorf("%d files are left behind, %v", len(list), err)
	}
}

// TestOpenSmaller: a database that was killed with large tables in memory opens with
// small ones, and has lost nothing.
func TestOpenSmaller(t *testing.T) {
	t.Parallel()
	sized := func(dir string, size int64) badger.Options {
		return badger.DefaultOptions(dir).WithMemTableSize(size).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20)
	}
	dir, killed := t.TempDir(), t.TempDir()
	db, _, err := Open(sized(dir, 8<<20), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows := 20_000 // of some 60 bytes in memory each
	w := db.NewWriteBatch()
	for i := range rows {
		if err := w.Set(binary.BigEndian.AppendUint32(nil, uint32(i)), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time as usual
		small, _, err := Open(sized(killed, 256<<10), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		err = small.View(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.DefaultIteratorOptions)
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				found++
			}
			return nil
		})
		if err := errors.Join(err, small.Close()); err != nil || found != rows {
			t.Fatalf("%d rows of %d, %v", found, rows, err)
		}
	}
}

// TestLockOfChild: a folder that a child holds for a moment, which was started while the
// folder was open, is waited for; one that is held for longer is said to be in use.
func TestLockOfChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(badger.DefaultOptions(dir).WithMemTableSize(1<<20).WithValueThreshold(1<<10), slog.New(slog.DiscardHandler)); !errors.Is(err, ErrInUse) {
		t.Errorf("a folder that is held: %v", err)
	}
	ended := make(chan error)
	go func() {
		<-time.After(50 * time.Millisecond)
		ended <- f.Close()
	}()
	db, _, err := Open(badger.DefaultOptions(dir).WithMemTableSize(1<<20).WithValueThreshold(1<<10), slog.New(slog.DiscardHandler))
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
