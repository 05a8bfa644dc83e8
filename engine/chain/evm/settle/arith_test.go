package settle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// fakeExponential is that of EIP-4844, in numbers of any length; nil if it is above
// all of 64 bits.
func fakeExponential(factor, numerator, denominator uint64) *big.Int {
	of := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	output, term := new(big.Int), new(big.Int).Mul(of(factor), of(denominator))
	for i := uint64(1); term.Sign() > 0; i++ {
		if output.Add(output, term); output.BitLen() > 64+64 {
			return nil
		}
		term.Mul(term, of(numerator))
		term.Div(term, new(big.Int).Mul(of(denominator), of(i)))
	}
	if output.Div(output, of(denominator)); !output.IsUint64() {
		return nil
	}
	return output
}

func TestExponential(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4844, 1))
	check := func(factor, x, k uint64) {
		t.Helper()
		want := uint64(math.MaxUint64)
		if v := fakeExponential(factor, x, k); v != nil {
			want = v.Uint64()
		}
		if got := exponential(factor, x, k); got != want {
			t.Errorf("%d e^(%d/%d): got %d, want %d", factor, x, k, got, want)
		}
	}
	const k = scaling * minTarget
	for _, x := range []uint64{0, 1, k, 44 * k, 45 * k, math.MaxUint64} {
		for _, k := range []uint64{1, 2, k, priceConversion, 1<<63 - 1, 1 << 63, math.MaxUint64} {
			check(1, x, k)
			check(minTarget, x, k)
		}
	}
	for range 5000 {
		k := max(r.Uint64()>>r.IntN(64), 1)
		check(1+r.Uint64N(minTarget), mul(k, r.Uint64N(46))+r.Uint64N(k), k)
		check(1, r.Uint64()>>r.IntN(64), k)
	}
}

func TestMulDivUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4844, 2))
	for range 5000 {
		a, b, d := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64), max(r.Uint64()>>r.IntN(64), 1)
		v, rem := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)), new(big.Int)
		if v.DivMod(v, new(big.Int).SetUint64(d), rem); rem.Sign() > 0 {
			v.Add(v, big.NewInt(1))
		}
		want := uint64(math.MaxUint64)
		if v.IsUint64() {
			want = v.Uint64()
		}
		if got := mulDivUp(a, b, d); got != want {
			t.Errorf("%d * %d / %d: got %d, want %d", a, b, d, got, want)
		}
	}
}
