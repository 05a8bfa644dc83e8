package rules

import (
	"errors"
	"math"
	"math/bits"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
)

// ErrOverflow means that fees exceed 64 bits. The chain refuses the block.
var ErrOverflow = errors.New("fees of L1 validators exceed 64 bits")

// FeeConfig are the parameters of the fee that active validators of L1s pay by the
// second (ACP-77).
type FeeConfig struct {
	Capacity         uint64 // most active validators
	Target           uint64 // active validators at which the price stays
	MinPrice         uint64 // nAVAX a second
	ExcessConversion uint64 // excess at which the price is e times the least
}

// L1Fees is the state of the fee. A validator is active while the fees that one
// validator would have paid since the beginning, Accrued, are less than its own
// limit: what had accrued when it became active, and its balance.
//
// A block changes the state in this order. First its time: [L1Fees.Advance], and
// validators whose limit is at most Accrued are deactivated. Then its transactions,
// which change Active. Last, validators whose limit is less than
// [L1Fees.NextSecond] are deactivated too, for they could not pay for another
// second; a validator that can pay exactly that stays.
type L1Fees struct {
	Active  uint64 // number of active validators
	Excess  uint64 // sum of what was over the target, by the second
	Accrued uint64 // nAVAX
}

// Price returns what a validator pays for a second at the present excess:
//
//	MinPrice * e^(Excess / ExcessConversion)
//
// by the integer approximation of EIP-4844, at most the largest number of 64 bits.
func (f L1Fees) Price(c FeeConfig) uint64 {
	if c.ExcessConversion == 0 {
		return math.MaxUint64
	}
	var sum, term, divisor uint256.Int
	excess, conversion := uint256.NewInt(f.Excess), uint256.NewInt(c.ExcessConversion)
	limit := new(uint256.Int).Mul(conversion, uint256.NewInt(math.MaxUint64))
	term.Mul(uint256.NewInt(c.MinPrice), conversion)
	for i := uint64(1); !term.IsZero(); i++ {
		// A sum below the limit has 128 bits, and so the product at most 192.
		if sum.Add(&sum, &term); !sum.Lt(limit) {
			return math.MaxUint64
		}
		term.Div(term.Mul(&term, excess), conversion)
		term.Div(&term, divisor.SetUint64(i))
	}
	return sum.Div(&sum, conversion).Uint64()
}

// after returns the excess after some seconds.
func (f L1Fees) after(c FeeConfig, seconds uint64) L1Fees {
	if f.Active >= c.Target {
		f.Excess = chain.AddSaturated(f.Excess, mulSaturated(f.Active-c.Target, seconds))
		return f
	}
	f.Excess -= min(f.Excess, mulSaturated(c.Target-f.Active, seconds))
	return f
}

// Cost returns what a validator pays for some seconds from now on, at most the
// largest number of 64 bits. The price changes by the second.
func (f L1Fees) Cost(c FeeConfig, seconds uint64) uint64 {
	if f.Active == c.Target {
		return mulSaturated(f.Price(c), seconds)
	}
	cost := uint64(0)
	for i := range seconds {
		if f = f.after(c, 1); f.Excess == 0 { // and it stays at zero
			return chain.AddSaturated(cost, mulSaturated(c.MinPrice, seconds-i))
		}
		if cost = chain.AddSaturated(cost, f.Price(c)); cost == math.MaxUint64 {
			return cost
		}
	}
	return cost
}

// Advance returns the state some seconds later, before anybody is deactivated.
func (f L1Fees) Advance(c FeeConfig, seconds uint64) (L1Fees, error) {
	accrued, over := bits.Add64(f.Accrued, f.Cost(c, seconds), 0)
	if over != 0 {
		return f, ErrOverflow
	}
	f = f.after(c, seconds)
	f.Accrued = accrued
	return f, nil
}

// NextSecond returns what will have accrued one second later.
func (f L1Fees) NextSecond(c FeeConfig) (uint64, error) {
	accrued, over := bits.Add64(f.Accrued, f.Cost(c, 1), 0)
	if over != 0 {
		return 0, ErrOverflow
	}
	return accrued, nil
}

// SecondsLeft returns for how many seconds, at most most, funds would last if the
// number of active validators did not change.
func (f L1Fees) SecondsLeft(c FeeConfig, most, funds uint64) uint64 {
	switch {
	case c.MinPrice == 0:
		return most
	case f.Active == c.Target:
		return min(most, funds/f.Price(c))
	}
	for i := range most {
		if f = f.after(c, 1); f.Excess == 0 {
			return min(most, chain.AddSaturated(i, funds/c.MinPrice))
		}
		price := f.Price(c)
		if price > funds {
			return i
		}
		funds -= price
	}
	return most
}

func mulSaturated(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
