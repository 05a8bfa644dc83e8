package primary

import (
	"fmt"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// family is a subnet of somebody's: what it is to become, and what of it there is.
type family struct {
	name   string
	payer  address.Address
	owner  utxo.Owners
	subnet chain.ID // zero until it is there
	evmID  uint64
	made   uint64 // when
}

// planSubnets plans subnets that stay subnets: in each time some, and one that is
// made permissionless.
func (m *maker) planSubnets() {
	n := min(max(m.cfg.Blocks/300, 6), 40)
	for i := range n {
		span := (m.forks.Etna - m.forks.Genesis - 60*day) / uint64(n) // not negative
		f := &family{
			name: fmt.Sprintf("subnet %d", i+1), payer: m.account(), evmID: 430_000 + uint64(i), // not negative
			made: m.forks.Genesis + 20*day + span*uint64(i) + m.rng.Uint64N(10*day), // not negative
		}
		f.owner = world.Single(f.payer)
		if i%3 == 1 { // two of three
			f.owner = m.several(2, f.payer, m.account(), m.account())
		}
		m.once(f.made, func(uint64) (platform.Body, []int) { return m.createSubnet(f) })
		m.once(f.made+day, func(uint64) (platform.Body, []int) { return m.createChain(f, world.L1EVMID, f.evmID) })
		if i%4 == 2 {
			m.once(f.made+2*day, func(uint64) (platform.Body, []int) { return m.createChain(f, chain.ID{'t', 'i', 'm', 'e'}, 0) })
		}
		for k := range 4 {
			m.once(f.made+uint64(3+6*k)*day+m.rng.Uint64N(5*day), func(at uint64) (platform.Body, []int) { // not negative
				return m.permitted(f, at)
			})
		}
		if f.made > m.forks.Banff {
			m.once(f.made+30*day, func(uint64) (platform.Body, []int) { return m.dismiss(f) })
		}
		if i%2 == 0 {
			m.once(max(f.made, m.forks.Durango)+15*day, func(uint64) (platform.Body, []int) { return m.handOver(f) })
		}
	}
}

// several returns owners of whom so many have to sign.
func (m *maker) several(threshold uint32, all ...address.Address) utxo.Owners {
	o := utxo.Owners{Threshold: threshold, Addresses: all}
	sortAddresses(&o)
	return o
}

func (m *maker) createSubnet(f *family) (platform.Body, []int) {
	base, signers, ok := m.fund(f.payer, nil, bill{m.w.AssetID(), createFee})
	if !ok {
		return nil, nil
	}
	body := &platform.CreateSubnet{Base: base, Owner: f.owner}
	tx, err := world.Sealed(body, signers)
	m.fail(err)
	f.subnet = tx.ID
	return body, signers
}

// authorize returns by whose signatures a subnet's owner permits something, and adds
// these to those of the inputs.
func (m *maker) authorize(f *family, signers []int) (utxo.Auth, []int) {
	var auth utxo.Auth
	for i := range f.owner.Threshold {
		auth.Indices = append(auth.Indices, i)
	}
	return auth, append(signers, len(auth.Indices))
}

func (m *maker) createChain(f *family, vm chain.ID, evmID uint64) (platform.Body, []int) {
	base, signers, ok := m.fund(f.payer, nil, bill{m.w.AssetID(), createFee})
	if !ok {
		return nil, nil
	}
	body := &platform.CreateChain{Base: base, Subnet: f.subnet, Name: f.name, VM: vm, GenesisData: []byte("no EVM")}
	if evmID != 0 {
		body.GenesisData = m.w.EVMGenesis(evmID)
	}
	body.SubnetAuth, signers = m.authorize(f, signers)
	return body, signers
}

// permitted adds a validator of a permissioned subnet.
func (m *maker) permitted(f *family, at uint64) (platform.Body, []int) {
	if s := m.s.Subnets[f.subnet]; s == nil || s.Transform != nil || s.Conversion != nil {
		return nil, nil
	}
	start := m.soon(at)
	for _, v := range m.validators(chain.PrimaryNetworkID) {
		if m.s.Validators[SubnetNode{f.subnet, v.NodeID}] != nil || v.Start > start || v.End < start+minStake+day || m.rng.IntN(3) == 0 {
			continue
		}
		base, signers, ok := m.fund(f.payer, nil, bill{m.w.AssetID(), baseFee})
		if !ok {
			return nil, nil
		}
		end := m.between(start+minStake, min(v.End, start+120*day))
		body := &platform.AddSubnetValidator{
			Base: base, Validator: platform.Validator{NodeID: v.NodeID, Start: start, End: end, Weight: 100 + m.rng.Uint64N(900)},
			Subnet: f.subnet,
		}
		body.SubnetAuth, signers = m.authorize(f, signers)
		return body, signers
	}
	return nil, nil
}

// dismiss removes one of them.
func (m *maker) dismiss(f *family) (platform.Body, []int) {
	for _, x := range m.validators(f.subnet) {
		if !x.Permissioned {
			continue
		}
		base, signers, ok := m.fund(f.payer, nil, bill{m.w.AssetID(), baseFee})
		if !ok {
			return nil, nil
		}
		body := &platform.RemoveSubnetValidator{Base: base, NodeID: x.NodeID, Subnet: f.subnet}
		body.SubnetAuth, signers = m.authorize(f, signers)
		return body, signers
	}
	return nil, nil
}

// handOver gives a subnet to somebody else.
func (m *maker) handOver(f *family) (platform.Body, []int) {
	if s := m.s.Subnets[f.subnet]; s == nil || s.Conversion != nil || s.Transform != nil {
		return nil, nil
	}
	base, signers, ok := m.fund(f.payer, nil, bill{m.w.AssetID(), baseFee})
	if !ok {
		return nil, nil
	}
	body := &platform.TransferSubnetOwnership{Base: base, Subnet: f.subnet}
	body.SubnetAuth, signers = m.authorize(f, signers)
	body.Owner = m.several(1, m.account(), f.payer)
	f.owner = body.Owner
	return body, signers
}
