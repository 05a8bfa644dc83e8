package follow

import (
	"errors"
	"testing"

	"quorate/engine/index"
)

// TestNoRoom: without room nothing reaches the index; the nil one here would panic.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if err := (roomySink{index.Sink{}, func() error { return full }}).Commit(t.Context(), nil); !errors.Is(err, full) {
		t.Error(err)
	}
}
