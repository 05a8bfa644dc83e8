package primary

import (
	"cmp"
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
)

// act is what somebody does at random, so many times in a hundred.
type act struct {
	share int
	do    func(at uint64) (platform.Body, []int)
}

// plan fills the queue of all that happens until tip.
func (m *maker) plan(tip uint64) {
	m.tip = tip
	m.order, m.final, m.free = make(map[chain.ID][]*Staker), make(map[chain.ID]bool), make(map[chain.NodeID]uint64)
	for _, x := range m.s.CurrentStakers() {
		m.order[x.Subnet] = append(m.order[x.Subnet], x)
	}
	for _, v := range m.w.Validators() {
		if v.Weight > 0 && len(m.guests) < 24 {
			m.guests = append(m.guests, v)
		}
	}
	m.planFinal()
	m.planSubnets()
	m.planL1s()
	m.planElastic()
	m.planX()
	m.planRandom()
	m.planRenewals()
}

// at plans something for a time, behind what was planned for it before.
func (m *maker) at(t uint64, do func(at uint64)) {
	i, _ := slices.BinarySearchFunc(m.queue, t+1, func(e event, t uint64) int { return cmp.Compare(e.at, t) })
	m.queue = slices.Insert(m.queue, i, event{t, do})
}

// once does something in a block of its own.
func (m *maker) once(t uint64, build ...func(at uint64) (platform.Body, []int)) {
	m.at(t, func(at uint64) { m.act(at, build...) })
}

// between draws a time.
func (m *maker) between(from, to uint64) uint64 { return from + m.rng.Uint64N(to-from) }

// group is how many transactions share a block where there are many of a kind.
const group = 12

// planFinal has those validate who are validators at the end of the history, with
// the weight that the world says: a part is delegated to them, and what else was
// delegated ends before.
func (m *maker) planFinal() {
	var late, old []*world.Validator
	for _, v := range m.w.Validators() {
		switch {
		case v.Weight == 0 || m.renewing(v) != nil:
		case v.Keyless:
			old = append(old, v)
		default:
			late = append(late, v)
		}
	}
	// Validators without a BLS key: by the transaction that Durango forbids.
	m.planStints(old, m.forks.Durango-50*day, m.forks.Durango-5*day, true)
	m.planStints(late, m.forks.Durango+10*day, m.tip-50*day, false)
	m.planLasting()
}

func (m *maker) planStints(list []*world.Validator, from, to uint64, old bool) {
	for len(list) > 0 {
		n := min(len(list), group)
		if len(list) <= 4*group {
			n = min(n, 1)
		}
		at := m.between(from, to)
		var builds []func(uint64) (platform.Body, []int)
		for _, v := range list[:n] {
			m.free[v.NodeID] = at - 5*day
			builds = append(builds, func(at uint64) (platform.Body, []int) { return m.finalStint(v, at, old) })
		}
		list = list[n:]
		m.once(at, builds...)
	}
}

func (m *maker) finalStint(v *world.Validator, at uint64, old bool) (platform.Body, []int) {
	start := at
	if old {
		start = m.soon(at)
	}
	x := stint{
		node: v, payer: v.Reward, rewards: world.Single(v.Reward), fees: world.Single(v.Reward), stake: m.ownStake(v),
		start: start, end: m.between(m.tip+60*day, start+maxStake), fee: minFee, old: old,
	}
	body, signers := m.validate(x)
	if body == nil {
		return nil, nil
	}
	m.anchors(v, max(start+day, m.forks.Durango+day))
	return body, signers
}

// anchors are the delegations that a validator has at the end of the history. Some
// end soon after.
func (m *maker) anchors(v *world.Validator, from uint64) {
	rest := v.Weight - m.ownStake(v)
	if rest == 0 {
		return
	}
	n := uint64(min(max(min(m.cfg.Blocks/20, 200)/len(m.w.Validators()), 1), 40)) // not negative
	for k := range n {
		part := rest / (n - k)
		if k+1 < n {
			part = part/avax*avax + k*avax/1000
		}
		rest -= part
		end := uint64(0) // that of the validator
		if k%4 == 1 {
			end = m.tip + 300 + m.rng.Uint64N(2*day)
		}
		m.once(m.between(from, m.tip-minStake-2*day), func(at uint64) (platform.Body, []int) {
			x := m.s.Validators[SubnetNode{chain.PrimaryNetworkID, v.NodeID}]
			if x == nil {
				return nil, nil
			}
			until := end
			if until == 0 {
				until = m.between(m.tip+minStake, min(x.End, at+maxStake))
			}
			return m.delegation(x, m.account(), part, at, until)
		})
	}
}

// planRandom fills the time with what users do.
func (m *maker) planRandom() {
	acts := []act{
		{62, m.delegate}, {14, m.formerValidates}, {5, m.delegateLocked},
		{19, func(uint64) (platform.Body, []int) { return m.transfer() }},
	}
	for range m.cfg.Blocks * 2 / 11 {
		n := 1
		if m.rng.IntN(4) == 0 {
			n += m.rng.IntN(5)
		}
		var builds []func(uint64) (platform.Body, []int)
		for range n {
			draw := m.rng.IntN(100)
			for _, a := range acts {
				if draw -= a.share; draw < 0 {
					builds = append(builds, a.do)
					break
				}
			}
		}
		at := m.between(m.forks.Genesis+day, m.tip-3600)
		if at < m.forks.Banff {
			builds = builds[:1]
		}
		m.once(at, builds...)
	}
	m.at(m.tip, func(at uint64) { m.act(at, func(uint64) (platform.Body, []int) { return m.transfer() }) })
}
