package bls

// Prune returns the indices, in ascending order, of signatures that are invalid
// for msg under the key at the same index, such that the sum of all others is
// valid: what is needed to go on after the check of a sum has failed.
//
// It halves what has an invalid sum and checks each half with [Verify]. Nothing
// rests on chance: whoever is named is alone with an error, and what is left is a
// union of sets with valid sums, whose sum is valid. The others are not proven
// one by one: errors that cancel within such a set stay in it (see the package
// comment). One bad signature in n costs about 2·log2(n) checks, many cost up to
// two for each signature.
func Prune(keys []*PublicKey, sigs []*Signature, msg *Message) []int {
	var bad []int
	var search func(lo, hi int, invalid bool)
	search = func(lo, hi int, invalid bool) {
		if lo == hi {
			return
		}
		if !invalid {
			key, sum := SumKeys(keys[lo:hi]), SumSignatures(sigs[lo:hi])
			if Verify(&key, msg, &sum) {
				return
			}
		}
		if hi-lo == 1 {
			bad = append(bad, lo)
			return
		}
		mid, found := (lo+hi)/2, len(bad)
		search(lo, mid, false)
		// With a valid left half the error is in the right one.
		search(mid, hi, len(bad) == found)
	}
	search(0, len(sigs), false)
	return bad
}
