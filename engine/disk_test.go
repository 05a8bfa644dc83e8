package engine

import (
	"errors"
	"testing"
)

// TestNoRoom: without room nothing reaches a database; the nil ones here would panic.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	none := func() error { return full }
	if err := (roomyResults{nil, none}).Put(t.Context(), nil, nil); !errors.Is(err, full) {
		t.Errorf("results: %v", err)
	}
}
