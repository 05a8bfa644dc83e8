package primary

import (
	"math"
	"testing"

	"quorate/engine/primary/pchain"
)

// TestTotalStakeDoesNotWrap: weights of a subnet are its owner's choice.
func TestTotalStakeDoesNotWrap(t *testing.T) {
	t.Parallel()
	for _, f := range []struct{ validators, delegators, want uint64 }{
		{3, 4, 7}, {math.MaxUint64, 0, math.MaxUint64}, {math.MaxUint64, 1, math.MaxUint64}, {1 << 63, 1 << 63, math.MaxUint64}, {math.MaxUint64, math.MaxUint64, math.MaxUint64},
	} {
		sums := &pchain.Sums{ValidatorWeight: f.validators, DelegatorWeight: f.delegators}
		for _, m := range stakingMetrics {
			if got := m.of(sums); m.name == "totalStake" && got != f.want {
				t.Errorf("%+v: %d", f, got)
			}
		}
	}
}
