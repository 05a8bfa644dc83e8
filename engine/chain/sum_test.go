package chain

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestAddSaturated holds sums against those without a bound.
func TestAddSaturated(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	edges := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1}
	pick := func() uint64 {
		if n := rng.IntN(2 * len(edges)); n < len(edges) {
			return edges[n]
		}
		return rng.Uint64() >> rng.IntN(64)
	}
	most := new(big.Int).SetUint64(math.MaxUint64)
	for range 10_000 {
		a, b := pick(), pick()
		want := new(big.Int).Add(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		if want.Cmp(most) > 0 {
			want = most
		}
		if got := AddSaturated(a, b); got != want.Uint64() {
			t.Fatalf("%d + %d: %d, want %d", a, b, got, want)
		}
	}
}
