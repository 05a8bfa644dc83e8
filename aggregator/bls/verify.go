package bls

import (
	"crypto/rand"
	"encoding/binary"

	blst "github.com/supranational/blst/bindings/go"
)

// weightBits is the size of the random weights that keep the errors of several
// signatures from cancelling: they do with a probability of 1/(2^64-1) per check.
const (
	weightBits  = 64
	weightBytes = weightBits / 8
)

// oneCore keeps the library from spreading each weighted sum over all cores,
// which doubles its cost: whoever checks much has a worker for each core anyway.
var _ = oneCore()

func oneCore() struct{} {
	blst.SetMaxProcs(1)
	return struct{}{}
}

// negG1 is minus the generator of G1.
var negG1 = func() blst.P1Affine {
	var zero blst.P1
	return *zero.Sub(blst.P1Generator()).ToAffine()
}()

// pairing checks that a product of pairings is one. The Miller loops of all
// factors share their squarings.
type pairing struct {
	ctx blst.Pairing
	any bool
}

func newPairing() pairing { return pairing{ctx: blst.PairingCtx(true, []byte(signatureDST))} }

// mul multiplies by e(p, q). A factor with a point at infinity is one.
func (g *pairing) mul(p *blst.P1Affine, q *blst.P2Affine) {
	if *p == (blst.P1Affine{}) || *q == (blst.P2Affine{}) {
		return
	}
	g.any = true
	blst.PairingRawAggregate(g.ctx, q, p)
}

func (g *pairing) isOne() bool {
	if !g.any {
		return true
	}
	blst.PairingCommit(g.ctx)
	return blst.PairingFinalVerify(g.ctx)
}

// pairs reports whether e(g1, sig) = e(key, h).
func pairs(key *blst.P1Affine, h, sig *blst.P2Affine) bool {
	g := newPairing()
	g.mul(&negG1, sig)
	g.mul(key, h)
	return g.isOne()
}

// Verify reports whether sig is the valid aggregate of msg signed by exactly the
// keys in key: in the subgroup, and with the right pairing. An empty sum never is.
func Verify(key *KeySum, msg *Message, sig *AggregateSignature) bool {
	if !sane(key, sig) {
		return false
	}
	return pairs(key.p.ToAffine(), &msg.h, &sig.p)
}

func sane(key *KeySum, sig *AggregateSignature) bool {
	return !sig.infinite() && !key.infinite() && sig.p.InG2()
}

// Check is one question for [VerifyBatch]: is Sig the aggregate of Msg signed
// by the keys in Key?
type Check struct {
	Key KeySum
	Msg *Message
	Sig AggregateSignature
}

// VerifyBatch returns the verdict of [Verify] on each check, but tests all with
// one product of len+1 pairings. Every aggregate's subgroup is checked by
// itself; then, in groups of prime order, a random combination of aggregates
// hides an invalid one with a probability of at most 1/(2^64-1). When the
// product is wrong the batch is halved.
func VerifyBatch(checks []Check) []bool {
	verdicts := make([]bool, len(checks))
	live := make([]int, 0, len(checks))
	for i := range checks {
		if c := &checks[i]; sane(&c.Key, &c.Sig) {
			live = append(live, i)
		}
	}
	settle(checks, live, verdicts, false)
	return verdicts
}

// settle fills in the verdicts on live, which lie in the subgroup. known means
// that at least one is invalid.
func settle(checks []Check, live []int, verdicts []bool, known bool) {
	switch {
	case len(live) == 0, known && len(live) == 1:
		return
	case len(live) == 1:
		c := &checks[live[0]]
		verdicts[live[0]] = pairs(c.Key.p.ToAffine(), &c.Msg.h, &c.Sig.p)
		return
	case !known && combined(checks, live):
		for _, i := range live {
			verdicts[i] = true
		}
		return
	}
	half := len(live) / 2
	settle(checks, live[:half], verdicts, false)
	clean := true
	for _, i := range live[:half] {
		clean = clean && verdicts[i]
	}
	settle(checks, live[half:], verdicts, clean)
}

// combined tests one random combination of at least two checks.
func combined(checks []Check, live []int) bool {
	weights := randomWeights(len(live))
	keys := make(blst.P1s, len(live))
	sigs := make([]*blst.P2Affine, len(live))
	for k, i := range live {
		keys[k] = *checks[i].Key.p.Mult(weights[k*weightBytes:][:weightBytes], weightBits)
		sigs[k] = &checks[i].Sig.p
	}
	g := newPairing()
	g.mul(&negG1, blst.P2AffinesMult(sigs, weights, weightBits).ToAffine())
	for k, key := range keys.ToAffine() {
		g.mul(&key, &checks[live[k]].Msg.h)
	}
	return g.isOne()
}

// randomWeights returns n non-zero random weights of weightBytes each.
func randomWeights(n int) []byte {
	b := make([]byte, n*weightBytes)
	rand.Read(b) // never fails: it ends the process instead
	for k := 0; k < len(b); k += weightBytes {
		for binary.LittleEndian.Uint64(b[k:]) == 0 {
			rand.Read(b[k : k+weightBytes]) // as above
		}
	}
	return b
}
