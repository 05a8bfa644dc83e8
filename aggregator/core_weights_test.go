package aggregator

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// Honest voters of any weights that sum up to at most 2^64-1 reach every quorum and
// buffer, whatever the margin, without any time passing.
func TestWeightsUpToTheLargest(t *testing.T) {
	const week = 7 * 24 * time.Hour
	f := func(weights []uint64, quorum, buffer, margin int) {
		t.Helper()
		sum, order := new(big.Int), make([]int32, len(weights))
		for i, w := range weights {
			order[i] = int32(i)
			sum.Add(sum, new(big.Int).SetUint64(w))
		}
		c := newCore(Timing{
			MarginPercent: margin, Window: week, AskTimeout: week, ConnectWait: week,
		}, sum.Uint64(), weights, order)
		c.join(0, quorum, buffer, week)
		signed := new(big.Int)
		for range 2*len(weights) + 2 {
			c.advance(0)
			if len(c.results) == 1 {
				least := new(big.Int).Mul(sum, big.NewInt(int64(quorum+buffer)))
				if !c.results[0].ok || new(big.Int).Mul(signed, big.NewInt(100)).Cmp(least) < 0 {
					t.Errorf("%d of %d, %d+%d%%, margin %d: %+v with %d", weights, sum, quorum, buffer, margin, c.results, signed)
				}
				return
			}
			if c.check {
				c.checked(true, nil)
			}
			for _, i := range c.asks {
				c.answer(int(i))
				signed.Add(signed, new(big.Int).SetUint64(weights[i]))
			}
		}
		t.Errorf("%d of %d, %d+%d%%, margin %d: no end, %d signed", weights, sum, quorum, buffer, margin, signed)
	}
	const fifth = 3_200_000_000_000_000_000
	equal := []uint64{fifth, fifth, fifth, fifth, fifth}
	f(equal, 67, 33, 10)
	f(equal, 100, 0, 10)
	f([]uint64{math.MaxUint64}, 100, 0, 100)
	f([]uint64{math.MaxUint64 - 1, 1}, 100, 0, 50)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		left := uint64(math.MaxUint64)
		weights := make([]uint64, 0, 12)
		for range rng.IntN(11) {
			w := min(left, rng.Uint64()>>rng.IntN(8)/4)
			weights, left = append(weights, w), left-w
		}
		if left > 0 && (len(weights) == 0 || rng.IntN(2) == 0) {
			weights = append(weights, left) // the sum is exactly 2^64-1
		}
		quorum := rng.IntN(101)
		f(weights, quorum, rng.IntN(101-quorum), rng.IntN(101))
	}
}
