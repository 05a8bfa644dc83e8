package bls

import (
	"slices"
	"testing"

	blst "github.com/supranational/blst/bindings/go"
)

// checkPruned holds Prune to its word: nobody outside bad is named, and the sum
// of those not named is valid.
func (f *fixture) checkPruned(t *testing.T, bad []int) {
	t.Helper()
	got := Prune(f.keys, f.sigs, f.msg)
	rest := fixture{msg: f.msg}
	for i := range f.sigs {
		if slices.Contains(got, i) {
			if !slices.Contains(bad, i) {
				t.Errorf("n=%d: honest signer %d is named, bad are %v", len(f.sigs), i, bad)
			}
			continue
		}
		rest.keys, rest.sigs = append(rest.keys, f.keys[i]), append(rest.sigs, f.sigs[i])
	}
	if len(rest.sigs) > 0 && !rest.verify() {
		t.Errorf("n=%d: without %v the sum is invalid still, bad are %v", len(f.sigs), got, bad)
	}
	if !slices.IsSorted(got) {
		t.Errorf("not in order: %v", got)
	}
}

// TestPruneColluders plays errors that hide from one step or the other.
func TestPruneColluders(t *testing.T) {
	t.Parallel()
	small, outside := torsion(t), pointOf(curvePoint(t))
	shifts := map[string][]*blst.P2{
		"one":                         {delta(1)},
		"same error":                  {delta(1), delta(1)},
		"cancelling and one":          {delta(1), negated(delta(1)), delta(2)},
		"outside":                     {outside},
		"small order":                 {small},
		"outside, cancelling":         {outside, negated(outside), delta(1)},
		"small order, cancelling":     {small, negated(small), delta(1)},
		"many outside":                {outside, small, outside, small, outside, small},
		"outside and inside":          {outside, delta(1), small, delta(2)},
		"three that cancel, and more": {delta(1), delta(2), negated(blst.P2AffinesAdd([]*blst.P2Affine{delta(1).ToAffine(), delta(2).ToAffine()})), delta(3), delta(4)},
	}
	for name, list := range shifts {
		for _, n := range []int{len(list), 7, 64, 90} {
			f := newFixture(t, n)
			var bad []int
			for k, d := range list {
				i := k * n / len(list)
				f.sigs[i] = plus(f.sigs[i], d)
				bad = append(bad, i)
			}
			t.Log(name, n)
			f.checkPruned(t, bad)
		}
	}
}

func TestPruneOfValid(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 70} {
		f := newFixture(t, n)
		if got := Prune(f.keys, f.sigs, f.msg); got != nil {
			t.Errorf("n=%d: got %v", n, got)
		}
	}
}
