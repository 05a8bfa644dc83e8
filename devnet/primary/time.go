package primary

import (
	"bytes"
	"container/heap"
	"math/big"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// What stake earns on a local network, and what validators of L1s pay. The price
// stays at its least while fewer of them than the target, 10,000, are active.
const (
	minRate     = 100_000 // of million
	heliconRate = 75_000  // what it falls to
	rateFall    = 90 * day
	maxRate     = 120_000 // of million
	minting     = 365 * day
	supplyCap   = 720_000_000 * avax
	l1Price     = 1 // nAVAX a second
	million     = 1_000_000
	avax        = 1_000_000_000 // nAVAX
)

// The order in which stakers that change at the same time do so: of pending ones,
// then of current ones.
const (
	pendingOldDelegator uint8 = 1 + iota
	pendingValidator
	pendingDelegator
	pendingSubnetValidator
	pendingSubnetDelegator
	pendingPermissioned
	currentPermissioned
	currentSubnetDelegator
	currentSubnetValidator
	currentDelegator
	currentValidator
)

// advance moves the chain's time: pending stakers begin, permissioned ones end, and
// validators of L1s pay. It reports whether anything changed but the time.
func (s *State) advance(to uint64) (changed bool) {
	for first := s.pending.first(); first != nil && first.Start <= to; first = s.pending.first() {
		heap.Pop(&s.pending)
		s.begin(first)
		changed = true
	}
	for first := s.current.first(); first != nil && first.End <= to && first.Permissioned; first = s.current.first() {
		s.remove(first, Removed)
		changed = true
	}
	if to >= s.forks.Etna {
		s.Accrued += (to - s.Time) * l1Price
		changed = s.deactivate(func(v *L1Validator) bool { return v.EndAccrued <= s.Accrued }) || changed
	}
	s.Time = to
	return changed
}

// evict deactivates, at the end of a block, those who cannot pay for another second.
func (s *State) evict() bool {
	return s.deactivate(func(v *L1Validator) bool { return v.EndAccrued < s.Accrued+l1Price })
}

func (s *State) deactivate(poor func(*L1Validator) bool) (changed bool) {
	for _, v := range s.L1Validators {
		if v.EndAccrued != 0 && poor(v) {
			s.activity(v, 0)
			changed = true
		}
	}
	return changed
}

// begin makes a staker current.
func (s *State) begin(x *Staker) {
	if x.Status = Current; x.Permissioned {
		x.priority = currentPermissioned
	} else {
		s.mint(x)
		x.priority = currentPriority(x)
	}
	s.Stakers[x.TxID] = x
	if !x.Delegator {
		s.Validators[SubnetNode{x.Subnet, x.NodeID}] = x
	}
	heap.Push(&s.current, x)
	s.sets.add(SubnetNode{x.Subnet, x.NodeID}, x.Weight)
	if !x.Delegator {
		s.sets.key(SubnetNode{x.Subnet, x.NodeID}, s.signerOf(x))
	}
}

// mint sets the reward that a staker is to have, of which the supply consists from its
// start on.
func (s *State) mint(x *Staker) {
	supply := s.Supply[x.Subnet]
	rates, most := s.rates(x.Start), uint64(supplyCap)
	if subnet := s.Subnets[x.Subnet]; subnet != nil {
		t := subnet.Transform.Body.(*platform.TransformSubnet)
		rates, most = [2]uint64{t.MinConsumptionRate, t.MaxConsumptionRate}, t.MaximumSupply
	}
	x.Potential = earned(x.End-x.Start, x.Weight, supply, rates, most)
	s.Supply[x.Subnet] = supply + x.Potential
}

// rates are the primary network's for a stake that starts at a time: the lower one falls
// for 90 days from Helicon on.
func (s *State) rates(start uint64) [2]uint64 {
	if start < s.forks.Helicon {
		return [2]uint64{minRate, maxRate}
	}
	fallen := (minRate - heliconRate) * min(start-s.forks.Helicon, rateFall) / rateFall
	return [2]uint64{minRate - fallen, maxRate}
}

// signerOf returns the BLS key of a validator. On subnets it is the one of the
// primary network.
func (s *State) signerOf(x *Staker) *[platform.BLSKeyLen]byte {
	if x.Subnet != chain.PrimaryNetworkID {
		x = s.Validators[SubnetNode{chain.PrimaryNetworkID, x.NodeID}]
	}
	if x == nil || x.Signer == nil {
		return nil
	}
	return &x.Signer.PublicKey
}

func currentPriority(x *Staker) uint8 {
	switch {
	case x.Subnet == chain.PrimaryNetworkID && x.Delegator:
		return currentDelegator
	case x.Subnet == chain.PrimaryNetworkID:
		return currentValidator
	case x.Delegator:
		return currentSubnetDelegator
	}
	return currentSubnetValidator
}

// earned is the reward of a stake.
func earned(seconds, stake, supply uint64, rates [2]uint64, most uint64) uint64 {
	if supply >= most {
		return 0
	}
	n := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	rate := n(0).Mul(n(rates[1]-rates[0]), n(seconds))
	rate.Add(rate, n(0).Mul(n(rates[0]), n(minting)))
	reward := n(most - supply)
	for _, factor := range []*big.Int{rate, n(stake), n(seconds)} {
		reward.Mul(reward, factor)
	}
	for _, divisor := range []uint64{minting * million, supply, minting} {
		reward.Div(reward, n(divisor))
	}
	if !reward.IsUint64() {
		return most - supply
	}
	return min(most-supply, reward.Uint64())
}

// reward ends the first of the current stakers, or its cycle, with its reward if commit
// is set. The transaction by does so.
func (s *State) reward(by chain.ID, commit bool) {
	x := s.current.first()
	if x.Renewal != nil {
		s.endCycle(x, by, commit)
		return
	}
	tx := s.Txs[x.TxID].Tx
	next := utxo.Ref{TxID: tx.ID, Index: s.returnStake(tx)}
	switch {
	case !x.Delegator:
		s.rewardValidator(x, tx, next, commit)
	case commit:
		s.rewardDelegator(x, tx, next)
	}
	status := Rewarded
	if !commit {
		status = Unrewarded
		s.Supply[x.Subnet] -= x.Potential
	}
	s.remove(x, status)
}

// returnStake makes the outputs of the stake, and returns the index of the next.
func (s *State) returnStake(tx *platform.Tx) uint32 {
	next := uint32(len(tx.Body.Funds().Outputs)) // few
	for _, out := range Stake(tx) {
		s.addUTXO(utxo.UTXO{Ref: utxo.Ref{TxID: tx.ID, Index: next}, Output: out})
		next++
	}
	return next
}

func (s *State) rewardValidator(x *Staker, tx *platform.Tx, next utxo.Ref, commit bool) {
	own, fees := RewardOwners(tx)
	if commit && x.Potential > 0 {
		s.pay(x, x.Potential, own, next, false)
		next.Index++
	}
	if x.DelegateeReward > 0 {
		s.pay(x, x.DelegateeReward, fees, next, true)
	}
}

func (s *State) rewardDelegator(x *Staker, tx *platform.Tx, next utxo.Ref) {
	validator := s.Validators[SubnetNode{x.Subnet, x.NodeID}]
	delegator := rest(x.Potential, validator.Fee)
	fee := x.Potential - delegator
	own, _ := RewardOwners(tx)
	if delegator > 0 {
		s.pay(x, delegator, own, next, false)
		next.Index++
	}
	switch {
	case fee == 0:
	case validator.Start >= s.forks.Cortina:
		validator.DelegateeReward += fee
	default:
		_, fees := RewardOwners(s.Txs[validator.TxID].Tx)
		s.pay(x, fee, fees, next, true)
	}
}

// pay makes an output for an end of a staker.
func (s *State) pay(x *Staker, amount uint64, owners utxo.Owners, ref utxo.Ref, fee bool) {
	u := utxo.UTXO{Ref: ref, Output: utxo.Output{
		Asset: Stake(s.Txs[x.TxID].Tx)[0].Asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: amount, Owners: owners},
	}}
	s.addUTXO(u)
	x.Rewards = append(x.Rewards, Reward{UTXO: u, Staked: x.Weight, Start: x.Start, End: x.End, Fee: fee})
}

// remove takes a current staker out.
func (s *State) remove(x *Staker, status Status) {
	x.Status, x.EndHeight = status, s.Height
	at := SubnetNode{x.Subnet, x.NodeID}
	s.sets.sub(at, x.Weight)
	if x.Delegator {
		s.delegated[at] -= x.Weight
	} else {
		delete(s.Validators, at)
	}
}

// activity sets the sum of fees at which an L1 validator has used up its balance,
// zero to deactivate it.
func (s *State) activity(v *L1Validator, end uint64) {
	s.leaveL1(v)
	v.EndAccrued = end
	s.joinL1(v)
}

// joinL1 adds an L1 validator to its set, and leaveL1 takes it out. Inactive ones are
// one member without a node and a key.
func (s *State) joinL1(v *L1Validator) {
	at := SubnetNode{Subnet: v.Subnet}
	if v.EndAccrued != 0 {
		at.Node = v.NodeID
		s.sets.key(at, &v.PublicKey)
	}
	s.sets.add(at, v.Weight)
}

func (s *State) leaveL1(v *L1Validator) {
	at := SubnetNode{Subnet: v.Subnet}
	if v.EndAccrued != 0 {
		at.Node = v.NodeID
	}
	s.sets.sub(at, v.Weight)
}

// Active returns the number of active validators of L1s.
func (s *State) Active() (n int) {
	for _, v := range s.L1Validators {
		if v.EndAccrued != 0 {
			n++
		}
	}
	return n
}

// CurrentStakers returns those that validate or delegate now, in order of their
// transactions' IDs.
func (s *State) CurrentStakers() []*Staker {
	var all []*Staker
	for _, x := range s.current.list {
		if x.Status == Current {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *Staker) int { return bytes.Compare(a.TxID[:], b.TxID[:]) })
	return all
}

// PendingStakers returns those that will, likewise.
func (s *State) PendingStakers() []*Staker {
	var all []*Staker
	for _, x := range s.pending.list {
		if x.Status == Pending {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *Staker) int { return bytes.Compare(a.TxID[:], b.TxID[:]) })
	return all
}
