package primary

import (
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
)

// event is something that somebody does at a time.
type event struct {
	at uint64
	do func(at uint64)
}

// run makes blocks until a time: what the chain has to do by itself comes first.
func (m *maker) run(until uint64) {
	for m.err == nil {
		next, ok := m.s.nextChange()
		switch {
		case ok && next <= until && (len(m.queue) == 0 || next <= m.queue[0].at):
			m.change(next)
		case len(m.queue) > 0 && m.queue[0].at <= until:
			e := m.queue[0]
			m.queue = m.queue[1:]
			e.do(e.at)
		default:
			return
		}
	}
}

func (m *maker) banff(at uint64) bool { return at >= m.forks.Banff }

// change makes the blocks by which stakers and L1 validators change at a time.
func (m *maker) change(at uint64) {
	if !m.banff(at) {
		m.tick(at)
		for first := m.s.current.first(); first != nil && first.End == at && m.err == nil; first = m.s.current.first() {
			m.end(at, platform.ApricotProposal, first)
		}
		return
	}
	m.start()
	m.s.advance(at)
	first := m.s.current.first()
	if first == nil || first.End != at {
		m.finish(at)
		return
	}
	for ; first != nil && first.End == at && m.err == nil; first = m.s.current.first() {
		m.start()
		if at >= m.forks.Durango && m.rng.IntN(8) == 0 { // since Durango others may come along
			m.issue(m.transfer())
		}
		m.end(at, platform.BanffProposal, first)
	}
	m.rejoin(at)
}

// end proposes that the first of the current stakers be rewarded.
func (m *maker) end(at uint64, kind platform.BlockKind, first *Staker) {
	tx := m.rewardTx(first)
	m.propose(at, kind, tx, func(commit bool) { m.s.reward(tx.ID, commit) })
}

func (m *maker) rewardTx(x *Staker) platform.Tx {
	var body platform.Body = &platform.RewardValidator{TxID: x.TxID}
	if x.Renewal != nil {
		body = &platform.RewardAutoRenewedValidator{TxID: x.TxID, Time: x.End}
	}
	tx, err := world.Sealed(body, nil)
	m.fail(err)
	return tx
}

// tick moves the time as it was done before Banff: by a proposal.
func (m *maker) tick(to uint64) {
	tx, err := world.Sealed(&platform.AdvanceTime{Time: to}, nil)
	m.fail(err)
	m.propose(to, platform.ApricotProposal, tx, func(bool) { m.s.advance(to) })
}

// propose makes a proposal and the option after it, and executes what was decided:
// nearly always to commit. Time is not refused.
func (m *maker) propose(at uint64, kind platform.BlockKind, tx platform.Tx, decided func(commit bool)) {
	m.start()
	m.open = append(m.open, tx)
	proposal := m.s.Height
	if kind.Banff() {
		m.s.evict()
	}
	if tx.Body.Funds() == nil {
		m.s.Txs[tx.ID] = &TxRecord{Tx: &tx, Height: proposal}
	}
	m.accept(at, kind)
	option := platform.ApricotCommit
	commit := tx.Body.Kind() == platform.KindAdvanceTime || m.commits(&tx)
	if !commit {
		option = platform.ApricotAbort
	}
	if kind == platform.BanffProposal {
		option += platform.BanffCommit - platform.ApricotCommit
	}
	m.start()
	decided(commit)
	if r := m.s.Txs[tx.ID]; r != nil {
		r.Height, r.Aborted = proposal, !commit
	}
	if x := m.s.Stakers[tx.ID]; x != nil {
		x.Height = proposal
	}
	m.accept(at, option)
}

// commits decides a proposal. Most nodes are always there, one in 25 for less of the time
// than was ever enough for a reward, and one for less than is since Helicon.
func (m *maker) commits(tx *platform.Tx) bool {
	uptime, required := 100, 80 // per cent
	switch m.rng.IntN(25) {
	case 0:
		uptime = 70
	case 1:
		uptime = 85
	}
	var x *Staker
	switch body := tx.Body.(type) {
	case *platform.RewardValidator:
		x = m.s.Stakers[body.TxID]
	case *platform.RewardAutoRenewedValidator:
		x = m.s.Stakers[body.TxID]
		if cycle, planned := m.away[x.TxID]; planned {
			return x.Renewal.Cycle != cycle
		}
	}
	if x != nil && x.Subnet == chain.PrimaryNetworkID && m.s.Validators[SubnetNode{x.Subnet, x.NodeID}].Start >= m.forks.Helicon {
		required = 90
	}
	return uptime >= required
}

// start begins the next block.
func (m *maker) start() { m.s.Height = uint64(len(m.p.all) + 1) }

// finish ends a standard block with the transactions issued since its start.
func (m *maker) finish(at uint64) {
	m.s.evict()
	m.accept(at, platform.BanffStandard)
}

// accept makes a block of what is open, which was executed.
func (m *maker) accept(at uint64, kind platform.BlockKind) {
	b := platform.Block{Kind: kind, Parent: m.p.parent, Height: m.s.Height, Txs: m.open}
	m.open = nil
	if kind.Banff() {
		b.Time = at
	}
	raw, err := b.Bytes()
	if err != nil || m.err != nil {
		m.fail(err)
		return
	}
	m.s.sets.commit(b.Height)
	m.fail(m.p.wrap(m.forks, raw, at, m.s.Time, m.p.lagging(b.Height-1), kind.Option(), m.proposer()))
}

// lagging is the P-Chain height that a header names: one that all nodes have seen.
func (l *line) lagging(height uint64) uint64 {
	if l.last == nil {
		return max(height, 3) - 3
	}
	return max(height, 3+l.last.PChainHeight) - 3
}

// proposer draws who proposes a block; nobody for one in fifty.
func (m *maker) proposer() *world.Validator {
	live := m.validators(chain.PrimaryNetworkID)
	if len(live) == 0 || m.rng.IntN(50) == 0 {
		return nil
	}
	if x := live[m.rng.IntN(len(live))]; x.Status == Current {
		return m.nodes[x.NodeID]
	}
	return nil
}

// act has somebody issue transactions in a block of its own. Before Banff each has a
// block, and the chain's time is moved now and then.
func (m *maker) act(at uint64, build ...func(at uint64) (platform.Body, []int)) {
	if !m.banff(at) {
		if at > m.s.Time+3*day {
			m.tick(at)
		}
		for _, b := range build {
			m.issueOld(at, b)
		}
		return
	}
	m.start()
	m.s.advance(at)
	for _, b := range build {
		body, signers := b(at)
		if body == nil { // it cannot be done now
			continue
		}
		m.issue(body, signers)
	}
	if len(m.open) == 0 {
		m.issue(m.transfer())
	}
	m.finish(at)
}

// issue executes a transaction and puts it into the open block.
func (m *maker) issue(body platform.Body, signers []int) {
	if body == nil || m.err != nil {
		return
	}
	tx, err := world.Sealed(body, signers)
	m.fail(err)
	m.add(tx)
}

// add does so with one that has its ID.
func (m *maker) add(tx platform.Tx) {
	if m.err != nil {
		return
	}
	m.fail(m.s.apply(&tx))
	m.note(&tx)
	m.open = append(m.open, tx)
}

// issueOld makes the blocks of a transaction before Banff.
func (m *maker) issueOld(at uint64, build func(at uint64) (platform.Body, []int)) {
	m.start()
	body, signers := build(at)
	if body == nil || m.err != nil {
		return
	}
	switch body.(type) {
	case *platform.AddValidator, *platform.AddDelegator, *platform.AddSubnetValidator:
		tx, err := world.Sealed(body, signers)
		m.fail(err)
		m.propose(at, platform.ApricotProposal, tx, func(commit bool) {
			if !commit {
				m.fail(m.s.abort(&tx))
				return
			}
			m.fail(m.s.apply(&tx))
			m.note(&tx)
		})
	case *platform.Import, *platform.Export:
		m.issue(body, signers)
		kind := platform.ApricotAtomic
		if at >= m.forks.Apricot5 {
			kind = platform.ApricotStandard
		}
		m.accept(at, kind)
	default:
		m.issue(body, signers)
		m.accept(at, platform.ApricotStandard)
	}
}

func (m *maker) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}
