package primary

import (
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// cycle is one of an auto-renewed validator's. It is asked for in the one before.
type cycle struct {
	period uint64 // seconds
	shares uint32 // that are staked too, of a million
}

// The shares of rewards that validators here have staked.
const (
	restakeNone = 0
	restakeHalf = million / 2
	restakeAll  = million
)

// renewer is a node that validates by renewed cycles, for itself.
type renewer struct {
	node  *world.Validator
	stake uint64
	fee   uint32
	// joined: it was added, and is again whenever it leaves, if it is one that lasts.
	joined bool
	next   cycle // of a validator at the end of the history: how it joins
}

// stretch is the life of a renewer in the history: its cycles, and the one of them, from
// 1 on, for too much of which it is away; zero: none. Otherwise it leaves after the last.
type stretch struct {
	cycles []cycle
	away   int
}

// renewals returns what is planned in the history, one kind of everything, for cycles of
// a length. A renewer's next stretch begins when the one before ends.
func renewals(p uint64) [][]stretch {
	same := func(n int, shares uint32) []cycle { return slices.Repeat([]cycle{{p, shares}}, n) }
	return [][]stretch{
		{{cycles: same(3, restakeNone)}},
		{{cycles: same(4, restakeHalf)}},
		{{cycles: same(4, restakeAll), away: 4}, {cycles: same(1, restakeHalf)}},                                 // and again
		{{cycles: same(3, restakeAll)}},                                                                          // to the greatest stake
		{{cycles: []cycle{{p, 300_000}, {p / 2, restakeAll}, {p, restakeNone}, {p + p/2, 1}}}},                   // others each time
		{{cycles: same(2, restakeHalf), away: 1}, {cycles: same(2, restakeAll)}, {cycles: same(1, restakeHalf)}}, // nothing accrued
		{{cycles: same(3, restakeNone), away: 2}},
	}
}

// greatest is the index of the renewer that reaches the greatest stake.
const greatest = 3

// maxRenewals bounds renewers of the history.
const maxRenewals = 40

// findRenewers says who validates by renewed cycles: nodes of their own in the history
// after Helicon, and some of those that are validators at its end.
func (m *maker) findRenewers(tip uint64) error {
	if m.forks.Helicon == Never {
		return nil
	}
	m.away = make(map[chain.ID]int)
	if m.cyclePeriod(tip) > 0 {
		for i := range min(max(len(renewals(1)), m.cfg.Blocks/400), maxRenewals) {
			v, err := m.w.Former(len(m.formers) + i)
			if err != nil {
				return err
			}
			m.nodes[v.NodeID] = v
			r := &renewer{node: v, stake: m.amount(MinValidatorStake, maxValidatorStake/8), fee: minFee + uint32(i)*10_000} // few
			if i == greatest {
				// The first cycle's reward still has room, not so that of the second.
				r.stake, r.fee = maxValidatorStake-maxValidatorStake/20*3/minting*m.cyclePeriod(tip), 200_000
			}
			m.renewers = append(m.renewers, r)
		}
	}
	if m.joins(tip, 0) > tip+60*day { // legacy stakes do not last so long
		return nil
	}
	var able []*world.Validator
	for _, v := range m.w.Validators() {
		if v.Index > 0 && v.Weight > 0 && v.Weight <= maxValidatorStake && !v.Keyless {
			able = append(able, v)
		}
	}
	kinds := []cycle{{5 * 3600, restakeNone}, {30 * 3600, restakeHalf}, {heliconMinStake, restakeAll}}
	for i, v := range able[:max(min(len(able)-1, max(len(kinds), len(able)/8), 24), 0)] {
		m.lasting = append(m.lasting, &renewer{node: v, stake: v.Weight, fee: minFee, next: kinds[i%len(kinds)]})
	}
	return nil
}

// cyclePeriod is the length of most cycles in the history: eight fit between Helicon and
// its end. Zero: it is too short.
func (m *maker) cyclePeriod(tip uint64) uint64 {
	if m.forks.Helicon >= tip || (tip-m.forks.Helicon)/8 < 2*heliconMinStake {
		return 0
	}
	return min((tip-m.forks.Helicon)/8, 5*day)
}

// joins is when the i-th validator that lasts begins the first cycle after the history's
// end and after Helicon: soon after both.
func (m *maker) joins(tip uint64, i int) uint64 {
	return max(tip, m.forks.Helicon) + 300 + 97*uint64(i) // few
}

// renewing returns who a validator is among those that last, or nil.
func (m *maker) renewing(v *world.Validator) *renewer {
	for _, r := range m.lasting {
		if r.node == v {
			return r
		}
	}
	return nil
}

// planRenewals plans the cycles of the history.
func (m *maker) planRenewals() {
	p := m.cyclePeriod(m.tip)
	for i, r := range m.renewers {
		plans := renewals(p)
		at := m.forks.Helicon
		if i > 1 { // the cycles of the first two end at once
			at += m.rng.Uint64N(p)
		}
		for _, s := range plans[i%len(plans)] {
			at = m.planStretch(r, s, at)
		}
	}
}

// planStretch plans cycles from a time on, and returns when they end.
func (m *maker) planStretch(r *renewer, s stretch, at uint64) uint64 {
	first := s.cycles[0]
	m.once(at, func(uint64) (platform.Body, []int) { return m.renewable(r, first) })
	m.at(at, func(uint64) {
		if x := m.renewed(r); x != nil {
			m.away[x.TxID] = s.away
		}
	})
	for i, c := range s.cycles {
		if c.period > day+3600 {
			for range 1 + m.rng.IntN(3) {
				m.once(at+m.rng.Uint64N(c.period-day), func(at uint64) (platform.Body, []int) { return m.delegateCycle(r, at) })
			}
		}
		next := cycle{0, c.shares} // leaves
		if i+1 < len(s.cycles) {
			next = s.cycles[i+1]
		}
		if next != c && s.away != i+1 {
			m.once(at+c.period/2, func(uint64) (platform.Body, []int) { return m.configure(r, next) })
		}
		at += c.period
		if s.away == i+1 {
			break
		}
	}
	return at
}

// renewed returns a renewer as the chain knows it, or nil.
func (m *maker) renewed(r *renewer) *Staker {
	x := m.s.Validators[SubnetNode{chain.PrimaryNetworkID, r.node.NodeID}]
	if x == nil || x.Renewal == nil {
		return nil
	}
	return x
}

// renewable adds an auto-renewed validator.
func (m *maker) renewable(r *renewer, c cycle) (platform.Body, []int) {
	if m.s.Validators[SubnetNode{chain.PrimaryNetworkID, r.node.NodeID}] != nil {
		return nil, nil
	}
	payer := r.node.Reward
	base, signers, ok := m.fund(payer, nil, bill{m.w.AssetID(), r.stake + baseFee})
	if !ok {
		return nil, nil
	}
	r.joined = true
	return &platform.AddAutoRenewedValidator{
		Base: base, NodeID: r.node.NodeID, Signer: &platform.Signer{PublicKey: r.node.PublicKey, ProofOfPossession: r.node.Proof()},
		Stake: []utxo.Output{out(m.w.AssetID(), r.stake, payer)}, ValidatorRewardsOwner: world.Single(payer),
		DelegationRewardsOwner: world.Single(m.delegationOwner(payer)), Authority: world.Single(payer),
		DelegationFee: r.fee, Restaked: c.shares, Period: c.period,
	}, signers
}

// delegationOwner is who gets the share of a node's delegators' rewards: often the node.
func (m *maker) delegationOwner(node address.Address) address.Address {
	if m.rng.IntN(3) == 0 {
		return m.account()
	}
	return node
}

// configure asks for another next cycle.
func (m *maker) configure(r *renewer, next cycle) (platform.Body, []int) {
	x := m.renewed(r)
	if x == nil {
		return nil, nil
	}
	base, signers, ok := m.fund(r.node.Reward, nil, bill{m.w.AssetID(), baseFee})
	if !ok {
		return nil, nil
	}
	return &platform.SetAutoRenewedValidatorConfig{
		Base: base, TxID: x.TxID, Auth: utxo.Auth{Indices: []uint32{0}}, Restaked: next.shares, Period: next.period,
	}, append(signers, 1)
}

// delegateCycle stakes on an auto-renewed validator until at most the end of its cycle.
func (m *maker) delegateCycle(r *renewer, at uint64) (platform.Body, []int) {
	x := m.renewed(r)
	if x == nil || x.End < at+day {
		return nil, nil
	}
	weight := m.amount(MinDelegatorStake, 400*avax)
	if x.Weight+m.s.delegated[SubnetNode{x.Subnet, x.NodeID}]+weight > min(5*x.Weight, maxValidatorStake) {
		return nil, nil
	}
	return m.delegation(x, m.account(), weight, at, x.End-m.rng.Uint64N(x.End-at-day+1))
}

// planLasting has those join that last: so that their weight is that of the world at the
// end of the history, what is staked of rewards is so only later. Where the first cycle
// would begin before Helicon, a legacy stake precedes it.
func (m *maker) planLasting() {
	for i, r := range m.lasting {
		turn, period := m.joins(m.tip, i), r.next.period
		start := turn - period
		for range 4 {
			if r.next.shares == restakeNone && start >= m.forks.Helicon+period {
				start -= period
			}
		}
		if start >= m.forks.Helicon && start < m.tip {
			m.free[r.node.NodeID] = start - 5*day
			m.once(start, func(uint64) (platform.Body, []int) { return m.renewable(r, r.next) })
			continue
		}
		start = m.between(m.forks.Durango+10*day, m.tip-50*day)
		m.free[r.node.NodeID] = start - 5*day
		m.once(start, func(at uint64) (platform.Body, []int) {
			r.joined = true
			own := world.Single(r.node.Reward)
			return m.validate(stint{node: r.node, payer: r.node.Reward, rewards: own, fees: own, stake: r.stake, start: at, end: turn, fee: minFee})
		})
	}
}

// rejoin has those validators join again whose stake has just ended, with another share.
func (m *maker) rejoin(at uint64) {
	for _, r := range m.lasting {
		if r.joined && at >= m.forks.Helicon && m.s.Validators[SubnetNode{chain.PrimaryNetworkID, r.node.NodeID}] == nil {
			m.act(at, func(uint64) (platform.Body, []int) { return m.renewable(r, r.next) })
			r.next.shares = (r.next.shares + restakeHalf) % (restakeAll + restakeHalf)
		}
	}
}

// reconfigure has one of them ask for another next cycle, or to leave.
func (m *maker) reconfigure() (platform.Body, []int) {
	r := m.lasting[m.rng.IntN(len(m.lasting))]
	next := cycle{heliconMinStake * (1 + m.rng.Uint64N(6)), restakeHalf * uint32(m.rng.IntN(3))} // small
	switch m.rng.IntN(4) {
	case 0:
		next.period = 0
	case 1:
		next.period = 30 * heliconMinStake
	}
	return m.configure(r, next)
}
