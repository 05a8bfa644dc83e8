package rollup

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/holiman/uint256"
)

// Value is an exact figure, Num/Den. Den is above 0.
type Value struct {
	Num uint256.Int
	Den uint64
}

func whole(n uint64) Value { return Value{Num: uint256.Int{n}, Den: 1} }

// quotient returns 0 for a division by 0.
func quotient(num uint256.Int, den uint64) Value {
	if den == 0 {
		return Value{Den: 1}
	}
	return Value{Num: num, Den: den}
}

func (r Rate) value() Value { return quotient(whole(r.Amount).Num, r.Seconds) }

// Append appends the value as a JSON number. An integer has all its digits,
// however long. Anything else is the nearest float64 in its shortest form.
func (v *Value) Append(dst []byte) []byte {
	if v.Den == 1 {
		if v.Num.IsUint64() {
			return strconv.AppendUint(dst, v.Num.Uint64(), 10)
		}
		return append(dst, v.Num.Dec()...)
	}
	var q, rem uint256.Int
	if q.DivMod(&v.Num, uint256.NewInt(v.Den), &rem); rem.IsZero() {
		return (&Value{Num: q, Den: 1}).Append(dst)
	}
	return appendFloat(dst, v.float())
}

// float returns the nearest float64 of a figure above 0.
func (v *Value) float() float64 {
	// A quotient of 63 or 64 bits, 10 more than a float64 has. For rounding it is
	// enough to know of what is below them whether there is anything.
	shift := bits.Len64(v.Den) + 63 - v.Num.BitLen()
	var n, back uint256.Int
	if shift >= 0 {
		n.Lsh(&v.Num, uint(shift))
	} else {
		n.Rsh(&v.Num, uint(-shift))
	}
	q, rem := bits.Div64(n[1], n[0], v.Den)
	if rem != 0 || shift < 0 && !back.Lsh(&n, uint(-shift)).Eq(&v.Num) {
		q |= 1
	}
	return math.Ldexp(float64(q), -shift)
}

func (v *Value) rat() *big.Rat {
	return new(big.Rat).SetFrac(v.Num.ToBig(), new(big.Int).SetUint64(v.Den))
}

// appendFloat appends a positive number as JavaScript writes it.
func appendFloat(dst []byte, f float64) []byte {
	if f >= 1e-6 && f < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && dst[n-4] == 'e' { // e-07 is e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// Total brings the values of several chains together in one bucket. The zero
// Total is ready for the metric that is given to its methods, always the same.
type Total struct {
	v   Value
	rat big.Rat // of AvgTps and AvgGps
}

// Add adds a chain's bucket.
func (t *Total) Add(m Metric, r *Record) {
	v := m.Of(r)
	switch m {
	case AvgTps, AvgGps:
		t.rat.Add(&t.rat, v.rat())
	case AvgGasPrice:
		t.v.add(&r.PriceSum)
		t.v.Den += r.Txs
	case MaxGasPrice, MaxTps, MaxGps:
		if t.v.Den == 0 || v.above(&t.v) {
			t.v = v
		}
	default:
		t.v.add(&v.Num)
		t.v.Den = 1
	}
}

// add adds to the numerator, which stays at its highest value.
func (v *Value) add(n *uint256.Int) {
	if _, over := v.Num.AddOverflow(&v.Num, n); over {
		v.Num.SetAllOne()
	}
}

// above compares the values of maxima. Those above 2^128 are prices, which have no
// other denominator than 1.
func (v *Value) above(o *Value) bool {
	var a, b uint256.Int
	a.Mul(&v.Num, uint256.NewInt(o.Den))
	b.Mul(&o.Num, uint256.NewInt(v.Den))
	return a.Gt(&b)
}

// Append appends the total as a JSON number, like [Value.Append]; 0 if nothing
// was added.
func (t *Total) Append(m Metric, dst []byte) []byte {
	if m != AvgTps && m != AvgGps {
		if t.v.Den == 0 {
			return append(dst, '0')
		}
		return t.v.Append(dst)
	}
	if t.rat.IsInt() {
		return t.rat.Num().Append(dst, 10)
	}
	f, _ := t.rat.Float64()
	return appendFloat(dst, f)
}
