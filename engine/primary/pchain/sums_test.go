package pchain

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"quorate/engine/chain"
)

// heavy returns a weight of any size up to the highest.
func heavy(rng *rand.Rand) uint64 {
	if rng.IntN(4) == 0 {
		return math.MaxUint64 - rng.Uint64N(3)
	}
	return rng.Uint64() >> rng.IntN(64)
}

// shown is a sum as readers have it.
func shown(sum *big.Int) uint64 {
	if !sum.IsUint64() {
		return math.MaxUint64
	}
	return sum.Uint64()
}

// TestSumsDoNotWrap: the owner of a subnet chooses the weights of its validators. What they
// sum up to is never shown as less than it is, and is exact again once it fits.
func TestSumsDoNotWrap(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	subnet := chain.ID{1}
	for range 200 {
		m := &machine{sums: []subnetSums{{subnet: subnet}}}
		var stakes []uint64
		want := new(big.Int)
		check := func() {
			t.Helper()
			got, err := shownSums(m.sums[0].encode(nil))
			if err != nil || got != (Sums{Delegators: uint64(len(stakes)), DelegatorWeight: shown(want)}) {
				t.Fatalf("%+v, %v; want %v", got, err, want)
			}
			if m.sums[0].Sums, err = decodeSums(m.sums[0].encode(nil)); err != nil { // as the next block reads it
				t.Fatal(err)
			}
		}
		for range 20 {
			w := heavy(rng)
			if err := m.count(subnet, true, w, 1); err != nil {
				t.Fatal(err)
			}
			stakes = append(stakes, w)
			want.Add(want, new(big.Int).SetUint64(w))
			check()
		}
		for len(stakes) > 0 {
			last := stakes[len(stakes)-1]
			stakes = stakes[:len(stakes)-1]
			if err := m.count(subnet, true, last, fewer); err != nil {
				t.Fatal(err)
			}
			want.Sub(want, new(big.Int).SetUint64(last))
			check()
		}
	}
}

// TestMembersDoNotWrap: L1 validators out of balance are one member, whatever they weigh.
func TestMembersDoNotWrap(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		set, want := map[string]*member{}, new(big.Int)
		for i := range 8 {
			w := heavy(rng)
			set[string(append(make([]byte, chain.IDLen-1), byte(i)))] = &member{Weight: w, Inactive: true}
			want.Add(want, new(big.Int).SetUint64(w))
		}
		if list := membersOf(set); len(list) != 1 || list[0].Weight != shown(want) {
			t.Fatalf("%+v, want %v", list, want)
		}
	}
}
