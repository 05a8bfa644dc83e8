package httpapi

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
)

func of(n uint64) *uint64 { return &n }

// samplePrimary has an example of each thing that is told about.
func samplePrimary() *fakePrimary {
	const day = 86400
	l1 := primary.Subnet{ID: chain.ID{3}, Height: 12, Time: 1_700_000_100, Owners: utxo.Owners{Threshold: 1, Locktime: 7, Addresses: []address.Address{ben}},
		Conversion: chain.ID{0xc0}, ManagerChain: chain.ID{4}, ManagerAddress: alice[:], Blockchains: []primary.Blockchain{
			{ID: chain.ID{4}, Subnet: chain.ID{3}, VM: chain.ID{5}, Name: `an "L1"`, Height: 13, Time: 1_700_000_200},
			{ID: chain.ID{6}, Subnet: chain.ID{3}, VM: chain.ID{7}, Name: "other VM", Height: 14, Time: 1_700_000_300},
		}}
	n := &fakePrimary{
		id: 5, genesis: map[chain.ID][]byte{{4}: []byte(evmGenesis), {6}: {0, 1, 2}},
		chains: map[primary.Kind]*fakePrimaryChain{
			primary.PChain:    {id: chain.PlatformChainID, height: 20},
			primary.XChain:    {id: fujiX, height: 9},
			primary.CChain:    {id: chain.ID{0x20}, height: 30},
			primary.XVertices: {id: fujiX, height: 40},
		},
		told: primary.Told{
			Uptimes:  map[chain.NodeID]uint32{nodeOne: 999_876},
			Versions: map[chain.NodeID]string{nodeOne: "avalanchego/1.14.2"},
			Shares:   []primary.VersionShare{{Version: "avalanchego/1.14.2", Validators: 1, Staked: 2000e9}, {Version: "other/1.0.0", Validators: 2, Staked: 7}},
			Supply:   500_000_000e9, Staked: 250_000_000e9, // what follows from blocks is believed before
		},
		subnets: []primary.Subnet{{ID: chain.ID{2}, Height: 11, Time: 1_700_000_000, Owners: platformOwners}, l1},
		stakers: []primary.Staker{
			{TxID: chain.ID{0x31}, Node: nodeOne, Weight: 2000e9, Status: primary.Active, Start: 1_700_000_000, End: 1_700_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000,
				BLSKey: &[48]byte{0xb1}, Gross: 7e9, Share: 5, Delegators: 1, DelegatedWeight: 25e9, Estimated: true},
			{TxID: chain.ID{0x36}, Node: nodeTwo, Weight: 2100e9, Status: primary.Completed, Start: 1_600_000_000, End: 1_600_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000, Gross: 9e9, EndTx: chain.ID{0x46}},
			{TxID: chain.ID{0x37}, Node: nodeTwo, Weight: 2200e9, Status: primary.Pending, Start: 1_800_000_000, End: 1_800_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000},
			{TxID: chain.ID{0x38}, Subnet: chain.ID{2}, Node: nodeTwo, Weight: 20, Status: primary.Removed, Start: 1_600_000_000, End: 1_600_000_500, EndTx: chain.ID{0x48}},
			{TxID: chain.ID{0x39}, Subnet: chain.ID{2}, Node: nodeOne, Weight: 20, Status: primary.Active, Start: 1_600_000_000, End: 1_800_000_500},
			{TxID: chain.ID{0x32}, Node: nodeOne, Delegator: true, Weight: 25e9, Status: primary.Completed, Start: 1_700_000_000, End: 1_700_000_000 + 14*day, RewardOwners: platformOwners, Fee: 20_000, Gross: 100, Net: 98},
			{TxID: chain.ID{0x33}, Node: nodeTwo, Delegator: true, Weight: 26e9, Status: primary.Active, Start: 1_700_000_500, End: 1_700_000_500 + 14*day, RewardOwners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ben}}, Fee: 25_500, Gross: 200, Net: 195, Estimated: true},
			{TxID: chain.ID{0x34}, Node: nodeTwo, Delegator: true, Weight: 27e9, Status: primary.Pending, Start: 1_700_001_000, End: 1_700_001_000 + 14*day, RewardOwners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ann}}, Fee: 1_000_000, Gross: 300, Estimated: true},
			{TxID: chain.ID{0x35}, Subnet: chain.ID{2}, Node: nodeTwo, Delegator: true, Status: primary.Active},
		},
		l1: []primary.L1Validator{
			{ValidationID: chain.ID{0x71}, Subnet: chain.ID{3}, Node: nodeOne, Weight: 100, Balance: 5e9, Active: true, Start: 1_700_000_100, BalanceOwner: platformOwners},
			{ValidationID: chain.ID{0x72}, Subnet: chain.ID{3}, Node: nodeTwo, Weight: 50, Start: 1_700_000_100, DisableOwner: platformOwners},
		},
		rewards: []primary.Reward{
			{Kind: primary.ValidatorReward, Owners: platformOwners, TxID: chain.ID{0x31}, RewardTx: chain.ID{0x41}, Node: nodeOne, Staked: 2000e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xa5}, Amount: 5e9, Ref: utxo.Ref{TxID: chain.ID{0x31}, Index: 2}},
			{Kind: primary.DelegatorReward, Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ben}}, TxID: chain.ID{0x32}, RewardTx: chain.ID{0x42}, Node: nodeOne, Staked: 25e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xa5}, Amount: 98, Ref: utxo.Ref{TxID: chain.ID{0x32}, Index: 1}},
			{Kind: primary.ValidatorFee, Owners: platformOwners, TxID: chain.ID{0x32}, RewardTx: chain.ID{0x42}, Node: nodeOne, Staked: 25e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xee}, Amount: 2, Ref: utxo.Ref{TxID: chain.ID{0x32}, Index: 2}},
		},
		blocks: map[primary.Kind][]primary.BlockInfo{},
		vertices: []primary.Vertex{
			{ID: chain.ID{0x51}, Parents: []chain.ID{{0x50}}, Height: 7, Index: 10, Time: 1_600_000_000, Txs: []chain.ID{{0x61}}, Size: 300},
			{ID: chain.ID{0x52}, Parents: []chain.ID{{0x50}, {0x51}}, Height: 8, Index: 11, Time: 1_600_000_001, Txs: []chain.ID{{0x62}, {0x63}}, Size: 500},
			{ID: chain.ID{0x53}, Parents: nil, Height: 8, Index: 12, Time: 1_600_000_002, Size: 100},
		},
	}
	// What removed a validator, which was before its end.
	n.txs = map[primary.Kind][]primary.TxRow{primary.PChain: {{ID: chain.ID{0x48}, Time: 1_600_000_300}}}
	for k, c := range n.chains {
		c.n, c.kind = n, k
	}
	for _, k := range []primary.Kind{primary.PChain, primary.XChain, primary.CChain} {
		for h := range uint64(12) {
			b := primary.BlockInfo{Chain: k, Height: h, ID: chain.ID(numbered(h, byte(k))), Time: 1_700_000_000 + 10*h, Type: "BanffStandardBlock", Size: 200}
			if h > 0 {
				b.Parent = chain.ID(numbered(h-1, byte(k)))
				b.Txs = []chain.ID{chain.ID(numbered(h, 0x70))}
			}
			if h > 9 {
				b.Proposer = &primary.Proposer{ID: chain.ID(numbered(h, 0x80)), Parent: chain.ID(numbered(h-1, 0x80)), PChainHeight: h - 2, Time: b.Time}
			}
			if h == 11 {
				b.Proposer.Node = nodeOne
				b.Supply, b.ActiveL1, b.L1Fees = of(720_000_000e9), of(3), of(512)
			}
			n.blocks[k] = append(n.blocks[k], b)
		}
	}
	return n
}

// addPlatformTx adds a transaction of the P-Chain with the outputs that it makes.
func (n *fakePrimary) addPlatformTx(height uint64, body platform.Body, made ...chain.ID) *platform.Tx {
	raw, err := (&platform.Tx{Body: body}).Bytes()
	if err != nil {
		panic(err)
	}
	tx, err := platform.ParseTx(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.PChain, height, tx.ID, raw, made)
	if f := tx.Body.Funds(); f != nil {
		staking, _ := tx.Body.Staking()
		n.addOutputs(primary.PChain, height, tx.ID, f, slices.Clone(staking.Stake))
	}
	return tx
}

// addExchangeTx does so for the X-Chain.
func (n *fakePrimary) addExchangeTx(height uint64, body avm.Body, inVertex bool) *avm.Tx {
	raw, err := (&avm.Tx{Body: body}).Bytes()
	if err != nil {
		panic(err)
	}
	tx, err := avm.ParseTx(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.XChain, height, tx.ID, raw, nil)
	list := n.txs[primary.XChain]
	list[len(list)-1].InVertex = inVertex
	n.addOutputs(primary.XChain, height, tx.ID, tx.Body.Funds(), nil)
	return tx
}

func (n *fakePrimary) addAtomicTx(height uint64, tx *atomic.Tx) *atomic.Tx {
	raw, err := tx.Bytes()
	if err != nil {
		panic(err)
	}
	list, err := atomic.Parse(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.CChain, height, list[0].ID, raw, nil)
	n.addOutputs(primary.CChain, height, list[0].ID, &utxo.Base{Outputs: list[0].Exported}, nil)
	return &list[0]
}

func (n *fakePrimary) addTx(k primary.Kind, height uint64, id chain.ID, raw []byte, made []chain.ID) {
	if n.txs == nil {
		n.txs, n.outputs, n.parties = map[primary.Kind][]primary.TxRow{}, map[primary.Kind][]primary.Output{}, map[chain.ID][]address.Address{}
	}
	row := primary.TxRow{Place: primary.Place{Height: height}, ID: id, Time: 1_700_000_000 + 10*height, Raw: raw, Made: made}
	n.txs[k] = append(n.txs[k], row)
}

func (n *fakePrimary) addOutputs(k primary.Kind, height uint64, id chain.ID, base *utxo.Base, stake []utxo.Output) {
	for i, out := range slices.Concat(base.Outputs, stake) {
		out.Kind = utxo.TransferOutput
		u := primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{TxID: id, Index: uint32(i)}, Output: out}, Known: true,
			Place: primary.Place{Height: height}, Time: 1_700_000_000 + 10*height, MadeBy: id}
		if i >= len(base.Outputs) {
			u.State = primary.Staked
		}
		n.outputs[k] = append(n.outputs[k], u)
		n.parties[id] = append(n.parties[id], out.Addresses...)
	}
	for _, in := range base.Inputs {
		for i := range n.outputs[k] {
			if u := &n.outputs[k][i]; u.Ref == in.Ref {
				u.State, u.SpentBy, u.SpentAt, u.SpentTime = primary.Spent, id, primary.Place{Height: height}, 1_700_000_000+10*height
				n.parties[id] = append(n.parties[id], u.Addresses...)
			}
		}
	}
}

// out is an output of so much AVAX.
func out(nAVAX uint64, to address.Address) utxo.Output {
	return utxo.Output{Asset: chain.ID{0xa5}, State: utxo.State{Kind: utxo.TransferOutput, Amount: nAVAX,
		Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{to}}}}
}

// spend is the input that spends an output of a transaction.
func spend(tx chain.ID, index uint32, nAVAX uint64) utxo.Input {
	return utxo.Input{Ref: utxo.Ref{TxID: tx, Index: index}, Asset: chain.ID{0xa5}, Amount: nAVAX, Auth: utxo.Auth{Indices: []uint32{0}}}
}

// withTxs adds transactions of all three chains to the sample.
func (n *fakePrimary) withTxs() *fakePrimary {
	n.txs = nil
	base := func(in []utxo.Input, outs ...utxo.Output) utxo.Base {
		return utxo.Base{NetworkID: 5, Inputs: in, Outputs: outs, Memo: []byte("hi")}
	}
	first := n.addPlatformTx(1, &platform.Base{Base: base(nil, out(5e9, ann), out(7e9, ben))})
	locked := out(2e9, ann)
	locked.Locktime = 1_900_000_000
	stake := &platform.AddPermissionlessDelegator{Base: base([]utxo.Input{spend(first.ID, 0, 5e9)}, locked),
		Validator: platform.Validator{NodeID: nodeOne, End: 1_702_000_000, Weight: 2e9}, Stake: []utxo.Output{out(2e9, ann)}, RewardsOwner: utxo.Owners{Threshold: 1, Addresses: []address.Address{ann}}}
	staking := n.addPlatformTx(2, stake)
	n.stakers = append(n.stakers, primary.Staker{TxID: staking.ID, Node: nodeOne, Delegator: true, Weight: 2e9, Status: primary.Active, Start: 1_700_000_020, End: 1_702_000_000, RewardOwners: stake.RewardsOwner, Gross: 77, Net: 75})
	n.addPlatformTx(3, &platform.CreateChain{Base: base(nil), Subnet: chain.ID{3}, Name: "chain", VM: chain.ID{5}, GenesisData: []byte(evmGenesis)})
	n.addPlatformTx(4, &platform.CreateSubnet{Base: base(nil), Owner: platformOwners})
	n.addPlatformTx(5, &platform.ConvertSubnetToL1{Base: base([]utxo.Input{spend(first.ID, 1, 7e9)}, out(1e9, ben)), Subnet: chain.ID{3}, ManagerChain: chain.ID{4}, ManagerAddress: alice[:],
		Validators: []platform.L1Validator{{NodeID: nodeOne[:], Weight: 9, Balance: 3e9}}})
	n.addPlatformTx(6, &platform.RewardValidator{TxID: staking.ID}, utxo.Ref{TxID: first.ID}.ID())
	n.addPlatformTx(7, &platform.Import{Base: base(nil, out(4e9, ann)), SourceChain: fujiX, Imported: []utxo.Input{spend(chain.ID{0x99}, 0, 5e9)}})

	mint := n.addExchangeTx(11, &avm.CreateAsset{Base: base(nil, out(3e9, ann)), Name: "Token", Symbol: "TOK", Denomination: 2}, true)
	n.assets = map[chain.ID]*xchain.Asset{mint.ID: {ID: mint.ID, Name: "Token", Symbol: "TOK", Denomination: 2, Time: 1_600_000_001, Fixed: true}}
	n.addExchangeTx(3, &avm.Export{Base: base([]utxo.Input{spend(mint.ID, 0, 3e9)}, out(1e9, ben)), DestinationChain: chain.PlatformChainID, Exported: []utxo.Output{out(2e9, ben)}}, false)
	n.addAtomicTx(5, &atomic.Tx{Kind: atomic.Export, NetworkID: 5, ChainID: chain.ID{0x20}, Peer: fujiX,
		Accounts: []atomic.Account{{Address: alice, Amount: 6e9, Asset: chain.ID{0xa5}, Nonce: 1}}, Exported: []utxo.Output{out(5e9, ann)}})
	n.addAtomicTx(6, &atomic.Tx{Kind: atomic.Import, NetworkID: 5, ChainID: chain.ID{0x20}, Peer: fujiX,
		Imported: []utxo.Input{spend(chain.ID{0x98}, 0, 5e9)}, Accounts: []atomic.Account{{Address: alice, Amount: 4e9, Asset: chain.ID{0xa5}}}})
	return n
}

// samplePrimaries serves the sample as fuji and testnet.
func samplePrimaries() primaries {
	n := samplePrimary().withTxs()
	return primaries{"fuji": n, "testnet": n}
}
