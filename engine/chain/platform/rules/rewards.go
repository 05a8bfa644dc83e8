// Package rules holds formulas of the P-Chain by which amounts change without a
// transaction that names them: what a validator or delegator earns, and what the
// validators of L1s pay by the second. All of it is exact, as consensus requires.
//
// Source: vms/platformvm/reward, vms/platformvm/validators/fee,
// vms/components/gas, vms/platformvm/txs/executor/state_changes.go,
// vms/platformvm/block/executor/verifier.go and genesis of avalanchego v1.15.0.
// The tests compare with what the packages of v1.14.2 compute, and v1.15.0 of Helicon.
package rules

import (
	"math/big"
	"math/bits"
)

// Denominator is what rates, shares and fees are parts of.
const Denominator = 1_000_000

// Rewards are the parameters by which stake is rewarded: those of the primary
// network, or of a subnet by the transaction that transformed it, with the primary
// network's period.
type Rewards struct {
	MinRate   uint64 // of Denominator, for a stake of no duration
	MaxRate   uint64 // of Denominator, for a stake of a whole period
	Period    uint64 // seconds
	SupplyCap uint64
}

// Reward returns what a stake of some seconds earns at the supply of the time when
// it starts:
//
//	(cap - supply) * stake / supply * rate * seconds / period,
//	rate = min + (max - min) * seconds / period
//
// rounded down once. From then on the supply includes it; if the reward is refused
// at the end, the supply decreases again. A supply of zero or over the cap, which no
// chain has, earns nothing.
func (r Rewards) Reward(seconds, stake, supply uint64) uint64 {
	if supply == 0 || supply > r.SupplyCap || r.Period == 0 || r.MaxRate < r.MinRate {
		return 0
	}
	remaining := r.SupplyCap - supply
	duration, period := number(seconds), number(r.Period)
	rate := new(big.Int).Mul(number(r.MaxRate-r.MinRate), duration)
	rate.Add(rate, new(big.Int).Mul(number(r.MinRate), period))

	reward := number(remaining)
	for _, factor := range []*big.Int{rate, number(stake), duration} {
		reward.Mul(reward, factor)
	}
	// Rounding down after each division is rounding down once.
	for _, divisor := range []*big.Int{period, number(Denominator), number(supply), period} {
		reward.Quo(reward, divisor)
	}
	if !reward.IsUint64() {
		return remaining
	}
	return min(remaining, reward.Uint64())
}

func number(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// Split divides a delegator's reward between the validator, who takes a fee of so
// many parts of [Denominator], and the delegator. A fee over the whole takes it all.
func Split(reward uint64, fee uint32) (validator, delegator uint64) {
	rest := uint64(Denominator) - min(uint64(fee), Denominator)
	// The product is divided if it has 64 bits; otherwise the reward is, before.
	if high, low := bits.Mul64(rest, reward); high == 0 {
		delegator = low / Denominator
	} else {
		delegator = rest * (reward / Denominator)
	}
	return reward - delegator, delegator
}
