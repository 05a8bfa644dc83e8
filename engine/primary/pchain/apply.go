package pchain

import (
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// Apply implements [primary.Machine].
func (m *machine) Apply(rows *primary.Overlay, b *primary.Block) error {
	p := b.Platform
	if p == nil {
		return fmt.Errorf("%w: not a block of the P-Chain", ErrRefused)
	}
	m.rows, m.height, m.sets, m.sums, m.fees = rows, p.Height, m.sets[:0], m.sums[:0], nil
	genesis := false
	if !m.begun {
		var err error
		if genesis, err = m.start(p); err != nil {
			return err
		}
	}
	if p.Height > 0 && (!p.Kind.Banff() || p.Time < m.cfg.Upgrades.Etna) {
		m.head.FeesKnown = true // nobody has paid before Etna, which Apricot's blocks are before
	}
	if !genesis || p.Height > 0 {
		if err := m.accept(p); err != nil {
			return err
		}
	}
	if err := m.flushSets(); err != nil {
		return err
	}
	m.flushSums()
	m.flushFees()
	m.value = m.head.encode(m.value[:0])
	rows.Put(rows.Key(store.PlatformState).U8(rowHead), m.value)
	m.txs = m.txs[:0]
	for i := range p.Txs {
		m.txs = append(m.txs, p.Txs[i].ID)
	}
	m.putBlock(&primary.BlockInfo{
		Chain: primary.PChain, Height: p.Height, ID: p.ID, Parent: p.Parent, Time: p.Time, Type: p.Kind.String(), Size: p.Size,
		Txs: m.txs, Proposer: rows.Proposer(b),
	}, p.Kind)
	return nil
}

// putBlock writes a block's rows with what the state is after it.
func (m *machine) putBlock(info *primary.BlockInfo, kind platform.BlockKind) {
	if !kind.Banff() {
		info.Time = m.head.Time
	}
	if m.head.SupplyKnown {
		info.Supply = &m.head.Supply
	}
	if m.head.FeesKnown {
		info.ActiveL1, info.L1Fees = &m.head.Fees.Active, &m.head.Fees.Accrued
	}
	m.rows.PutBlock(info)
}

// accept executes a block.
func (m *machine) accept(p *platform.Block) error {
	switch {
	case p.Kind.Option():
		return m.option(p)
	case m.proposal != nil:
		return fmt.Errorf("%w: a %s follows on a proposal", ErrRefused, p.Kind)
	case p.Kind.Proposal():
		if p.Proposed() == nil {
			return fmt.Errorf("%w: a proposal of nothing", ErrRefused)
		}
		raw, err := p.Raw()
		if err != nil {
			return err
		}
		m.proposal = p
		m.rows.Put(m.rows.Key(store.PlatformState).U8(rowProposal), raw)
		return nil
	}
	return m.decided(p, len(p.Txs))
}

// decided executes the time of a block and its first n transactions.
func (m *machine) decided(p *platform.Block, n int) error {
	m.time, m.block = m.head.Time, p.ID
	if p.Kind.Banff() {
		m.time = p.Time
		if err := m.advance(p.Time); err != nil {
			return err
		}
	}
	for i := range n {
		if err := m.execute(&p.Txs[i], primary.Place{Height: p.Height, Index: uint32(i)}, m.time, false); err != nil {
			return err
		}
	}
	return m.deactivateLow()
}

// option executes the proposal before, as the option decides on it.
func (m *machine) option(p *platform.Block) error {
	if m.proposal == nil {
		if m.head.Exact {
			return fmt.Errorf("%w: an option without a proposal", ErrRefused)
		}
		return nil // the proposal came before what is known
	}
	of := m.proposal
	if of.ID != p.Parent || of.Kind.Banff() != p.Kind.Banff() || of.Time != p.Time {
		return fmt.Errorf("%w: an option of another proposal", ErrRefused)
	}
	m.proposal = nil
	m.rows.Put(m.rows.Key(store.PlatformState).U8(rowProposal), nil)
	last := len(of.Txs) - 1
	if err := m.decided(of, last); err != nil { // whose block is that of the proposal
		return err
	}
	aborted := p.Kind == platform.ApricotAbort || p.Kind == platform.BanffAbort
	return m.execute(&of.Txs[last], primary.Place{Height: of.Height, Index: uint32(last)}, m.time, aborted)
}

// start begins the state, with the genesis if it is known and the block follows on it.
func (m *machine) start(p *platform.Block) (genesis bool, err error) {
	m.begun = true
	m.head.AVAX = m.cfg.AVAX
	g := m.cfg.Genesis
	if g == nil || p.Height > 1 {
		return false, nil
	}
	first := &platform.Block{Kind: platform.ApricotCommit, Parent: g.ID}
	raw, err := first.Bytes()
	if err != nil {
		return false, err
	}
	first.ID, first.Size = sha256.Sum256(raw), len(raw)
	if p.Height == 0 && p.ID != first.ID || p.Height == 1 && p.Parent != first.ID {
		return false, fmt.Errorf("%w: the genesis %s is that of another network", ErrRefused, g.ID)
	}
	m.block = first.ID
	if err := m.genesis(g); err != nil {
		return false, fmt.Errorf("genesis: %w", err)
	}
	if p.Height > 0 { // who has no block 0 has it made
		height := m.height
		m.height = 0
		if err := m.flushSets(); err != nil {
			return false, err
		}
		m.height = height
		m.putBlock(&primary.BlockInfo{Chain: primary.PChain, ID: first.ID, Parent: g.ID, Type: first.Kind.String(), Size: first.Size}, first.Kind)
	}
	return true, nil
}

// genesis makes the state that the chain starts with.
func (m *machine) genesis(g *platform.Genesis) error {
	m.head.Exact, m.head.TimeKnown, m.head.SupplyKnown, m.head.FeesKnown = true, true, true, true
	m.head.Time, m.head.Supply, m.time = g.Time, g.InitialSupply, g.Time
	m.listSubnet(&subnet{ID: chain.PrimaryNetworkID, time: g.Time})
	for i := range g.UTXOs {
		u := &primary.Output{UTXO: g.UTXOs[i].UTXO, Known: true, Time: g.Time, MadeBy: g.UTXOs[i].TxID}
		if m.head.AVAX.IsZero() {
			m.head.AVAX = u.Asset
		}
		if err := m.rows.PutOutput(u); err != nil {
			return err
		}
	}
	place := primary.Place{}
	for i := range g.Validators {
		tx := &g.Validators[i]
		s, stake := stakeOf(tx)
		if s == nil || s.Delegator || s.permissioned {
			return fmt.Errorf("%w: a %s", ErrRefused, tx.Body.Kind())
		}
		s.place, s.priority = place, whenCurrent[s.priority]
		for j := range stake {
			u := &primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{TxID: tx.ID, Index: s.outputs + uint32(j)}, Output: stake[j]}}
			u.State, u.Known, u.Place, u.Time, u.MadeBy = primary.Staked, true, place, g.Time, tx.ID
			if err := m.rows.PutOutput(u); err != nil {
				return err
			}
		}
		if err := m.begin(s, primary.AnyStatus); err != nil {
			return err
		}
		if err := m.genesisTx(tx, place); err != nil {
			return err
		}
		place.Index++
	}
	for i := range g.Chains {
		t, ok := g.Chains[i].Body.(*platform.CreateChain)
		if !ok {
			return fmt.Errorf("%w: a %s", ErrRefused, g.Chains[i].Body.Kind())
		}
		m.addChain(g.Chains[i].ID, t, place, g.Time)
		if err := m.genesisTx(&g.Chains[i], place); err != nil {
			return err
		}
		place.Index++
	}
	return nil
}

func (m *machine) genesisTx(tx *platform.Tx, place primary.Place) error {
	raw, err := tx.Bytes()
	if err != nil {
		return err
	}
	m.rows.PutTx(&primary.TxRow{Place: place, ID: tx.ID, Time: m.head.Time, Raw: raw, Block: m.block})
	_, stake := stakeOf(tx)
	with := map[address.Address]struct{}{}
	for i := range stake {
		for _, a := range stake[i].Addresses {
			with[a] = struct{}{}
		}
	}
	for a := range with {
		m.rows.PutAddressTx(a, place)
	}
	return nil
}
