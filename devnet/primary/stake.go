package primary

import (
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// The rules of staking of a local network, but that nobody here stakes for less than
// two weeks until the history ends.
const (
	MinValidatorStake = 2_000 * avax
	maxValidatorStake = 3_000_000 * avax
	MinDelegatorStake = 25 * avax
	minStake          = 14 * day
	maxStake          = 365 * day
	heliconMinStake   = 3600   // of validators since Helicon; delegators' stays
	minFee            = 20_000 // of million
)

// What there is at genesis.
const (
	founders     = 5 // validators
	founderStake = 500_000 * avax
	accountFunds = 900_000 * avax
	lockedFunds  = 40_000 * avax
	minFormers   = 12
	maxFormers   = 200
)

// validators returns the current and pending validators of a subnet, in the order in
// which they were added.
func (m *maker) validators(subnet chain.ID) []*Staker {
	list := slices.DeleteFunc(m.order[subnet], func(x *Staker) bool { return x.Status > Current })
	m.order[subnet] = list
	return list
}

// note remembers who validates.
func (m *maker) note(tx *platform.Tx) {
	if x := m.s.Stakers[tx.ID]; x != nil && !x.Delegator {
		m.order[x.Subnet] = append(m.order[x.Subnet], x)
		m.final[x.TxID] = x.End > m.tip
	}
}

// stint is what a validator of the primary network asks for.
type stint struct {
	node       *world.Validator
	payer      address.Address
	rewards    utxo.Owners
	fees       utxo.Owners
	stake      uint64
	start, end uint64 // start counts before Durango
	fee        uint32
	old        bool // without a BLS key, by the transaction of before Banff
}

// validate adds a validator, in the form of the time.
func (m *maker) validate(x stint) (platform.Body, []int) {
	if m.s.Validators[SubnetNode{chain.PrimaryNetworkID, x.node.NodeID}] != nil {
		return nil, nil
	}
	stake := out(m.w.AssetID(), x.stake, x.payer)
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), x.stake})
	if !ok {
		return nil, nil
	}
	part := platform.Validator{NodeID: x.node.NodeID, Start: x.start, End: x.end, Weight: x.stake}
	if x.old || m.s.Time < m.forks.Banff {
		return &platform.AddValidator{
			Base: base, Validator: part, Stake: []utxo.Output{stake}, RewardsOwner: x.rewards, DelegationFee: x.fee,
		}, signers
	}
	return &platform.AddPermissionlessValidator{
		Base: base, Validator: part, Signer: &platform.Signer{PublicKey: x.node.PublicKey, ProofOfPossession: x.node.Proof()},
		Stake: []utxo.Output{stake}, ValidatorRewardsOwner: x.rewards, DelegationRewardsOwner: x.fees, DelegationFee: x.fee,
	}, signers
}

// soon is when a staker asks to begin: soon. Since Durango it begins at once.
func (m *maker) soon(at uint64) uint64 {
	if m.s.Time >= m.forks.Durango {
		return at
	}
	return max(at, m.s.Time) + 600 + m.rng.Uint64N(3*day)
}

// formerValidates has a node validate that will be none at the end of the history.
func (m *maker) formerValidates(at uint64) (platform.Body, []int) {
	node := m.formers[m.rng.IntN(len(m.formers))]
	if i := m.rng.IntN(4 * len(m.formers)); i < len(m.guests) { // or one of those that are today
		node = m.guests[i]
	}
	start := m.soon(at)
	free := m.free[node.NodeID]
	if free == 0 {
		free = m.tip - 2*day
	}
	least := uint64(minStake)
	if m.s.Time >= m.forks.Helicon {
		least = heliconMinStake
	}
	if start+least+day > free {
		return nil, nil
	}
	x := stint{
		node: node, payer: m.account(), stake: m.amount(MinValidatorStake, maxValidatorStake/4), start: start,
		end: start + least + m.rng.Uint64N(min(maxStake, free-start)-least),
		fee: minFee + uint32(m.rng.IntN(20))*10_000, // small
		old: m.rng.IntN(4) == 0 && at < m.forks.Durango-day,
	}
	x.rewards, x.fees = world.Single(node.Reward), world.Single(x.payer)
	return m.validate(x)
}

// delegate stakes on one of the validators.
func (m *maker) delegate(at uint64) (platform.Body, []int) {
	start := m.soon(at)
	live := m.validators(chain.PrimaryNetworkID)
	for range 8 {
		if len(live) == 0 {
			break
		}
		v := live[m.rng.IntN(len(live))]
		from, latest := max(start, v.Start), v.End
		if m.final[v.TxID] && !m.grown {
			latest = min(latest, m.tip-day) // at the end of the history the weights are those of the world
		}
		least := uint64(minStake)
		if m.grown {
			least = day
		}
		if from+least >= latest || m.s.Time >= m.forks.Durango && from > start || from > m.s.Time+13*day && m.s.Time < m.forks.Durango {
			continue
		}
		weight := m.amount(MinDelegatorStake, 30_000*avax)
		if v.Weight+m.s.delegated[SubnetNode{v.Subnet, v.NodeID}]+weight > min(5*v.Weight, maxValidatorStake) {
			continue
		}
		length := least + m.rng.Uint64N(min(latest-from, maxStake)-least)
		if m.rng.IntN(3) > 0 {
			length = least + m.rng.Uint64N(min(latest-from, least+30*day)-least)
		}
		return m.delegation(v, m.account(), weight, from, from+length)
	}
	return nil, nil
}

// delegation stakes on a validator, in the form of the time.
func (m *maker) delegation(v *Staker, payer address.Address, weight, start, end uint64) (platform.Body, []int) {
	base, signers, ok := m.fund(payer, nil, bill{m.w.AssetID(), weight})
	if !ok {
		return nil, nil
	}
	part := platform.Validator{NodeID: v.NodeID, Start: start, End: end, Weight: weight}
	stake, owner := []utxo.Output{out(m.w.AssetID(), weight, payer)}, world.Single(payer)
	if m.rng.IntN(10) == 0 { // to somebody else
		owner = world.Single(m.account())
	}
	return m.delegator(base, part, stake, owner), signers
}

// delegator is the transaction of the time: there are two kinds of it from Banff until
// Durango.
func (m *maker) delegator(base utxo.Base, part platform.Validator, stake []utxo.Output, owner utxo.Owners) platform.Body {
	if m.s.Time < m.forks.Banff || m.s.Time < m.forks.Durango && m.rng.IntN(3) == 0 {
		return &platform.AddDelegator{Base: base, Validator: part, Stake: stake, RewardsOwner: owner}
	}
	return &platform.AddPermissionlessDelegator{Base: base, Validator: part, Stake: stake, RewardsOwner: owner}
}

// delegateLocked stakes what is locked, which stays so.
func (m *maker) delegateLocked(at uint64) (platform.Body, []int) {
	start := m.soon(at)
	m.s.locked = m.s.unspent(m.s.locked)
	for _, ref := range m.s.locked {
		u := m.s.UTXOs[ref]
		if u.StakeLock < start+2*minStake || u.Amount < 4*MinDelegatorStake {
			continue
		}
		for _, v := range m.validators(chain.PrimaryNetworkID) {
			weight := u.Amount / 3
			end := start + 2*minStake
			if v.Status != Current || m.final[v.TxID] || v.End < end ||
				v.Weight+m.s.delegated[SubnetNode{v.Subnet, v.NodeID}]+weight > min(5*v.Weight, maxValidatorStake) {
				continue
			}
			stake, rest := u.Output, u.Output
			stake.Amount, rest.Amount = weight, u.Amount-weight
			base := utxo.Base{
				NetworkID: world.NetworkID, Outputs: []utxo.Output{rest},
				Inputs: []utxo.Input{{
					Ref: ref, Asset: u.Asset, StakeLock: u.StakeLock, Amount: u.Amount, Auth: utxo.Auth{Indices: []uint32{0}},
				}},
			}
			part := platform.Validator{NodeID: v.NodeID, Start: start, End: end, Weight: weight}
			return m.delegator(base, part, []utxo.Output{stake}, u.Owners), []int{1}
		}
	}
	return nil, nil
}
