package evmchain

import (
	"math/bits"

	"github.com/holiman/uint256"
)

// What ACP-176, ACP-194 and ACP-283 fix.
const (
	leastTarget      = 1_000_000               // gas a second
	targetConversion = 1 << 25                 // of its exponent
	priceConversion  = 415_828_534_307_635_077 // of the minimum price's
	excessPerTarget  = 87                      // seconds of excess by which the price grows e-fold
	rateOfTarget     = 2
	secondsPerBlock  = 10 // of gas at full rate that a block may take
	tauMilli         = 5000
	openBlocks       = 2 // full blocks that may wait to be settled
)

// gasClock is the clock of the execution stream: time that passes by gas used, and the
// gas used above the target, which the price follows.
type gasClock struct {
	unix, part    uint64 // part of a second in units of the rate
	excess        uint64
	target, least uint64 // gas a second; the minimum price in wei
}

// clockAt is the clock after a block that was executed before its acceptance.
func clockAt(milli, target, price uint64) gasClock {
	c := gasClock{target: target, least: 1}
	c.unix, c.part = milli/1000, c.partOf(milli)
	c.excess = excessFor(price, c.scale())
	return c
}

func (c *gasClock) rate() uint64  { return c.target * rateOfTarget }
func (c *gasClock) scale() uint64 { return c.target * excessPerTarget }

// partOf is the part of a second, rounded up.
func (c *gasClock) partOf(milli uint64) uint64 { return (milli%1000*c.rate() + 999) / 1000 }

// before brings the clock forward to the time of a block that is to be executed.
func (c *gasClock) before(milli uint64) {
	unix, part := milli/1000, c.partOf(milli)
	if unix < c.unix || unix == c.unix && part <= c.part {
		return
	}
	seconds := unix - c.unix
	if part < c.part {
		seconds--
		part += c.rate()
	}
	hi, lo := bits.Mul64(seconds, c.target)
	lost, carry := bits.Add64(lo, (part-c.part)/rateOfTarget, 0)
	if hi > 0 || carry > 0 || lost > c.excess {
		lost = c.excess
	}
	c.excess -= lost
	c.unix, c.part = unix, c.partOf(milli)
	c.bound()
}

// after adds the gas of a block, and sets the target and minimum price that hold from it on.
func (c *gasClock) after(gas, target, least uint64) {
	c.part += gas
	c.unix += c.part / c.rate()
	c.part %= c.rate()
	c.excess += gas / rateOfTarget
	if target != c.target {
		c.excess = ceilScaled(c.excess, target, c.target)
		c.part = ceilScaled(c.part, target, c.target)
		c.target = target
		if c.part >= c.rate() {
			c.part -= c.rate()
			c.unix++
		}
	}
	c.least = least
	c.bound()
}

// ceilScaled is v * by / of, rounded up.
func ceilScaled(v, by, of uint64) uint64 {
	hi, lo := bits.Mul64(v, by)
	lo, carry := bits.Add64(lo, of-1, 0)
	q, _ := bits.Div64(hi+carry, lo, of) // no test has more
	return q
}

// bound lifts the excess to what the minimum price needs.
func (c *gasClock) bound() {
	if grown(1, c.excess, c.scale()) < c.least {
		c.excess = max(c.excess, excessFor(c.least, c.scale()))
	}
}

// price is the base fee in wei.
func (c *gasClock) price() uint64 { return max(c.least, grown(1, c.excess, c.scale())) }

// later reports whether the clock is past a time.
func (c *gasClock) later(milli uint64) bool {
	if c.unix != milli/1000 {
		return c.unix > milli/1000
	}
	return c.part*1000 > milli%1000*c.rate()
}

// excessFor is the least excess with a price, or the last one below it if none has it.
func excessFor(price, scale uint64) uint64 {
	if price <= 1 {
		return 0
	}
	lo, hi := uint64(0), uint64(1)<<63
	for lo+1 < hi { // lo's price is less
		if mid := lo + (hi-lo)/2; grown(1, mid, scale) < price {
			lo = mid
		} else {
			hi = mid
		}
	}
	if grown(1, hi, scale) > price {
		return lo
	}
	return hi
}

// grown is first * e^(x/scale) as the EVM's chains approximate it: terms of the series,
// each rounded down, until they vanish; at most 2^64-1.
func grown(first, x, scale uint64) uint64 {
	var sum, term, by, over, most uint256.Int
	by.SetUint64(scale)
	over.SetUint64(x)
	most.Mul(most.SetUint64(^uint64(0)), &by)
	term.Mul(term.SetUint64(first), &by)
	for i := uint64(1); !term.IsZero(); i++ {
		if sum.Add(&sum, &term); !sum.Lt(&most) {
			return ^uint64(0)
		}
		term.Div(term.Mul(&term, &over), &by)
		term.Div(&term, new(uint256.Int).SetUint64(i))
	}
	return sum.Div(&sum, &by).Uint64()
}

// exponentFor is the least exponent of first * e^(x/scale) that reaches a value.
func exponentFor(value, first, scale uint64) uint64 {
	lo, hi := uint64(0), scale*44 // e^44 is about 2^64
	if hi/44 != scale {
		hi = ^uint64(0) - 37
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; grown(first, mid, scale) >= value {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
