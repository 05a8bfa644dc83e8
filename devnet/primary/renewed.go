package primary

import (
	"container/heap"
	"math/bits"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
)

// endCycle ends a cycle of the first of the current stakers, by a transaction on which
// the outputs hang that it makes. The validator goes on, unless it asked for no further
// cycle or was not there enough; then all that was staked of its rewards is paid too.
func (s *State) endCycle(x *Staker, by chain.ID, commit bool) {
	r := x.Renewal
	own, fees, status := r.Accrued, r.AccruedFees+x.DelegateeReward, Rewarded
	switch {
	case !commit:
		s.Supply[x.Subnet] -= x.Potential
		status = Unrewarded
	case r.Period > 0:
		s.renew(x, by)
		return
	default:
		own += x.Potential
	}
	s.returnStake(x.Tx)
	s.payCycle(x, by, own, fees)
	s.remove(x, status)
}

// renew begins the next cycle, in which a part of the rewards is staked too.
func (s *State) renew(x *Staker, by chain.ID) {
	r := x.Renewal
	own, fees := restaked(x.Potential, x.DelegateeReward, maxValidatorStake-x.Weight, r.Restaked)
	s.payCycle(x, by, x.Potential-own, x.DelegateeReward-fees)
	heap.Pop(&s.current) // it is the first
	s.sets.add(SubnetNode{x.Subnet, x.NodeID}, own+fees)
	x.Weight += own + fees
	r.Accrued, r.AccruedFees, x.DelegateeReward = r.Accrued+own, r.AccruedFees+fees, 0
	x.Start, x.End = x.End, x.End+r.Period
	r.Cycle++
	s.mint(x)
	heap.Push(&s.current, x)
}

// payCycle makes the outputs of an end of a cycle.
func (s *State) payCycle(x *Staker, by chain.ID, own, fees uint64) {
	ownOwners, feeOwners := RewardOwners(x.Tx)
	ref := utxo.Ref{TxID: by}
	if own > 0 {
		s.pay(x, own, ownOwners, ref, false)
		ref.Index++
	}
	if fees > 0 {
		s.pay(x, fees, feeOwners, ref, true)
	}
}

// restaked returns what is staked of a validator's own reward and of its share of its
// delegators': so many parts of a million, rounded up, but together at most room.
func restaked(own, fees, room uint64, shares uint32) (ownPart, feesPart uint64) {
	ownPart, feesPart = own-rest(own, shares), fees-rest(fees, shares)
	if total := ownPart + feesPart; total > room {
		high, low := bits.Mul64(ownPart, room)
		ownPart, _ = bits.Div64(high, low, total)
		feesPart = room - ownPart
	}
	return ownPart, feesPart
}

// rest returns what is left of an amount without so many parts of a million.
func rest(amount uint64, shares uint32) uint64 {
	parts := million - uint64(shares)
	if high, low := bits.Mul64(parts, amount); high == 0 {
		return low / million
	}
	return parts * (amount / million) // as the node does with what would overflow
}
