package aggregator

import (
	"cmp"
	"math/bits"
	"slices"

	"quorate/aggregator/valset"
	"quorate/engine/chain/warp"
)

// need is the least weight that is at least percent of total, and at least 1:
// nothing is signed by nobody. There is no more than the total to be had.
func need(total uint64, percent int) uint64 {
	hi, lo := bits.Mul64(total, uint64(min(percent, 100))) // not negative
	lo, carry := bits.Add64(lo, 99, 0)
	q, _ := bits.Div64(hi+carry, lo, 100)
	return max(q, 1)
}

// aim is what signers are chosen for: their weight, and their share in percent of
// the set as it is at other heights.
type aim struct {
	weight  uint64
	percent int
}

// weighing is a validator set as it is at another height where a message may be
// checked: the same keys with other weights.
type weighing struct {
	weights []uint64 // by signer bit
	total   uint64
}

// weighings returns the weights of set at the heights of others. all is false if at one of
// them the keys are not the same: signer bits mean others there, so that no answer is
// good for both.
func weighings(set *valset.Set, others []*valset.Set) (out []weighing, all bool) {
	all = true
	for _, o := range others {
		if !slices.EqualFunc(set.Validators, o.Validators, func(a, b valset.Validator) bool {
			return a.Key == b.Key || a.Key.Compare(b.Key) == 0
		}) {
			all = false
			continue
		}
		w := weighing{make([]uint64, len(o.Validators)), o.TotalWeight}
		for i := range w.weights {
			w.weights[i] = o.Validators[i].Weight
		}
		out = append(out, w)
	}
	return out, all
}

// covered reports whether signers are percent of the weight at each height.
func covered(signers warp.Bits, beside []weighing, percent int) bool {
	for _, w := range beside {
		var have uint64
		signers.Each(func(i int) { have += w.weights[i] }) // at most the total
		if have < need(w.total, percent) {
			return false
		}
	}
	return true
}

// fewest returns, in ascending order, the fewest of candidates that weigh what is aimed
// at: the heaviest, since each signer costs gas on every chain that checks the message.
// Where that is not the quorum at a height beside, the heaviest there are added, as far
// as they are among the candidates, and who is not needed any more goes. It reorders
// candidates and returns a part of them.
func fewest(candidates []int32, weight func(int32) uint64, to aim, beside []weighing) []int32 {
	n := takeHeaviest(candidates, weight, 0, to.weight)
	for _, w := range beside {
		there := func(i int32) uint64 { return w.weights[i] }
		n += takeHeaviest(candidates[n:], there, weigh(candidates[:n], there), need(w.total, to.percent))
	}
	out := candidates[:n]
	if len(beside) > 0 {
		out = sparing(out, weight, to, beside)
	}
	slices.Sort(out)
	return out
}

// takeHeaviest sorts candidates by weight and returns how many it takes from have to want.
func takeHeaviest(candidates []int32, weight func(int32) uint64, have, want uint64) (n int) {
	slices.SortFunc(candidates, func(a, b int32) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a, b)) })
	for n < len(candidates) && have < want {
		have += weight(candidates[n]) // at most the total
		n++
	}
	return n
}

// sparing returns signers without those that no height needs, the lightest first.
func sparing(signers []int32, weight func(int32) uint64, to aim, beside []weighing) []int32 {
	spare := weigh(signers, weight) - to.weight
	left := make([]uint64, len(beside)) // 0 also where they are no quorum
	for k, w := range beside {
		if have, want := weigh(signers, func(i int32) uint64 { return w.weights[i] }), need(w.total, to.percent); have > want {
			left[k] = have - want
		}
	}
	slices.SortFunc(signers, func(a, b int32) int { return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a, b)) })
	return slices.DeleteFunc(signers, func(i int32) bool {
		if weight(i) > spare {
			return false
		}
		for k, w := range beside {
			if w.weights[i] > left[k] {
				return false
			}
		}
		spare -= weight(i)
		for k, w := range beside {
			left[k] -= w.weights[i]
		}
		return true
	})
}

func weigh(signers []int32, weight func(int32) uint64) (sum uint64) {
	for _, i := range signers {
		sum += weight(i) // at most the total
	}
	return sum
}

func (c *core) weight(i int32) uint64 { return c.voters[i].weight }

// pick chooses signers for the goal among those who answered.
func (c *core) pick() {
	c.picked = c.picked[:0]
	for i := range c.voters {
		if c.voters[i].state == answered {
			c.picked = append(c.picked, int32(i)) // set sizes are bounded
		}
	}
	c.picked = fewest(c.picked, c.weight, c.goal, c.beside)
}
