package primary

import (
	"testing"

	"github.com/holiman/uint256"
)

// TestAppendAVAX: amounts have the digits that they need.
func TestAppendAVAX(t *testing.T) {
	t.Parallel()
	for wei, want := range map[string]string{
		"0": "0", "1": "0.000000000000000001", "1000000000000000000": "1", "12345600000000000000": "12.3456",
		"454257251714986502600000000": "454257251.7149865026", "100000000000000000": "0.1",
	} {
		if got := string(appendAVAX(nil, uint256.MustFromDecimal(wei))); got != want {
			t.Errorf("%s wei are %s AVAX, want %s", wei, got, want)
		}
	}
}
