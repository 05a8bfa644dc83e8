package primary

import (
	"bytes"
	"fmt"
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

func sortAddresses(o *utxo.Owners) {
	slices.SortFunc(o.Addresses, func(a, b address.Address) int { return bytes.Compare(a[:], b[:]) })
	o.Addresses = slices.Compact(o.Addresses)
	o.Threshold = min(o.Threshold, uint32(len(o.Addresses))) // few
}

// planL1s plans the world's L1s, and others that nobody else knows.
func (m *maker) planL1s() {
	for i, l := range m.w.L1s() {
		subnet, blockchain := l.Created()
		at := m.forks.Durango + 20*day + uint64(i)*day // not negative
		m.exactly(at, subnet)
		m.exactly(at+600, blockchain)
		if m.w.Converted(l) {
			m.at(m.tip-world.L1Age, func(at uint64) {
				txs, err := m.w.Conversion(l, world.L1Age)
				m.fail(err)
				m.block(at, txs...)
			})
		}
	}
	for i := range min(max(m.cfg.Blocks/1000, 2), 8) {
		m.planL1(i)
	}
}

// exactly plans transactions that are there already, in a block of their own.
func (m *maker) exactly(at uint64, txs ...platform.Tx) {
	m.at(at, func(at uint64) { m.block(at, txs...) })
}

func (m *maker) block(at uint64, txs ...platform.Tx) {
	m.start()
	m.s.advance(at)
	for _, tx := range txs {
		m.add(tx)
	}
	m.finish(at)
}

// l1 is an L1 of somebody's.
type l1 struct {
	family
	manager []byte
	next    int // of the nodes
	known   []chain.ID
}

// planL1 plans an L1 that goes through all that an L1 can.
func (m *maker) planL1(i int) {
	x := &l1{manager: fmt.Appendf(nil, "manager of rollup %02d", i), next: i * 7}            // 20 bytes
	x.name, x.payer, x.evmID = fmt.Sprintf("rollup %d", i+1), m.account(), 440_000+uint64(i) // not negative
	x.owner = world.Single(x.payer)
	at := m.forks.Etna + day + m.rng.Uint64N(20*day)
	m.once(at, func(uint64) (platform.Body, []int) { return m.createSubnet(&x.family) })
	m.once(at+600, func(uint64) (platform.Body, []int) { return m.createChain(&x.family, world.L1EVMID, x.evmID) })
	m.once(at+day, func(at uint64) (platform.Body, []int) { return m.permitted(&x.family, at) })
	m.once(at+2*day, func(uint64) (platform.Body, []int) { return m.convert(x) })
	for range 6 {
		m.once(at+3*day+m.rng.Uint64N(40*day), func(at uint64) (platform.Body, []int) { return m.register(x, at) })
	}
	for range 4 {
		m.once(at+10*day+m.rng.Uint64N(60*day), func(uint64) (platform.Body, []int) { return m.refill(x) })
		m.once(at+10*day+m.rng.Uint64N(60*day), func(uint64) (platform.Body, []int) { return m.reweigh(x, 1+m.rng.Uint64N(500)) })
	}
	for k := range uint64(2) {
		m.once(at+20*day+k*10*day, func(uint64) (platform.Body, []int) { return m.disable(x) })
		m.once(at+25*day+k*10*day, func(uint64) (platform.Body, []int) { return m.reweigh(x, 0) })
	}
}

// node returns a node that has not validated the L1 before.
func (x *l1) node(m *maker) *world.Validator {
	x.next++
	return m.formers[x.next%len(m.formers)]
}

// funds draws what an L1 validator can spend: some have nothing, many too little to
// last until the end of the history.
func (m *maker) funds() uint64 {
	if m.rng.IntN(6) == 0 {
		return 0
	}
	return m.amount(6*3600, 200*day)
}

func (m *maker) convert(x *l1) (platform.Body, []int) {
	body := &platform.ConvertSubnetToL1{Subnet: x.subnet, ManagerChain: m.w.CChainID(), ManagerAddress: x.manager}
	sum := uint64(l1Fee)
	for i := range 4 {
		node := x.node(m)
		v := platform.L1Validator{
			NodeID: node.NodeID[:], Weight: 100 + m.rng.Uint64N(100), Balance: m.funds(),
			Signer:                platform.Signer{PublicKey: node.PublicKey, ProofOfPossession: node.Proof()},
			RemainingBalanceOwner: single(x.payer), DeactivationOwner: single(x.payer),
		}
		if i == 0 { // one that stays
			v.Balance = 400 * day
		}
		sum += v.Balance
		body.Validators = append(body.Validators, v)
	}
	slices.SortFunc(body.Validators, func(a, b platform.L1Validator) int { return bytes.Compare(a.NodeID, b.NodeID) })
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), sum})
	if !ok {
		return nil, nil
	}
	body.Base = base
	body.SubnetAuth, signers = m.authorize(&x.family, signers)
	for i := range body.Validators {
		x.known = append(x.known, platform.ConvertedValidationID(x.subnet, uint32(i))) // few
	}
	return body, signers
}

func single(a address.Address) platform.L1Owner {
	return platform.L1Owner{Threshold: 1, Addresses: []address.Address{a}}
}

func (m *maker) register(x *l1, at uint64) (platform.Body, []int) {
	if len(x.known) == 0 {
		return nil, nil
	}
	node := x.node(m)
	for _, id := range x.known {
		if v := m.s.L1Validators[id]; v.NodeID == node.NodeID && v.Weight > 0 {
			return nil, nil
		}
	}
	r := &platform.L1Registration{
		Subnet: x.subnet, NodeID: node.NodeID[:], PublicKey: node.PublicKey, Expiry: at + 3600 + m.rng.Uint64N(20*3600),
		RemainingBalanceOwner: single(x.payer), DisableOwner: single(m.account()), Weight: 50 + m.rng.Uint64N(100),
	}
	raw, err := r.Bytes()
	m.fail(err)
	message, err := m.w.ManagerMessage(m.w.CChainID(), x.manager, r)
	m.fail(err)
	balance := m.funds()
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), balance + l1Fee})
	parsed, err := platform.ParseL1Registration(raw)
	m.fail(err)
	if !ok || m.err != nil {
		return nil, nil
	}
	x.known = append(x.known, parsed.ValidationID)
	return &platform.RegisterL1Validator{Base: base, Balance: balance, ProofOfPossession: node.Proof(), Message: message}, signers
}

// one draws a validator that is still there; the first is left alone.
func (m *maker) one(x *l1) *L1Validator {
	for range 8 {
		if len(x.known) < 2 {
			break
		}
		if v := m.s.L1Validators[x.known[1+m.rng.IntN(len(x.known)-1)]]; v.Weight > 0 {
			return v
		}
	}
	return nil
}

func (m *maker) refill(x *l1) (platform.Body, []int) {
	v := m.one(x)
	if v == nil {
		return nil, nil
	}
	more := 1 + m.funds()
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), more + l1Fee})
	if !ok {
		return nil, nil
	}
	return &platform.IncreaseL1ValidatorBalance{Base: base, ValidationID: v.ValidationID, Balance: more}, signers
}

func (m *maker) reweigh(x *l1, weight uint64) (platform.Body, []int) {
	v := m.one(x)
	if v == nil {
		return nil, nil
	}
	message, err := m.w.ManagerMessage(m.w.CChainID(), x.manager, &platform.L1Weight{
		ValidationID: v.ValidationID, Nonce: v.MinNonce + m.rng.Uint64N(2), Weight: weight,
	})
	m.fail(err)
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), l1Fee})
	if !ok || m.err != nil {
		return nil, nil
	}
	return &platform.SetL1ValidatorWeight{Base: base, Message: message}, signers
}

func (m *maker) disable(x *l1) (platform.Body, []int) {
	v := m.one(x)
	if v == nil {
		return nil, nil
	}
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), l1Fee})
	if !ok {
		return nil, nil
	}
	return &platform.DisableL1Validator{Base: base, ValidationID: v.ValidationID, Auth: utxo.Auth{Indices: []uint32{0}}}, append(signers, 1)
}
