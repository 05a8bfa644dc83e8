package settle

import (
	"encoding/binary"
	"math"
	"math/bits"

	"quorate/engine/chain/evm/consensus"
)

// Clock is the gas clock of a chain after a block: it counts time in gas, and the
// gas used above the target, from which the base fee follows. It is as small as a
// few numbers: copy it at will. The zero value is no clock.
//
// All of it is arithmetic of 64 bits that stops at the highest number, as
// avalanchego's is (vms/saevm/gastime, vms/saevm/proxytime).
type Clock struct {
	seconds  uint64 // Unix
	fraction uint64 // of the second, over the gas rate; less than it
	excess   uint64 // gas
	target   uint64 // gas per second, at least minTarget
	minPrice uint64 // wei, at least 1
	floor    uint64 // gas: the least excess, by minPrice and target
}

const (
	// rateOfTarget is the gas rate, at which the clock runs, over the target.
	rateOfTarget = 2
	maxTarget    = math.MaxUint64 / rateOfTarget
	// scaling is the number of seconds of target gas by which the excess grows
	// while the base fee grows by the factor e.
	scaling = 87

	// The target is minTarget x e^(targetExponent / targetConversion) (ACP-176).
	minTarget        = 1_000_000
	targetConversion = 1 << 25
	// The least price is e^(minPriceExponent / priceConversion) wei (ACP-283).
	priceConversion = 415_828_534_307_635_077
)

// target returns the gas per second that a block asks of those after it (ACP-176).
// A synchronous block, which the first others stand on, has it in its extraData:
// the third of the numbers there. A genesis block has none.
func target(h *consensus.Header) uint64 {
	var exponent uint64
	switch {
	case h.TargetExponent != nil:
		exponent = *h.TargetExponent
	case h.Number > 0 && len(h.Extra) >= 3*8:
		exponent = binary.BigEndian.Uint64(h.Extra[2*8:])
	}
	return min(exponential(minTarget, exponent, targetConversion), maxTarget)
}

// leastPrice returns the lowest base fee of the blocks after a block, in wei.
func leastPrice(h *consensus.Header) uint64 {
	if h.MinPriceExponent == nil {
		return 1
	}
	return exponential(1, *h.MinPriceExponent, priceConversion)
}

// After returns the clock after the execution of settled, the last block that is
// settled by settler: it is stated there, but for the target and the least price,
// which are those that settled asks for (avalanchego, vms/saevm/hook: SettledGasTime).
func After(settled, settler *consensus.Header) Clock {
	c := Clock{seconds: member(settler.SettledGasUnix), excess: member(settler.SettledExcess)}
	c.configure(target(settled), leastPrice(settled))
	c.tick(member(settler.SettledGasNumerator))
	return c
}

// Start returns the clock after a synchronous block, on which the first block that
// is not stands: its own time, and the lowest excess that makes its base fee
// (avalanchego, vms/saevm/blocks: synchronousGasTime).
func Start(h *consensus.Header) Clock {
	var c Clock
	c.configure(target(h), leastPrice(h))
	c.seconds, c.fraction = blockTime(h, c.rate())
	if h.BaseFee != nil {
		price := uint64(math.MaxUint64)
		if h.BaseFee.IsUint64() {
			price = h.BaseFee.Uint64()
		}
		c.excess = max(excessOf(price, c.conversion()), c.floor)
	}
	return c
}

// configure sets the target and the least price, and raises the excess to what that
// price stands for.
func (c *Clock) configure(target, minPrice uint64) {
	c.target, c.minPrice = target, minPrice
	c.floor = excessOf(minPrice, c.conversion())
	c.excess = max(c.excess, c.floor)
}

// blockTime returns a block's time in Unix seconds and as a fraction over rate,
// rounded up.
func blockTime(h *consensus.Header, rate uint64) (seconds, fraction uint64) {
	return h.Time, mulDivUp(h.Milli()%1000, rate, 1000) // less than rate, which is above 1000
}

// rate is the gas by which the clock advances a second.
func (c *Clock) rate() uint64 { return c.target * rateOfTarget }

// conversion is the excess by which the base fee grows by the factor e.
func (c *Clock) conversion() uint64 { return mul(c.target, scaling) }

// BaseFee returns what each gas costs by the clock, in wei: the executed base fee
// of a block h once [Clock.Begin] was called with h.
func (c *Clock) BaseFee() uint64 {
	return max(c.minPrice, exponential(1, c.excess, c.conversion()))
}

// Begin advances the clock to the beginning of the execution of h: not before its
// time. The excess falls by the target for each second that was idle.
func (c *Clock) Begin(h *consensus.Header) {
	rate := c.rate()
	to, fraction := blockTime(h, rate)
	if to < c.seconds || to == c.seconds && fraction <= c.fraction {
		return
	}
	seconds := to - c.seconds
	idle := fraction - c.fraction
	if c.fraction > fraction {
		seconds--
		idle += rate
	}
	c.seconds, c.fraction = to, fraction
	c.excess -= min(c.excess, mul(seconds, c.target))
	c.excess -= min(c.excess, idle/rateOfTarget)
	c.excess = max(c.excess, c.floor)
}

// End advances the clock over the execution of h, which used gas: that of its
// receipts and of its atomic transactions. From then on the target and the least
// price are those that h asks for.
func (c *Clock) End(h *consensus.Header, gas uint64) {
	c.tick(gas)
	c.excess = add(c.excess, gas/rateOfTarget)
	next, price := target(h), leastPrice(h)
	if next == c.target && price == c.minPrice {
		return
	}
	c.excess = mulDivUp(c.excess, next, c.target)
	c.fraction = mulDivUp(c.fraction, rateOfTarget*next, c.rate())
	c.configure(next, price)
	if c.fraction >= c.rate() {
		c.seconds, c.fraction = c.seconds+1, c.fraction-c.rate()
	}
}

// tick advances the clock by gas.
func (c *Clock) tick(gas uint64) {
	sum, carry := bits.Add64(c.fraction, gas, 0)
	seconds, fraction := bits.Div64(carry, sum, c.rate())
	c.seconds, c.fraction = c.seconds+seconds, fraction
}
