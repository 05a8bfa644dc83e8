package warp

import (
	"math/bits"
	"slices"
)

// Bits is a set of canonical validator indices; word i holds indices 64i to 64i+63.
type Bits []uint64

// NewBits returns an empty set with room for n indices.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Set adds index i.
func (b Bits) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Clear removes index i.
func (b Bits) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether index i is in the set.
func (b Bits) Has(i int) bool { return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0 }

// Count returns the number of indices in the set.
func (b Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Clone returns an independent copy.
func (b Bits) Clone() Bits { return slices.Clone(b) }

// Equal reports whether both hold the same indices and have room for the same number.
func (b Bits) Equal(o Bits) bool { return slices.Equal(b, o) }

// Each calls f with every index in ascending order.
func (b Bits) Each(f func(i int)) {
	for k, w := range b {
		for w != 0 {
			f(k<<6 + bits.TrailingZeros64(w))
			w &= w - 1
		}
	}
}

// Signers returns the wire form: a minimal big-endian integer.
func (b Bits) Signers() []byte {
	out := make([]byte, 0, len(b)*8)
	for k := len(b)*8 - 1; k >= 0; k-- {
		v := byte(b[k>>3] >> (k & 7 * 8))
		if v == 0 && len(out) == 0 {
			continue
		}
		out = append(out, v)
	}
	return out
}

// BitsFromSigners reads the wire form for a set of n validators; ok is false
// when an index is out of range or the form is not minimal.
func BitsFromSigners(signers []byte, n int) (b Bits, ok bool) {
	if len(signers) > 0 && signers[0] == 0 {
		return nil, false
	}
	b = NewBits(n)
	for p, v := range signers {
		base := (len(signers) - 1 - p) * 8
		for v != 0 {
			i := base + bits.TrailingZeros8(v)
			if i >= n {
				return nil, false
			}
			b.Set(i)
			v &= v - 1
		}
	}
	return b, true
}
