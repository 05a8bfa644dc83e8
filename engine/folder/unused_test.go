package folder

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"quorate/engine/store"
)

// TestCheckUnused: a folder that somebody holds is in use, and one that is let go in a moment
// is not: a process that has just closed it may have started a child, which holds the lock
// until it runs its own program.
func TestCheckUnused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held := filepath.Join(dir, IndexDir)
	if err := os.Mkdir(held, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if err := CheckUnused(dir); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a folder that is held: %v", err)
	}
	ended := make(chan error)
	go func() {
		<-time.After(50 * time.Millisecond)
		ended <- f.Close()
	}()
	if err := errors.Join(CheckUnused(dir), <-ended); err != nil {
		t.Error(err)
	}
}
