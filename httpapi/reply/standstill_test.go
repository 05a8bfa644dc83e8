package reply

import (
	"errors"
	"fmt"
	"testing"

	"quorate/engine/ingest"
	nodes "quorate/engine/source"
)

// TestStandstill: a node that answers is not said to be silent.
func TestStandstill(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"its node does not answer":                                        fmt.Errorf("fetch block 7: %w", nodes.ErrTimeout),
		"what its node answers cannot be used by this release of Quorate": fmt.Errorf("fetch block 7: %w: the receipts use 25000 gas", nodes.ErrBadAnswer),
		"its index stands before block 7, which this release of Quorate cannot read": fmt.Errorf("fetch block 7: %w",
			errors.Join(ingest.ErrNotFound, &ingest.UnreadableError{Height: 7, Err: errors.New("type not allowed: 99")})),
	} {
		if got := Standstill(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
