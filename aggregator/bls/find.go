package bls

import (
	"crypto/rand"
	"math/bits"
	"slices"

	blst "github.com/supranational/blst/bindings/go"
)

// Measured on one core: below these sizes the plainer way is the faster one.
const (
	// fewSigs is the number of signatures up to which each is checked by itself.
	fewSigs = 3
	// fewPoints is the number of points up to which each subgroup is checked by itself.
	fewPoints = 64
)

// torsionRounds and torsionBase are the repetitions of the joint subgroup check
// and the number of weights that it draws from.
const (
	torsionRounds = 18
	torsionBase   = 13
)

// FindInvalid gives the indices, in ascending order, of the signatures that are
// not valid for msg under the key at the same index; all others are valid by
// themselves. Use it when the check of the sum has failed: with few bad ones it
// costs a fraction of checking each. keys and sigs must be of the same length.
//
// First, signatures outside the subgroup are sorted out, so that what follows
// is in groups of prime order. Then the bad ones are looked for with small,
// known weights, which is quick but can be deceived by signers who work
// together. So at last the rest is tested with random weights of 64 bits. If
// that passes, every signature of the rest is valid, with an error of at most
// 1/(2^64-1), and so each one found is bad: the others of its group are valid
// and the group's sum is not. If it does not, all are halved with fresh random
// weights until each has its own verdict.
func FindInvalid(keys []*PublicKey, sigs []*Signature, msg *Message) []int {
	f := finder{keys: keys, sigs: sigs, msg: msg, bad: make([]bool, len(sigs))}
	if !allInSubgroup(sigs) {
		for i, s := range sigs {
			f.bad[i] = !s.InSubgroup()
		}
	}
	live := make([]int, 0, len(sigs))
	for i, bad := range f.bad {
		if !bad {
			live = append(live, i)
		}
	}
	f.find(live)
	return f.found()
}

// allInSubgroup tells whether all signatures are in the subgroup. One
// random combination does not tell: the cofactor has small prime factors, of
// which 13 is the least, and a component of order 13 vanishes under one weight
// in 13, however long the weights are. So weights are drawn from 13 values, for
// any component at most one of which makes the combination vanish, and 18
// rounds leave an error of 13^-18, less than 2^-66.
func allInSubgroup(sigs []*Signature) bool {
	if len(sigs) <= fewPoints {
		return !slices.ContainsFunc(sigs, func(s *Signature) bool { return !s.InSubgroup() })
	}
	points := make([]*blst.P2Affine, len(sigs))
	for i, s := range sigs {
		points[i] = &s.p
	}
	for range torsionRounds {
		if !blst.P2AffinesMult(points, smallWeights(len(points)), 4).ToAffine().InG2() {
			return false
		}
	}
	return true
}

// smallWeights gives n random weights below torsionBase, of one byte each.
func smallWeights(n int) []byte {
	const fair = 256 - 256%torsionBase // bytes below are spread evenly over the weights
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/8+16)
	for {
		rand.Read(buf) // never fails: it ends the process instead
		for _, v := range buf {
			if v >= fair {
				continue
			}
			if out = append(out, v%torsionBase); len(out) == n {
				return out
			}
		}
	}
}

// finder looks for bad signatures among those in the subgroup. The error of a
// signature is e(-g1, s)·e(pk, H), which is one when it is valid.
type finder struct {
	keys []*PublicKey
	sigs []*Signature
	msg  *Message
	bad  []bool
	// budget is how many sums may still be tested in search of the bad ones.
	budget int
}

func (f *finder) find(live []int) {
	if len(live) <= fewSigs {
		f.each(live)
		return
	}
	f.budget = len(live) / 2
	if e := f.sumError(live); e != blst.Fp12One() {
		f.locate(live, e)
		rest := make([]int, 0, len(live))
		for _, i := range live {
			if !f.bad[i] {
				rest = append(rest, i)
			}
		}
		if f.valid(rest) {
			return
		}
		for _, i := range live {
			f.bad[i] = false
		}
	}
	f.split(live, false)
}

// each checks every signature by itself.
func (f *finder) each(live []int) {
	for _, i := range live {
		f.bad[i] = !pairs(&f.keys[i].p, &f.msg.h, &f.sigs[i].p)
	}
}

// locate marks bad ones of live such that the sum of the rest is valid, if no
// errors outside the subgroup hide; e, the error of its sum, is not one.
//
// When one signature is bad, the error of the sum with weights 1, 2, 3... is e
// to the power of its place. Otherwise the halves are looked at, until so many
// are bad that checking each is no slower.
func (f *finder) locate(live []int, e blst.Fp12) {
	if len(live) <= fewSigs || f.budget <= 0 {
		f.each(live)
		return
	}
	if place := exponent(e, f.placeError(live), len(live)); place > 0 && f.guilty(live[place-1], e) {
		return
	}
	if f.budget <= 0 {
		f.each(live)
		return
	}
	left, right := live[:len(live)/2], live[len(live)/2:]
	switch l := f.sumError(left); l {
	case blst.Fp12One():
		f.locate(right, e)
	case e:
		f.locate(left, e)
	default:
		f.locate(left, l)
		f.locate(right, f.sumError(right))
	}
}

// guilty tells whether the error e of a sum is that of signature i alone, and
// marks it. Two with the same error point at the place half way between them.
func (f *finder) guilty(i int, e blst.Fp12) bool {
	own := f.sumError([]int{i})
	f.bad[i] = own == e && own != blst.Fp12One()
	return f.bad[i]
}

// exponent finds k in 1..n with e^k = y, or gives 0. With about √n baby steps
// y·e^j and giant steps e^(b·i), a match says that k = b·i - j.
func exponent(e, y blst.Fp12, n int) int {
	b := 1
	for b*b < n {
		b++
	}
	baby := make(map[blst.Fp12]int, b)
	giant := blst.Fp12One()
	for j := range b {
		baby[y] = j
		y.MulAssign(&e)
		giant.MulAssign(&e)
	}
	at := giant
	for i := 1; (i-1)*b < n; i++ {
		if j, ok := baby[at]; ok && b*i-j <= n {
			return b*i - j
		}
		at.MulAssign(&giant)
	}
	return 0
}

// points gives the keys and signatures of live.
func (f *finder) points(live []int) ([]*blst.P1Affine, []*blst.P2Affine) {
	keys := make([]*blst.P1Affine, len(live))
	sigs := make([]*blst.P2Affine, len(live))
	for k, i := range live {
		keys[k], sigs[k] = &f.keys[i].p, &f.sigs[i].p
	}
	return keys, sigs
}

func (f *finder) sumError(live []int) blst.Fp12 {
	keys, sigs := f.points(live)
	return f.error(blst.P1AffinesAdd(keys), blst.P2AffinesAdd(sigs))
}

// placeError is the error of the sum with weights 1, 2, 3...
func (f *finder) placeError(live []int) blst.Fp12 {
	keys, sigs := f.points(live)
	nbits := bits.Len(uint(len(live)))
	nbytes := (nbits + 7) / 8
	weights := make([]byte, len(live)*nbytes)
	for k := range live {
		for j := range nbytes {
			weights[k*nbytes+j] = byte((k + 1) >> (8 * j)) // the byte wanted
		}
	}
	return f.error(blst.P1AffinesMult(keys, weights, nbits), blst.P2AffinesMult(sigs, weights, nbits))
}

func (f *finder) error(key *blst.P1, sig *blst.P2) blst.Fp12 {
	f.budget--
	g := newPairing()
	g.mul(&negG1, sig.ToAffine())
	g.mul(key.ToAffine(), &f.msg.h)
	return g.value()
}

// valid tests live with random weights.
func (f *finder) valid(live []int) bool {
	if len(live) == 0 {
		return true
	}
	keys, sigs := f.points(live)
	weights := randomWeights(len(live))
	key := blst.P1AffinesMult(keys, weights, weightBits).ToAffine()
	sig := blst.P2AffinesMult(sigs, weights, weightBits).ToAffine()
	return pairs(key, &f.msg.h, sig)
}

// split marks the bad ones of live by halving and tells whether there are any.
// known means that there is at least one.
func (f *finder) split(live []int, known bool) bool {
	switch {
	case len(live) == 0:
		return false
	case len(live) == 1 && known:
		f.bad[live[0]] = true
		return true
	case len(live) <= fewSigs:
		f.each(live)
		return slices.ContainsFunc(live, func(i int) bool { return f.bad[i] })
	case !known && f.valid(live):
		return false
	}
	half := len(live) / 2
	left := f.split(live[:half], false)
	f.split(live[half:], !left)
	return true
}
