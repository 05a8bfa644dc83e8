package xchain

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// world makes an X-Chain at random, and knows its state in a form of its own.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	unspent map[chain.ID]utxo.UTXO
	spent   map[chain.ID]chain.ID // spender
	assets  map[chain.ID]string   // symbols
	txs     []chain.ID            // in order
	of      map[address.Address][]chain.ID
	moved   map[chain.ID][]chain.ID // transactions of an asset
	burned  map[chain.ID]uint64
	genesis []byte
	items   []*primary.Block // vertices, and then blocks
	stop    int              // number of vertices
}

func (w *world) someone() address.Address { return address.Address{byte(1 + w.rnd.IntN(6))} }

func (w *world) owners() utxo.Owners {
	list := []address.Address{w.someone()}
	if b := w.someone(); w.rnd.IntN(4) == 0 && b != list[0] {
		list = append(list, b)
		slices.SortFunc(list, func(a, b address.Address) int { return int(a[0]) - int(b[0]) })
	}
	return utxo.Owners{Threshold: 1, Addresses: list}
}

func (w *world) amount(asset chain.ID) utxo.Output {
	owners := w.owners()
	owners.Locktime = uint64(len(w.txs)%5) * 400 // 1000 is the time of the first block
	return utxo.Output{Asset: asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: 1 + w.rnd.Uint64N(1000), Owners: owners}}
}

// seal returns the transaction with its ID.
func (w *world) seal(body avm.Body) avm.Tx {
	w.t.Helper()
	b, err := (&avm.Tx{Body: body}).Bytes()
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := avm.ParseTx(b)
	if err != nil {
		w.t.Fatal(err)
	}
	return *tx
}

// pick returns unspent outputs of a kind, the same ones for the same state.
func (w *world) pick(kind utxo.Kind, most int) (list []utxo.UTXO) {
	ids := slices.SortedFunc(maps.Keys(w.unspent), func(a, b chain.ID) int { return slices.Compare(a[:], b[:]) })
	for _, i := range w.rnd.Perm(len(ids)) {
		if u := w.unspent[ids[i]]; u.Kind == kind && len(list) < most {
			list = append(list, u)
		}
	}
	return list
}

func inputs(list []utxo.UTXO) (in []utxo.Input) {
	for _, u := range list {
		in = append(in, utxo.Input{Ref: u.Ref, Asset: u.Asset, Amount: u.Amount, Auth: utxo.Auth{Indices: []uint32{0}}})
	}
	return in
}

// body returns what a further transaction does.
func (w *world) body() avm.Body {
	spend := w.pick(utxo.TransferOutput, 1+w.rnd.IntN(3))
	base := utxo.Base{NetworkID: network, ChainID: chain.ID{9}, Inputs: inputs(spend), Memo: fmt.Append(nil, len(w.txs))}
	asset := chain.ID{1}
	if len(spend) > 0 {
		asset = spend[0].Asset
	}
	for range w.rnd.IntN(3) {
		base.Outputs = append(base.Outputs, w.amount(asset))
	}
	switch w.rnd.IntN(6) {
	case 0:
		return &avm.Export{Base: base, DestinationChain: chain.ID{}, Exported: []utxo.Output{w.amount(asset)}}
	case 1:
		in := []utxo.Input{{Ref: utxo.Ref{TxID: chain.ID{5, byte(w.rnd.IntN(200)), byte(len(w.txs)), byte(len(w.txs) >> 8)}}, Asset: asset, Amount: 5, Auth: utxo.Auth{Indices: []uint32{0}}}}
		return &avm.Import{Base: base, SourceChain: chain.ID{}, Imported: in}
	case 2:
		return &avm.CreateAsset{Base: base, Name: "Coin", Symbol: fmt.Sprintf("C%d", len(w.assets)), Denomination: 3, States: []avm.InitialState{
			{Extension: 0, Outputs: []utxo.State{
				{Kind: utxo.MintOutput, Owners: w.owners()}, {Kind: utxo.TransferOutput, Amount: 7, Owners: w.owners()},
			}},
		}}
	case 3:
		if mint := w.pick(utxo.MintOutput, 1); len(mint) > 0 {
			return &avm.Operate{Base: base, Operations: []avm.Operation{{
				Asset: mint[0].Asset, Inputs: []utxo.Ref{mint[0].Ref}, Kind: utxo.MintOperation, Auth: utxo.Auth{Indices: []uint32{0}},
				Outputs: []utxo.State{{Kind: utxo.MintOutput, Owners: w.owners()}, {Kind: utxo.TransferOutput, Amount: 9, Owners: w.owners()}},
			}}}
		}
	}
	return &avm.Base{Base: base}
}

// take applies a transaction to what the world knows.
func (w *world) take(tx *avm.Tx) {
	part, assets := map[address.Address]bool{}, map[chain.ID]bool{}
	spend := func(ref utxo.Ref) {
		if u, ok := w.unspent[ref.ID()]; ok {
			delete(w.unspent, ref.ID())
			for _, a := range u.Addresses {
				part[a] = true
			}
		}
		w.spent[ref.ID()] = tx.ID
	}
	next := uint32(0)
	put := func(out utxo.Output, stays bool) {
		for _, a := range out.Addresses {
			part[a] = true
		}
		u := utxo.UTXO{Ref: utxo.Ref{TxID: tx.ID, Index: next}, Output: out}
		if next++; stays {
			w.unspent[u.Ref.ID()] = u
		}
		assets[out.Asset] = true
	}
	base := tx.Body.Funds()
	left := map[chain.ID]int64{} // of what is put in, by asset
	for _, in := range base.Inputs {
		left[in.Asset] += int64(w.unspent[in.Ref.ID()].Amount)
		assets[in.Asset] = true
		spend(in.Ref)
	}
	for _, out := range base.Outputs {
		left[out.Asset] -= int64(out.Amount)
		put(out, true)
	}
	switch t := tx.Body.(type) {
	case *avm.Export:
		left[t.Exported[0].Asset] -= int64(t.Exported[0].Amount)
		put(t.Exported[0], false)
	case *avm.Import:
		left[t.Imported[0].Asset] += int64(t.Imported[0].Amount)
		spend(t.Imported[0].Ref)
		assets[t.Imported[0].Asset] = true
	case *avm.CreateAsset:
		for _, s := range t.States[0].Outputs {
			put(utxo.Output{Asset: tx.ID, State: s}, true)
		}
		w.assets[tx.ID] = t.Symbol
		assets[tx.ID] = true
	case *avm.Operate:
		op := t.Operations[0]
		spend(op.Inputs[0])
		for _, s := range op.Outputs {
			put(utxo.Output{Asset: op.Asset, State: s}, true)
		}
	}
	w.txs = append(w.txs, tx.ID)
	for asset, amount := range left { // these transactions may make more than they have
		w.burned[asset] += uint64(max(amount, 0))
	}
	for a := range part {
		w.of[a] = append(w.of[a], tx.ID)
	}
	for id := range assets {
		w.moved[id] = append(w.moved[id], tx.ID)
	}
}

func (w *world) some() (list []avm.Tx) {
	for range 1 + w.rnd.IntN(3) {
		tx := w.seal(w.body())
		w.take(&tx)
		list = append(list, tx)
	}
	return list
}

func newWorld(t *testing.T, seed uint64, vertices, blocks int) *world {
	t.Helper()
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 7)), unspent: map[chain.ID]utxo.UTXO{}, spent: map[chain.ID]chain.ID{},
		assets: map[chain.ID]string{}, of: map[address.Address][]chain.ID{}, moved: map[chain.ID][]chain.ID{}, burned: map[chain.ID]uint64{}, stop: vertices,
	}
	first := w.seal(&avm.CreateAsset{Base: utxo.Base{NetworkID: network}, Name: "Avalanche", Symbol: "AVAX", Denomination: 9, States: []avm.InitialState{{
		Outputs: []utxo.State{{Kind: utxo.TransferOutput, Amount: 1 << 40, Owners: w.owners()}, {Kind: utxo.TransferOutput, Amount: 1 << 41, Owners: w.owners()}},
	}}})
	genesis, err := avm.GenesisBytes([]avm.GenesisAsset{{Alias: "AVAX", Tx: first}})
	if err != nil {
		t.Fatal(err)
	}
	assets, err := avm.ParseGenesis(genesis)
	if err != nil {
		t.Fatal(err)
	}
	w.genesis = genesis
	w.take(&assets[0].Tx)
	var last *avm.Tx
	for i := range vertices {
		v := &avm.Vertex{ChainID: chain.ID{9}, Height: uint64(i / 2), Stop: i == vertices-1}
		if !v.Stop {
			v.Txs = w.some()
			if last != nil && i%3 == 0 {
				v.Txs = append(v.Txs, *last) // stands in two vertices
			}
			last = &v.Txs[0]
		}
		raw, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		b := w.add(primary.XVertices, raw)
		if b.Place = uint64(i); i > 0 {
			b.Before = w.items[i-1].Vertex.ID
		}
	}
	parent := chain.ID{8}
	for h := uint64(1); h <= uint64(blocks); h++ {
		raw, err := (&avm.Block{Parent: parent, Height: h, Time: 1000 + h/2, Txs: w.some()}).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		parent = w.add(primary.XChain, raw).ID()
	}
	return w
}

func (w *world) add(kind primary.Kind, raw []byte) *primary.Block {
	w.t.Helper()
	b, err := primary.Parse(kind, raw)
	if err != nil {
		w.t.Fatal(err)
	}
	if kind == primary.XVertices {
		b.Accepted = 500 + uint64(len(w.items))
	}
	w.items = append(w.items, b)
	return b
}
