package engine

import (
	"errors"
	"os"
	"testing"
)

func TestFreeSpace(t *testing.T) {
	t.Parallel()
	free, total, err := freeSpace(t.TempDir())
	if err != nil || total == 0 || free > total {
		t.Errorf("%d of %d bytes, %v", free, total, err)
	}
	if _, _, err := freeSpace(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestNoRoom: without room nothing reaches a database; the nil ones here would panic.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	none := func() error { return full }
	if err := (roomyResults{nil, none}).Put(t.Context(), nil, nil); !errors.Is(err, full) {
		t.Errorf("results: %v", err)
	}
}
