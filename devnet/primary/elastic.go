package primary

import (
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// elastic is a permissionless subnet with an asset of its own.
type elastic struct {
	family
	asset chain.ID
}

const (
	unit          = 1_000_000_000 // of the asset
	elasticFirst  = 4_000_000 * unit
	elasticMost   = 6_000_000 * unit
	elasticMoved  = 8_000_000 * unit
	elasticLeast  = 1_000 * unit
	elasticMinFee = 10_000 // of million
)

// planElastic plans a subnet that is made permissionless: its asset comes from the
// X-Chain.
func (m *maker) planElastic() {
	x := &elastic{family: family{name: "elastic", payer: m.account(), evmID: 450_000}}
	x.owner = world.Single(x.payer)
	at := m.forks.Banff + 40*day
	m.at(at, func(at uint64) {
		m.actX(at, func() (avm.Body, []utxo.Kind) {
			base, kinds, ok := m.xpay(x.payer, nil)
			if !ok {
				return nil, nil
			}
			return &avm.CreateAsset{Base: base, Name: "Stake", Symbol: "STK", Denomination: 9, States: []avm.InitialState{{
				Outputs: []utxo.State{{Kind: utxo.TransferOutput, Amount: 10_000_000 * unit, Owners: world.Single(x.payer)}},
			}}}, kinds
		})
		x.asset = m.assets[len(m.assets)-1]
	})
	m.at(at+3600, func(at uint64) { m.actX(at, func() (avm.Body, []utxo.Kind) { return m.moveAsset(x) }) })
	m.once(at+7200, func(uint64) (platform.Body, []int) { return m.importFor(x.payer) })
	m.once(at+day, func(uint64) (platform.Body, []int) { return m.createSubnet(&x.family) })
	m.once(at+day+600, func(uint64) (platform.Body, []int) { return m.createChain(&x.family, world.L1EVMID, x.evmID) })
	m.once(at+2*day, func(uint64) (platform.Body, []int) { return m.transform(x) })
	for i := range uint64(min(max(m.cfg.Blocks/200, 5), 40)) {
		m.once(at+(3+i)*day+m.rng.Uint64N(day), func(at uint64) (platform.Body, []int) { return m.stakeElastic(x, at) })
		m.once(at+20*day+m.rng.Uint64N(850*day), func(at uint64) (platform.Body, []int) { return m.stakeElastic(x, at) })
		for range 2 {
			m.once(at+10*day+m.rng.Uint64N(800*day), func(at uint64) (platform.Body, []int) { return m.delegateElastic(x, at) })
		}
	}
}

// moveAsset exports most of the asset, and AVAX for the fee of the import.
func (m *maker) moveAsset(x *elastic) (avm.Body, []utxo.Kind) {
	base, kinds, ok := m.xpay(x.payer, nil, bill{x.asset, elasticMoved}, bill{m.w.AssetID(), avax})
	if !ok {
		return nil, nil
	}
	exported := []utxo.Output{out(x.asset, elasticMoved, x.payer), out(m.w.AssetID(), avax, x.payer)}
	sortOutputs(exported)
	return &avm.Export{Base: base, DestinationChain: chain.PlatformChainID, Exported: exported}, kinds
}

// importFor imports what waits for an address.
func (m *maker) importFor(a address.Address) (platform.Body, []int) {
	list := m.x.Exported[chain.PlatformChainID]
	slices.SortStableFunc(list, func(u, v utxo.UTXO) int { // its own first
		switch own, other := u.Addresses[0] == a, v.Addresses[0] == a; {
		case own == other:
			return 0
		case own:
			return -1
		}
		return 1
	})
	if len(list) == 0 || list[0].Addresses[0] != a {
		return nil, nil
	}
	return m.importP()
}

func (m *maker) transform(x *elastic) (platform.Body, []int) {
	if m.s.Subnets[x.subnet] == nil {
		return nil, nil
	}
	base, signers, ok := m.fund(x.payer, nil, bill{m.w.AssetID(), createFee}, bill{x.asset, elasticMost - elasticFirst})
	if !ok {
		return nil, nil
	}
	body := &platform.TransformSubnet{
		Base: base, Subnet: x.subnet, Asset: x.asset, InitialSupply: elasticFirst, MaximumSupply: elasticMost,
		MinConsumptionRate: 80_000, MaxConsumptionRate: 150_000, MinValidatorStake: elasticLeast, MaxValidatorStake: 500 * elasticLeast,
		MinStakeDuration: day, MaxStakeDuration: maxStake, MinDelegationFee: elasticMinFee, MinDelegatorStake: 10 * unit,
		MaxValidatorWeightFactor: 5, UptimeRequirement: 800_000,
	}
	body.SubnetAuth, signers = m.authorize(&x.family, signers)
	return body, signers
}

// stakeElastic adds a validator that is one of the primary network all the while.
func (m *maker) stakeElastic(x *elastic, at uint64) (platform.Body, []int) {
	if s := m.s.Subnets[x.subnet]; s == nil || s.Transform == nil {
		return nil, nil
	}
	start := m.soon(at)
	for _, v := range m.validators(chain.PrimaryNetworkID) {
		free := m.s.Validators[SubnetNode{x.subnet, v.NodeID}] == nil
		latest := min(v.End, m.tip-day)
		if !free || v.Start > start || latest < start+minStake+day || m.rng.IntN(4) == 0 {
			continue
		}
		weight := m.amount(elasticLeast, 20*elasticLeast)
		base, signers, ok := m.fund(x.payer, nil, bill{x.asset, weight}, bill{m.w.AssetID(), baseFee})
		if !ok {
			return nil, nil
		}
		own := world.Single(x.payer)
		return &platform.AddPermissionlessValidator{
			Base: base, Subnet: x.subnet, Stake: []utxo.Output{out(x.asset, weight, x.payer)},
			Validator: platform.Validator{
				NodeID: v.NodeID, Start: start, End: m.between(start+minStake, min(latest, start+100*day)), Weight: weight,
			},
			ValidatorRewardsOwner: own, DelegationRewardsOwner: world.Single(m.nodes[v.NodeID].Reward), DelegationFee: 50_000,
		}, signers
	}
	return nil, nil
}

// delegateElastic stakes on one of them.
func (m *maker) delegateElastic(x *elastic, at uint64) (platform.Body, []int) {
	start := m.soon(at)
	for _, v := range m.validators(x.subnet) {
		weight := m.amount(10*unit, 500*unit)
		if v.Status != Current || v.End < start+minStake+day || v.Weight+m.s.delegated[SubnetNode{x.subnet, v.NodeID}]+weight > 5*v.Weight {
			continue
		}
		base, signers, ok := m.fund(x.payer, nil, bill{x.asset, weight}, bill{m.w.AssetID(), baseFee})
		if !ok {
			return nil, nil
		}
		return &platform.AddPermissionlessDelegator{
			Base: base, Subnet: x.subnet, Stake: []utxo.Output{out(x.asset, weight, x.payer)}, RewardsOwner: world.Single(m.account()),
			Validator: platform.Validator{NodeID: v.NodeID, Start: start, End: m.between(start+minStake, v.End), Weight: weight},
		}, signers
	}
	return nil, nil
}
