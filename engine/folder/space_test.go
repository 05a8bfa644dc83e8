package folder

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestFreeSpace(t *testing.T) {
	t.Parallel()
	free, total, err := Space(t.TempDir())
	if err != nil || total == 0 || free > total {
		t.Errorf("%d of %d bytes, %v", free, total, err)
	}
	if _, _, err := Space(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestFolderRoom: what little space does to a server is said before it starts.
func TestFolderRoom(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, c := range []struct {
		free, total  uint64
		start, serve string
	}{
		{10 << 20, gib, "needed to start", "nothing is written"},
		{100 << 20, gib, "", "nothing is written"},
		{300 << 20, gib, "", "health fails"},
		{20 * gib, 1000 * gib, "", "health fails"},
		{40 * gib, 1000 * gib, "", ""},
	} {
		start, serve := (&State{Free: c.free, Total: c.total}).Room()
		if !says(start, c.start) || !says(serve, c.serve) {
			t.Errorf("%d of %d: %v, %v", c.free, c.total, start, serve)
		}
	}
}

// says reports whether err has the text; empty for none.
func says(err error, text string) bool {
	if text == "" || err == nil {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}
