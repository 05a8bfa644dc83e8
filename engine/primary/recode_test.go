package primary

import (
	"bytes"
	"testing"
)

// TestRecode: the containers of a real network and those that avalanchego's packages made
// are encoded again as they were.
func TestRecode(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		if got, err := Recode(e.kind, e.raw); err != nil || !bytes.Equal(got, e.raw) {
			t.Errorf("%s: %x is written as %x, %v", e.name, e.raw, got, err)
		}
	}
}
