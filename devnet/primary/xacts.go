package primary

import (
	"bytes"
	"fmt"
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// planX plans what users do on the X-Chain, and between it and the P-Chain.
func (m *maker) planX() {
	builds := []xbuild{
		m.xbase, m.xbase, m.xbase, m.createAsset, m.operate, m.operate, m.operate, m.xexport, m.xexport, m.ximport,
	}
	for i := range max(m.cfg.Blocks/3, 60) {
		at := m.between(m.forks.Genesis+day, m.tip-1800)
		list := []xbuild{builds[i%len(builds)]} // each kind comes in the smallest history
		for range m.rng.IntN(4) {
			list = append(list, builds[m.rng.IntN(len(builds))])
		}
		m.at(at, func(at uint64) { m.actX(at, list...) })
		if i%6 == 3 {
			m.once(min(at+m.rng.Uint64N(5*day), m.tip-900), func(uint64) (platform.Body, []int) { return m.importP() })
		}
		if i%8 == 5 {
			m.once(at, func(uint64) (platform.Body, []int) { return m.exportP() })
		}
	}
	m.at(m.forks.Cortina, func(at uint64) { m.actX(at, m.xbase) })
	m.at(m.tip-600, func(at uint64) { m.actX(at, m.xbase) })
}

// paid returns the kinds of the credentials for inputs.
func paid(signers []int) []utxo.Kind {
	return slices.Repeat([]utxo.Kind{utxo.Signatures}, len(signers))
}

func (m *maker) xpay(from address.Address, outputs []utxo.Output, spent ...bill) (utxo.Base, []utxo.Kind, bool) {
	base, signers, ok := m.pay(&m.x.coins, from, outputs, append(spent, bill{m.w.AssetID(), baseFee})...)
	return base, paid(signers), ok
}

// xbase moves AVAX, or at times another asset that somebody has.
func (m *maker) xbase() (avm.Body, []utxo.Kind) {
	asset := m.w.AssetID()
	if n := len(m.assets); n > 0 && m.rng.IntN(3) == 0 {
		asset = m.assets[m.rng.IntN(n)]
	}
	return m.xtransfer(asset)
}

func (m *maker) xtransfer(asset chain.ID) (avm.Body, []utxo.Kind) {
	from, amount := m.account(), m.amount(avax/100, 300*avax)
	if asset != m.w.AssetID() {
		body := m.x.Assets[asset]
		from, amount = body.States[0].Outputs[0].Addresses[0], 1+m.rng.Uint64N(1000)
	}
	base, kinds, ok := m.xpay(from, []utxo.Output{out(asset, amount, m.account())})
	if !ok {
		return nil, nil
	}
	base.Memo = fmt.Appendf(nil, "no. %d", len(m.x.Txs))
	return &avm.Base{Base: base}, kinds
}

// createAsset makes an asset: of a fixed amount, of one that can grow, of NFTs or of
// properties.
func (m *maker) createAsset() (avm.Body, []utxo.Kind) {
	from := m.account()
	base, kinds, ok := m.xpay(from, nil)
	if !ok {
		return nil, nil
	}
	own := world.Single(from)
	body := &avm.CreateAsset{Base: base, Symbol: fmt.Sprintf("A%d", len(m.x.Assets)%1000), Denomination: uint8(m.rng.IntN(10))} // small
	state := func(extension uint32, outputs ...utxo.State) {
		slices.SortFunc(outputs, func(a, b utxo.State) int { return bytes.Compare(stateBytes(a), stateBytes(b)) })
		body.States = []avm.InitialState{{Extension: extension, Outputs: outputs}}
	}
	switch n := len(m.x.Assets); n % 4 {
	case 0:
		body.Name = fmt.Sprintf("Fixed %d", n)
		state(0, utxo.State{Kind: utxo.TransferOutput, Amount: 1_000_000_000, Owners: own})
	case 1:
		body.Name = fmt.Sprintf("Growing %d", n)
		state(0, utxo.State{Kind: utxo.MintOutput, Owners: own},
			utxo.State{Kind: utxo.TransferOutput, Amount: 5_000_000, Owners: own})
	case 2:
		body.Name, body.Denomination = fmt.Sprintf("Pictures %d", n), 0
		state(1, utxo.State{Kind: utxo.NFTMintOutput, Owners: own}, utxo.State{Kind: utxo.NFTMintOutput, Group: 1, Owners: own})
	case 3:
		body.Name, body.Denomination = fmt.Sprintf("Deeds %d", n), 0
		state(2, utxo.State{Kind: utxo.PropertyMintOutput, Owners: own})
	}
	return body, kinds
}

func stateBytes(s utxo.State) []byte {
	b, err := codec.Append(nil, 0, func(c *codec.Coder) { utxo.CodeState(c, &s) })
	if err != nil {
		panic("primary: an output that cannot be written: " + err.Error())
	}
	return b
}

// operate uses one of the rights that somebody has: to mint, to an NFT or a property.
func (m *maker) operate() (avm.Body, []utxo.Kind) {
	m.x.rights = m.x.unspent(m.x.rights)
	if len(m.x.rights) == 0 {
		return nil, nil
	}
	u := m.x.UTXOs[m.x.rights[m.rng.IntN(len(m.x.rights))]]
	op, kind := m.operation(u)
	base, kinds, ok := m.xpay(u.Addresses[0], nil)
	if !ok {
		return nil, nil
	}
	return &avm.Operate{Base: base, Operations: []avm.Operation{op}}, append(kinds, kind)
}

func (m *maker) operation(u *utxo.UTXO) (avm.Operation, utxo.Kind) {
	op := avm.Operation{Asset: u.Asset, Inputs: []utxo.Ref{u.Ref}, Auth: utxo.Auth{Indices: []uint32{0}}}
	to := world.Single(m.account())
	switch u.Kind {
	case utxo.MintOutput:
		op.Kind, op.Outputs = utxo.MintOperation, []utxo.State{u.State, {Kind: utxo.TransferOutput, Amount: 1000 + m.rng.Uint64N(1e6), Owners: to}}
		return op, utxo.Signatures
	case utxo.NFTMintOutput:
		op.Kind, op.Group, op.Payload = utxo.NFTMintOperation, u.Group, fmt.Appendf(nil, "picture %d", len(m.x.Txs))
		for range 1 + m.rng.IntN(2) {
			op.Outputs = append(op.Outputs, utxo.State{
				Kind: utxo.NFTTransferOutput, Group: op.Group, Payload: op.Payload, Owners: world.Single(m.account()),
			})
		}
		return op, utxo.NFTSignatures
	case utxo.NFTTransferOutput:
		next := u.State
		next.Owners = to
		op.Kind, op.Outputs = utxo.NFTTransferOperation, []utxo.State{next}
		return op, utxo.NFTSignatures
	case utxo.PropertyMintOutput:
		op.Kind, op.Outputs = utxo.PropertyMintOp, []utxo.State{u.State, {Kind: utxo.PropertyOwnedOutput, Owners: to}}
	default:
		op.Kind = utxo.PropertyBurnOp
	}
	return op, utxo.PropertySignatures
}

// xexport hands AVAX to the P-Chain, or to the C-Chain.
func (m *maker) xexport() (avm.Body, []utxo.Kind) {
	from, amount := m.account(), m.amount(avax/10, 200*avax)
	base, kinds, ok := m.xpay(from, nil, bill{m.w.AssetID(), amount})
	if !ok {
		return nil, nil
	}
	to := chain.PlatformChainID
	if m.rng.IntN(5) == 0 {
		to = m.w.CChainID()
	}
	return &avm.Export{Base: base, DestinationChain: to, Exported: []utxo.Output{out(m.w.AssetID(), amount, from)}}, kinds
}

// taken returns the inputs that import outputs, and what the owner gets.
func (m *maker) taken(c *coins, list []utxo.UTXO) (base utxo.Base, inputs []utxo.Input) {
	base = utxo.Base{NetworkID: world.NetworkID, ChainID: c.chain}
	var bills []bill
	for _, u := range list {
		inputs = append(inputs, utxo.Input{Ref: u.Ref, Asset: u.Asset, Amount: u.Amount, Auth: utxo.Auth{Indices: []uint32{0}}})
		bills = append(bills, bill{u.Asset, u.Amount})
	}
	for _, b := range sums(nil, bills) {
		if b.asset == m.w.AssetID() {
			b.amount -= baseFee
		}
		base.Outputs = append(base.Outputs, out(b.asset, b.amount, list[0].Addresses[0]))
	}
	sortInputs(inputs)
	sortOutputs(base.Outputs)
	return base, inputs
}

func (m *maker) ximport() (avm.Body, []utxo.Kind) {
	list := m.s.imports(m.w.XChainID(), 4)
	if len(list) == 0 {
		return nil, nil
	}
	base, inputs := m.taken(&m.x.coins, list)
	return &avm.Import{Base: base, SourceChain: chain.PlatformChainID, Imported: inputs}, paid(make([]int, len(inputs)))
}

func (m *maker) importP() (platform.Body, []int) {
	list := m.x.imports(chain.PlatformChainID, 4)
	if len(list) == 0 {
		return nil, nil
	}
	base, inputs := m.taken(&m.s.coins, list)
	return &platform.Import{Base: base, SourceChain: m.w.XChainID(), Imported: inputs}, slices.Repeat([]int{1}, len(inputs))
}

func (m *maker) exportP() (platform.Body, []int) {
	from, amount := m.account(), m.amount(avax/10, 200*avax)
	base, signers, ok := m.fund(from, nil, bill{m.w.AssetID(), amount + baseFee})
	if !ok {
		return nil, nil
	}
	return &platform.Export{
		Base: base, DestinationChain: m.w.XChainID(), Exported: []utxo.Output{out(m.w.AssetID(), amount, from)},
	}, signers
}
