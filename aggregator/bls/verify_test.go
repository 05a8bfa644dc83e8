package bls

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	blst "github.com/supranational/blst/bindings/go"
)

// plus returns s + d.
func plus(s *Signature, d *blst.P2) *Signature {
	var p blst.P2
	p.FromAffine(&s.p)
	return &Signature{*p.Add(d).ToAffine()}
}

func negated(d *blst.P2) *blst.P2 { return new(blst.P2).Sub(d) }

// delta is a point of the subgroup.
func delta(seed int) *blst.P2 {
	return blst.HashToG2(fmt.Append(nil, "delta ", seed), []byte(signatureDST))
}

// curvePoint is a point of the curve outside the subgroup.
func curvePoint(tb testing.TB) *Signature {
	tb.Helper()
	var s Signature
	firstPoint(tb, SignatureLen, func(b []byte) bool {
		return DecodeSignatureInto(&s, b) == nil && !s.InSubgroup()
	})
	return &s
}

// torsion returns a point of order 13.
func torsion(tb testing.TB) *blst.P2 {
	tb.Helper()
	cofactor, _ := new(big.Int).SetString("5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1616ec6e786f0c70cf1c38e31c7238e5", 16)
	order, _ := new(big.Int).SetString("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001", 16)
	n := new(big.Int).Mul(cofactor, order)
	if new(big.Int).Mod(n, big.NewInt(169)).Sign() != 0 {
		tb.Fatal("13² does not divide the order of the curve")
	}
	var p blst.P2
	p.FromAffine(&curvePoint(tb).p)
	t := times(&p, new(big.Int).Div(n, big.NewInt(169)))
	for range 2 {
		next := times(t, big.NewInt(13))
		if next.Equals(&blst.P2{}) {
			if t.Equals(&blst.P2{}) {
				tb.Fatal("the point has no component of order 13")
			}
			return t
		}
		t = next
	}
	tb.Fatal("order of the component is not 13")
	return nil
}

// times multiplies any point of the curve: the library's own way is for the subgroup.
func times(p *blst.P2, n *big.Int) *blst.P2 {
	out := new(blst.P2)
	for i := n.BitLen() - 1; i >= 0; i-- {
		out.AddAssign(out)
		if n.Bit(i) == 1 {
			out.AddAssign(p)
		}
	}
	return out
}

func (f *fixture) verify() bool {
	key, sum := SumKeys(f.keys), SumSignatures(f.sigs)
	return Verify(&key, f.msg, &sum)
}

func TestVerifyRefusesEmptySums(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3)
	key, sum := SumKeys(f.keys), SumSignatures(f.sigs)
	noKeys, noSigs := SumKeys(nil), SumSignatures(nil)
	cancelled := key.Sub(key)
	sub := key.Sub(SumKeys(f.keys[:2]))
	for name, c := range map[string]Check{
		"nothing":        {noKeys, f.msg, noSigs},
		"no keys":        {noKeys, f.msg, sum},
		"cancelled keys": {cancelled, f.msg, sum},
		"no signatures":  {key, f.msg, noSigs},
		"zero":           {KeySum{}, f.msg, AggregateSignature{}},
	} {
		if Verify(&c.Key, c.Msg, &c.Sig) {
			t.Errorf("%s: valid", name)
		}
		if got := VerifyBatch([]Check{c, {key, f.msg, sum}}); !slices.Equal(got, []bool{false, true}) {
			t.Errorf("%s in a batch: got %v", name, got)
		}
	}
	if one := SumSignatures(f.sigs[2:]); !Verify(&sub, f.msg, &one) {
		t.Error("what is left of a key sum does not verify")
	}
	if back := sub.Add(SumKeys(f.keys[:2])); !back.Equal(&key) {
		t.Error("sum is not what it was")
	}
	if len(VerifyBatch(nil)) != 0 || Prune(nil, nil, f.msg) != nil {
		t.Error("nothing to check gives something")
	}
}

func TestVerifyChecksSubgroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3)
	for name, d := range map[string]*blst.P2{"order 13": torsion(t), "any": pointOf(curvePoint(t))} {
		key, sum := SumKeys(f.keys), SumSignatures([]*Signature{f.sigs[0], f.sigs[1], plus(f.sigs[2], d)})
		if Verify(&key, f.msg, &sum) {
			t.Errorf("%s: aggregate outside the subgroup is valid", name)
		}
	}
}

func pointOf(s *Signature) *blst.P2 {
	var p blst.P2
	p.FromAffine(&s.p)
	return &p
}

// Parts that cancel have a valid sum: the sum is right, its parts are not.
func TestCancellingParts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 5, 100} {
		for name, d := range map[string]*blst.P2{
			"subgroup": delta(0), "order 13": torsion(t), "curve": pointOf(curvePoint(t)),
		} {
			f := newFixture(t, n)
			a, b := n/2-1, n-1
			f.sigs[a], f.sigs[b] = plus(f.sigs[a], d), plus(f.sigs[b], negated(d))
			if !f.verify() {
				t.Errorf("%s, n=%d: cancelling parts change the sum", name, n)
			}
		}
	}
}

func TestPruneProperty(t *testing.T) {
	t.Parallel()
	small, outside := torsion(t), pointOf(curvePoint(t))
	rng := rand.New(rand.NewPCG(7, 11))
	for range 40 {
		n := 1 + rng.IntN(90)
		f := newFixture(t, n)
		var want []int
		bad := 1 + rng.IntN(1+n/(1+rng.IntN(8)))
		for _, i := range rng.Perm(n)[:min(bad, n)] {
			switch rng.IntN(5) {
			case 0:
				f.sigs[i] = plus(f.sigs[i], small)
			case 1:
				f.sigs[i] = plus(f.sigs[i], outside)
			case 2:
				f.sigs[i] = plus(f.sigs[i], delta(0)) // the same error as others
			case 3:
				f.sigs[i] = plus(f.sigs[i], negated(delta(0)))
			case 4:
				f.sigs[i] = plus(f.sigs[i], delta(rng.Int()))
			}
			want = append(want, i)
		}
		slices.Sort(want)
		f.checkPruned(t, want)
	}
}

// The same signer several times: sums that double points.
func TestRepeatedSigner(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	for range 39 {
		f.keys, f.sigs = append(f.keys, f.keys[0]), append(f.sigs, f.sigs[0])
	}
	if !f.verify() || Prune(f.keys, f.sigs, f.msg) != nil {
		t.Error("repeated signer is not accepted")
	}
	f.sigs[17] = plus(f.sigs[17], delta(0))
	if got := Prune(f.keys, f.sigs, f.msg); !slices.Equal(got, []int{17}) {
		t.Errorf("got %v, want [17]", got)
	}
}

func TestVerifyBatch(t *testing.T) {
	t.Parallel()
	const m = 9
	good := make([]Check, m)
	for i := range good {
		good[i] = newCheck(t, i, 3)
	}
	shift := func(c *Check, d *blst.P2) { c.Sig = AggregateSignature{plus(&Signature{c.Sig.p}, d).p} }
	d := delta(0)
	for name, c := range map[string]struct {
		spoil func([]Check)
		bad   []int
	}{
		"all valid":      {func([]Check) {}, nil},
		"one":            {func(c []Check) { shift(&c[4], d) }, []int{4}},
		"last":           {func(c []Check) { shift(&c[8], d) }, []int{8}},
		"cancelling":     {func(c []Check) { shift(&c[2], d); shift(&c[7], negated(d)) }, []int{2, 7}},
		"swapped":        {func(c []Check) { c[0].Sig, c[1].Sig = c[1].Sig, c[0].Sig }, []int{0, 1}},
		"wrong subgroup": {func(c []Check) { shift(&c[3], torsion(t)) }, []int{3}},
		"torsion pair": {func(c []Check) {
			x := torsion(t)
			shift(&c[3], x)
			shift(&c[5], negated(x))
		}, []int{3, 5}},
		"all": {func(c []Check) {
			for i := range c {
				shift(&c[i], delta(i))
			}
		}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		checks := slices.Clone(good)
		c.spoil(checks)
		for i, ok := range VerifyBatch(checks) {
			if ok == slices.Contains(c.bad, i) {
				t.Errorf("%s: check %d: got %v", name, i, ok)
			}
			if ok != Verify(&checks[i].Key, checks[i].Msg, &checks[i].Sig) {
				t.Errorf("%s: check %d: batch and single verdict differ", name, i)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	if w := randomWeights(3); len(w) != 3*weightBytes {
		t.Errorf("got %d bytes", len(w))
	}
}
