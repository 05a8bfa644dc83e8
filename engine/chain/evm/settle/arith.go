package settle

import (
	"math"
	"math/bits"
)

// add returns a+b, at most the highest number.
func add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}

// mul returns a*b, at most the highest number.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi > 0 {
		return math.MaxUint64
	}
	return lo
}

// mulDivUp returns a*b/d rounded up, at most the highest number. d is not 0.
func mulDivUp(a, b, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, d-1, 0)
	if hi += carry; hi >= d {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, d)
	return q
}

// exponential approximates factor x e^(x/k) as EIP-4844 defines it, fake_exponential:
// by its Taylor series in whole numbers. It is at most the highest number. k is not 0,
// factor at most 2^20.
//
// Two words hold each term and the sum: it goes on only while the sum, and so the
// last term, is below k x 2^64, and term i is the one before times x/k/i, so that it
// is below 2^128/i. Where k alone is that large, x/k is at most 2, and all are small.
func exponential(factor, x, k uint64) uint64 {
	var sumHi, sumLo uint64
	maxHi, maxLo := bits.Mul64(k, math.MaxUint64)
	hi, lo := bits.Mul64(factor, k) // the term, times k
	for i := uint64(1); hi|lo != 0; i++ {
		var carry uint64
		sumLo, carry = bits.Add64(sumLo, lo, 0)
		sumHi, _ = bits.Add64(sumHi, hi, carry)
		if sumHi > maxHi || sumHi == maxHi && sumLo >= maxLo {
			return math.MaxUint64
		}
		top, middle, low := mul192(hi, lo, x)
		top, middle, low = div192(top, middle, low, k)
		_, hi, lo = div192(top, middle, low, i)
	}
	q, _ := bits.Div64(sumHi, sumLo, k)
	return q
}

// mul192 returns the product of a number of two words and one of one.
func mul192(hi, lo, x uint64) (r2, r1, r0 uint64) {
	carry, r0 := bits.Mul64(lo, x)
	r2, r1 = bits.Mul64(hi, x)
	r1, carry = bits.Add64(r1, carry, 0)
	return r2 + carry, r1, r0
}

// div192 returns the quotient of a number of three words and d, rounded down.
func div192(a2, a1, a0, d uint64) (q2, q1, q0 uint64) {
	q2, rem := a2/d, a2%d
	q1, rem = bits.Div64(rem, a1, d)
	q0, _ = bits.Div64(rem, a0, d)
	return q2, q1, q0
}

// excessOf returns the least excess of which the price is at least price; one less
// if its price is higher, since no excess makes exactly this price then.
func excessOf(price, k uint64) uint64 {
	if price <= 1 {
		return 0
	}
	low, high := uint64(1), mul(k, 45) // e^45 is above all prices
	// It is next to k ln(price), but where that is below near or above all numbers. A
	// search of all of it takes three times as long.
	const near = 64
	guess := uint64(math.Log(float64(price)) * float64(k))
	if exponential(1, guess-near, k) < price && exponential(1, guess+near, k) >= price {
		low, high = guess-near+1, guess+near
	}
	for low < high {
		middle := low + (high-low)/2
		if exponential(1, middle, k) >= price {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if exponential(1, low, k) > price {
		return low - 1
	}
	return low
}
