package aggregator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/metric"
)

// zipf returns n weights that fall as 1/rank, as stake does.
func zipf(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(1_000_000 / (i + 1))
	}
	return out
}

// leastSigners returns how many of the given weights it takes at least to reach want, by
// counting from the heaviest.
func leastSigners(weights []uint64, want uint64) int {
	weights = slices.Sorted(slices.Values(weights))
	slices.Reverse(weights)
	n := 0
	for have := uint64(0); have < want; n++ {
		have += weights[n]
	}
	return n
}

// TestFewestSigners: an answer has no more signers than it takes of those who had
// answered, for every share of sets of usual sizes; when it is asked for again, also
// after somebody has asked for more, and when some keep silent.
func TestFewestSigners(t *testing.T) {
	for _, n := range []int{5, 100, torture.Pick(200, 1000)} {
		for name, weights := range map[string][]uint64{"equal": equal(n), "zipf": zipf(n)} {
			for _, silent := range []int{0, 15} { // percent
				t.Run(fmt.Sprint(name, n, " silent", silent), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { fewestSigners(t, weights, silent) })
				})
			}
		}
	}
}

func fewestSigners(t *testing.T, weights []uint64, silent int) {
	peers, rng := newFakePeers(weights...), rand.New(rand.NewPCG(uint64(len(weights)), uint64(silent)))
	for place, i := range rng.Perm(len(weights)) { // no two at the same time
		peers.vals[i].set(after(10*time.Millisecond+time.Duration(place)*time.Microsecond, signs))
		if i >= 3 && rng.IntN(100) < silent {
			peers.vals[i].set(keepsSilent)
		}
	}
	b := newBed(t, peers, nil)
	i := 0
	for _, quorum := range []int{34, 67, 99} {
		for _, buffer := range []int{0, 1} {
			if silent > 0 && quorum > 67 {
				continue
			}
			i++
			fresh := b.fewest(t, "fresh", i, quorum, buffer)
			b.fewest(t, "repeated", i, quorum, buffer)
			if silent == 0 {
				b.want(t, request(t, i, 99, 0))
				if _, signers := b.want(t, request(t, i, quorum, buffer)); signers != fresh {
					t.Errorf("%d+%d%%: %d signers after another has asked for 99%%, %d before", quorum, buffer, signers, fresh)
				}
				b.want(t, request(t, -i, 99, 0))
				b.fewest(t, "after more", -i, quorum, buffer)
			}
			synctest.Wait()
		}
	}
	b.stop()
}

// fewest asks for a message and holds its signers against the fewest of those who had answered.
func (b *bed) fewest(t *testing.T, what string, i, quorum, buffer int) (signers int) {
	t.Helper()
	res, signers := b.want(t, request(t, i, quorum, buffer))
	set := b.sets.set.Load()
	m, err := warp.ParseSigned(res.Signed)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := warp.BitsFromSigners(m.Signers, len(set.Validators))
	synctest.Wait() // a collection keeps its signatures a moment after its answer
	known := make(map[[bls.PublicKeyLen]byte]bool)
	for _, p := range b.results.getParts(message(t, i).ID()) {
		known[p.key] = true
	}
	var weights []uint64
	for k := range set.Validators {
		if v := &set.Validators[k]; in.Has(k) || known[v.Key.Compressed()] {
			weights = append(weights, v.Weight)
		}
	}
	if least := leastSigners(weights, need(set.TotalWeight, quorum+buffer)); signers > least {
		t.Errorf("%s, %d+%d%%: %d signers, %d would do", what, quorum, buffer, signers, least)
	}
	return signers
}

// TestOtherHeights: where it is not known at which height a message is going to be
// checked, its signers are a quorum at each that is kept, if those who have answered can
// be; where they cannot, it is counted.
func TestOtherHeights(t *testing.T) {
	synctest.Test(t, otherHeights) // where nobody is late
}

func otherHeights(t *testing.T) {
	peers := newFakePeers(40, 30, 20, 10, 10)
	before := newFakePeers(10, 10, 10, 40, 40).validatorSet(t, 6) // the same keys
	fewer, err := valset.New(chain.PrimaryNetworkID, 5, peers.members()[:4], nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics := metric.NewSet()
	b := newBed(t, peers, func(c *Config) { c.Metrics = metrics })
	narrow := func() float64 { return metrics.Value("quorate_aggregator_narrow_total") }
	if _, signers := b.want(t, request(t, 1, 60, 0)); signers != 2 {
		t.Errorf("%d signers for one height", signers)
	}
	b.sets.beside = []*valset.Set{before}
	b.want(t, request(t, 2, 100, 0))
	synctest.Wait() // a collection keeps its signatures a moment after its answer
	for _, quorum := range []int{34, 60, 67} {
		res, signers := b.want(t, request(t, 2, quorum, 0))
		verified(t, before, res.Signed, quorum)
		if signers == 5 {
			t.Errorf("%d%%: all of them", quorum)
		}
	}
	if narrow() != 0 {
		t.Errorf("%v answers are no quorum at both heights", narrow())
	}
	// As far as it costs no question: the two who have the weight there are not asked.
	b.want(t, request(t, 9, 60, 0))
	if narrow() != 1 {
		t.Errorf("%v answers are no quorum at both heights, want 1", narrow())
	}
	b.sets.beside = []*valset.Set{fewer} // whose signer bits mean others
	b.want(t, request(t, 10, 60, 0))
	if narrow() != 2 {
		t.Errorf("%v answers are no quorum at both heights, want 2", narrow())
	}
	if given, least := metrics.Value("quorate_aggregator_signers_total"), metrics.Value("quorate_aggregator_fewest_signers_total"); given == 0 || least == 0 {
		t.Errorf("%v signers were given, %v would have done", given, least)
	}
	b.stop()
}

// TestFewestOfAny: of candidates of any weights up to the largest no smaller set reaches
// what is aimed at, and where the candidates can be a quorum beside, the chosen are.
func TestFewestOfAny(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		n := 1 + rng.IntN(12)
		weights, there := make([]uint64, n), weighing{weights: make([]uint64, n)}
		var total uint64
		for i := range weights {
			weights[i] = rng.Uint64N(math.MaxUint64/uint64(n)) >> rng.IntN(60)
			there.weights[i] = rng.Uint64N(math.MaxUint64/uint64(n)) >> rng.IntN(60)
			total, there.total = total+weights[i], there.total+there.weights[i]
		}
		var candidates []int32
		var have uint64
		for i := range weights {
			if rng.IntN(3) > 0 {
				candidates, have = append(candidates, int32(i)), have+weights[i]
			}
		}
		if have == 0 {
			continue
		}
		percent := rng.IntN(101)
		to := aim{1 + rng.Uint64N(have), percent}
		weight := func(i int32) uint64 { return weights[i] }
		sum := func(of []int32, weights []uint64) (s uint64) {
			for _, i := range of {
				s += weights[i]
			}
			return s
		}
		all := slices.Clone(candidates)
		got := slices.Clone(fewest(slices.Clone(candidates), weight, to, nil))
		var mine []uint64
		for _, i := range candidates {
			mine = append(mine, weights[i])
		}
		if !slices.IsSorted(got) || sum(got, weights) < to.weight || len(got) != leastSigners(mine, to.weight) {
			t.Fatalf("of %v of %v for %d: %v", candidates, weights, to.weight, got)
		}
		both := fewest(candidates, weight, to, []weighing{there})
		want := min(need(there.total, percent), sum(all, there.weights))
		if sum(both, weights) < to.weight || sum(both, there.weights) < want {
			t.Fatalf("of %v for %d and %d of %v: %v", all, to.weight, want, there.weights, both)
		}
	}
}
