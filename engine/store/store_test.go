package store

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
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
