package secp

import (
	"math/big"
	"sync"

	"github.com/holiman/uint256"
)

// tableLen is how many points are worked out together.
const tableLen = 1024

// modulus is a number that others are reduced by.
type modulus struct {
	n  uint256.Int
	mu [5]uint64
	b  *big.Int
}

func newModulus(hex string) *modulus {
	m := &modulus{n: *uint256.MustFromHex(hex)}
	m.mu, m.b = uint256.Reciprocal(&m.n), m.n.ToBig()
	return m
}

var (
	// field is what coordinates are reduced by, order is how many points there are.
	field = newModulus("0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f")
	order = newModulus("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	// half is the largest s that EIP-2 allows.
	half      = new(uint256.Int).Rsh(&order.n, 1)
	generator = point{
		x: *uint256.MustFromHex("0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
		y: *uint256.MustFromHex("0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"),
	}
)

func (m *modulus) mul(a, b *uint256.Int) (z uint256.Int) {
	z.MulModWithReciprocal(a, b, &m.n, &m.mu)
	return z
}

// sub is a-b for two reduced numbers.
func (m *modulus) sub(a, b *uint256.Int) (z uint256.Int) {
	if _, under := z.SubOverflow(a, b); under {
		z.Add(&z, &m.n)
	}
	return z
}

// inverses replaces all numbers, none of them 0, by their inverses.
func (m *modulus) inverses(all []uint256.Int) {
	before := make([]uint256.Int, len(all)) // the products of all that come before
	product := *uint256.NewInt(1)
	for i := range all {
		before[i] = product
		product = m.mul(&product, &all[i])
	}
	inverse := new(big.Int).ModInverse(product.ToBig(), m.b)
	product.SetFromBig(inverse)
	for i := len(all) - 1; i >= 0; i-- {
		one := m.mul(&product, &before[i])
		product = m.mul(&product, &all[i])
		all[i] = one
	}
}

// point is a point of the curve other than infinity.
type point struct{ x, y uint256.Int }

// addAll adds base to each point. None may be base or its opposite.
func addAll(dst []point, base *point, all []point) {
	slopes := make([]uint256.Int, len(all))
	for i := range all {
		slopes[i] = field.sub(&all[i].x, &base.x)
	}
	field.inverses(slopes)
	for i := range all {
		rise := field.sub(&all[i].y, &base.y)
		slope := field.mul(&rise, &slopes[i])
		dst[i] = chord(&slope, base, &all[i])
	}
}

// chord is the sum of two points on a line with a slope.
func chord(slope *uint256.Int, a, b *point) (sum point) {
	sum.x = field.mul(slope, slope)
	sum.x = field.sub(&sum.x, &a.x)
	sum.x = field.sub(&sum.x, &b.x)
	run := field.sub(&a.x, &sum.x)
	sum.y = field.mul(slope, &run)
	sum.y = field.sub(&sum.y, &a.y)
	return sum
}

func (p *point) double() point {
	square := field.mul(&p.x, &p.x)
	rise := field.mul(&square, uint256.NewInt(3))
	run := []uint256.Int{field.mul(&p.y, uint256.NewInt(2))}
	field.inverses(run)
	slope := field.mul(&rise, &run[0])
	return chord(&slope, p, p)
}

// multiplesTable has those of the generator: small[i] is (i+1)G, powers[i] is 2^i G.
type multiplesTable struct {
	small  [tableLen]point
	powers [64]point
}

var multiples = sync.OnceValue(func() *multiplesTable {
	m := new(multiplesTable)
	m.powers[0] = generator
	for i := 1; i < len(m.powers); i++ {
		m.powers[i] = m.powers[i-1].double()
	}
	for n, i := 1, 0; n <= tableLen; n, i = 2*n, i+1 {
		m.small[n-1] = m.powers[i]
		if n < tableLen {
			addAll(m.small[n:], &m.powers[i], m.small[:n-1])
		}
	}
	return m
})

// multiple is kG for a positive k.
func multiple(k uint64) point {
	var sum []point
	for i := 0; k > 0; i, k = i+1, k>>1 {
		switch power := &multiples().powers[i]; {
		case k&1 == 0:
		case sum == nil:
			sum = []point{*power}
		default: // powers below this one add up to less
			addAll(sum, power, sum)
		}
	}
	return sum[0]
}

// following is (k+1)G to (k+n)G, for a k above [tableLen] and an n up to it.
func following(k uint64, n int) []point {
	base, all := multiple(k), make([]point, n)
	addAll(all, &base, multiples().small[:n])
	return all
}
