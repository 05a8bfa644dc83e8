package bls

import (
	blst "github.com/supranational/blst/bindings/go"
)

// maxOutliers is how many signatures outside the subgroup are looked for one by one.
const maxOutliers = 4

// Prune gives indices, in ascending order, of signatures that are each invalid
// for msg under the key at the same index, such that the sum of all others is
// valid: what is needed to go on after the check of a sum has failed, at a
// fraction of the cost of [FindInvalid]. The others are not proven one by one:
// errors that cancel within their sum stay in it (see the package comment).
//
// Nothing rests on chance. A signature is only named for its own error, or for
// being outside the subgroup itself, and the sum that is left is checked like
// any other. When that fails, which takes signers who work together outside
// the subgroup, FindInvalid has the last word.
func Prune(keys []*PublicKey, sigs []*Signature, msg *Message) []int {
	f := finder{keys: keys, sigs: sigs, msg: msg, bad: make([]bool, len(sigs))}
	live := make([]int, len(sigs))
	for i := range live {
		live[i] = i
	}
	live, ok := f.dropOutliers(live)
	if ok && len(live) > 0 {
		f.budget = len(live) / 2
		if e := f.sumError(live); e != blst.Fp12One() {
			f.locate(live, e)
		}
		ok = f.sound()
	}
	if !ok {
		return FindInvalid(keys, sigs, msg)
	}
	return f.found()
}

// dropOutliers takes signatures outside the subgroup out of live until the sum
// is inside; false when there are too many of them. One half of a sum that is
// outside is outside too, which leads to a single one.
func (f *finder) dropOutliers(live []int) ([]int, bool) {
	for range maxOutliers {
		if f.sumInSubgroup(live) {
			return live, true
		}
		lo, hi := 0, len(live)
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; f.sumInSubgroup(live[lo:mid]) {
				lo = mid
			} else {
				hi = mid
			}
		}
		f.bad[live[lo]] = true
		live = append(live[:lo:lo], live[hi:]...)
	}
	return live, f.sumInSubgroup(live)
}

func (f *finder) sumInSubgroup(live []int) bool {
	if len(live) == 0 {
		return true
	}
	_, sigs := f.points(live)
	return blst.P2AffinesAdd(sigs).ToAffine().InG2()
}

// sound tells whether what is not marked as bad has a valid sum, or is empty.
func (f *finder) sound() bool {
	var keys []*PublicKey
	var sigs []*Signature
	for i, bad := range f.bad {
		if !bad {
			keys, sigs = append(keys, f.keys[i]), append(sigs, f.sigs[i])
		}
	}
	if len(sigs) == 0 {
		return true
	}
	key, sum := SumKeys(keys), SumSignatures(sigs)
	return Verify(&key, f.msg, &sum)
}

// found gives the indices marked as bad.
func (f *finder) found() []int {
	var out []int
	for i, bad := range f.bad {
		if bad {
			out = append(out, i)
		}
	}
	return out
}
