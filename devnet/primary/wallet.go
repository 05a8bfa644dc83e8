package primary

import (
	"bytes"
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// Fees, flat and more than any that the chain asks for.
const (
	baseFee   = avax / 1000
	createFee = avax
	l1Fee     = avax / 100
)

// bill is an amount of an asset.
type bill struct {
	asset  chain.ID
	amount uint64
}

// out is an output to one address.
func out(asset chain.ID, amount uint64, to address.Address) utxo.Output {
	return utxo.Output{Asset: asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: amount, Owners: world.Single(to)}}
}

// fund has an address pay on the P-Chain, as [maker.pay].
func (m *maker) fund(from address.Address, outputs []utxo.Output, spent ...bill) (utxo.Base, []int, bool) {
	return m.pay(&m.s.coins, from, outputs, spent...)
}

// pay has an address pay for outputs and for what is spent without any. It returns
// the base of the transaction and the number of signatures by input; false if the
// address has too little.
func (m *maker) pay(c *coins, from address.Address, outputs []utxo.Output, spent ...bill) (utxo.Base, []int, bool) {
	base := utxo.Base{NetworkID: world.NetworkID, ChainID: c.chain, Outputs: outputs}
	for _, want := range sums(outputs, spent) {
		have := uint64(0)
		for _, ref := range c.available(purseKey{from, want.asset}) {
			if have >= want.amount {
				break
			}
			u := c.UTXOs[ref]
			have += u.Amount
			base.Inputs = append(base.Inputs, utxo.Input{
				Ref: ref, Asset: want.asset, Amount: u.Amount, Auth: utxo.Auth{Indices: []uint32{0}},
			})
		}
		if have < want.amount {
			return base, nil, false
		}
		if have > want.amount {
			base.Outputs = append(base.Outputs, out(want.asset, have-want.amount, from))
		}
	}
	sortInputs(base.Inputs)
	sortOutputs(base.Outputs)
	return base, slices.Repeat([]int{1}, len(base.Inputs)), true
}

// sums adds up what is needed of each asset.
func sums(outputs []utxo.Output, spent []bill) (all []bill) {
	add := func(asset chain.ID, amount uint64) {
		i := slices.IndexFunc(all, func(b bill) bool { return b.asset == asset })
		if i < 0 {
			all, i = append(all, bill{asset: asset}), len(all)
		}
		all[i].amount += amount
	}
	for _, b := range spent {
		add(b.asset, b.amount)
	}
	for _, o := range outputs {
		add(o.Asset, o.Amount)
	}
	return all
}

func sortInputs(list []utxo.Input) {
	slices.SortFunc(list, func(a, b utxo.Input) int {
		if c := bytes.Compare(a.TxID[:], b.TxID[:]); c != 0 {
			return c
		}
		return int(int64(a.Index) - int64(b.Index))
	})
}

// sortOutputs brings outputs into the order of their bytes, as both chains want them.
func sortOutputs(list []utxo.Output) {
	if len(list) < 2 {
		return
	}
	slices.SortFunc(list, func(a, b utxo.Output) int { return bytes.Compare(outputBytes(a), outputBytes(b)) })
}

func outputBytes(o utxo.Output) []byte {
	b, err := codec.Append(nil, 0, func(c *codec.Coder) { utxo.CodeOutputs(c, &[]utxo.Output{o}, true) })
	if err != nil {
		panic("primary: an output that cannot be written: " + err.Error())
	}
	return b
}

// account draws one of the accounts.
func (m *maker) account() address.Address { return m.w.Account(m.rng.IntN(world.Accounts)) }

// amount draws an amount: most are small, few are large.
func (m *maker) amount(least, most uint64) uint64 {
	x := least
	for x < most/2 && m.rng.IntN(3) > 0 {
		x *= 2
	}
	return min(most, x+m.rng.Uint64N(x)/1000*1000)
}

// transfer moves AVAX between accounts. It is what can always be done since Durango;
// before, an export to the C-Chain is in its place.
func (m *maker) transfer() (platform.Body, []int) {
	from, to := m.account(), m.account()
	paid := out(m.w.AssetID(), m.amount(avax/10, 500*avax), to)
	if m.s.Time < m.forks.Durango {
		base, signers, ok := m.fund(from, nil, bill{m.w.AssetID(), paid.Amount + baseFee})
		if !ok {
			return nil, nil
		}
		return &platform.Export{Base: base, DestinationChain: m.w.CChainID(), Exported: []utxo.Output{paid}}, signers
	}
	base, signers, ok := m.fund(from, []utxo.Output{paid}, bill{m.w.AssetID(), baseFee})
	if !ok {
		return nil, nil
	}
	return &platform.Base{Base: base}, signers
}
