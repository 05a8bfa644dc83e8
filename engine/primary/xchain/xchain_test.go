package xchain

import (
	"errors"
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
	store "quorate/engine/store/index"
)

const network = 77

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
	return utxo.Output{Asset: asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: 1 + w.rnd.Uint64N(1000), Owners: w.owners()}}
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
		in := []utxo.Input{{Ref: utxo.Ref{TxID: chain.ID{5, byte(w.rnd.IntN(200)), byte(len(w.txs))}}, Asset: asset, Amount: 5, Auth: utxo.Auth{Indices: []uint32{0}}}}
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
	for _, in := range base.Inputs {
		assets[in.Asset] = true
		spend(in.Ref)
	}
	for _, out := range base.Outputs {
		put(out, true)
	}
	switch t := tx.Body.(type) {
	case *avm.Export:
		put(t.Exported[0], false)
	case *avm.Import:
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
		assets: map[chain.ID]string{}, of: map[address.Address][]chain.ID{}, moved: map[chain.ID][]chain.ID{}, stop: vertices,
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

func openDB(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openChains(t *testing.T, db *store.DB, genesis []byte) (blocks, vertices *primary.Chain) {
	t.Helper()
	vertices, err := OpenVertices(db, network, genesis)
	if err == nil {
		blocks, err = OpenBlocks(db, network, genesis, vertices)
	}
	if err != nil {
		t.Fatal(err)
	}
	return blocks, vertices
}

// commit commits the items in groups of up to most, with restarts in between.
func (w *world) commit(db *store.DB, most int) (blocks, vertices *primary.Chain) {
	w.t.Helper()
	blocks, vertices = openChains(w.t, db, w.genesis)
	for at := 0; at < len(w.items); {
		c, end := vertices, w.stop
		if at >= w.stop {
			c, end = blocks, len(w.items)
		}
		n := min(1+w.rnd.IntN(most), end-at)
		if err := c.Commit(w.t.Context(), w.items[at:at+n]); err != nil {
			w.t.Fatal(err)
		}
		if at += n; w.rnd.IntN(5) == 0 {
			blocks, vertices = openChains(w.t, db, w.genesis)
		}
	}
	return blocks, vertices
}

func digests(t *testing.T, chains ...*primary.Chain) (sums [][32]byte) {
	t.Helper()
	for _, c := range chains {
		sum, err := c.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	return sums
}

// Rows say what the oracle knows, in whatever groups blocks come.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 40}, {30, 0}, {30, 40}} {
		w := newWorld(t, uint64(size[0]+size[1]), size[0], size[1])
		blocks, vertices := w.commit(openDB(t), 100)
		want := digests(t, blocks, vertices)
		b2, v2 := w.commit(openDB(t), 4)
		if got := digests(t, b2, v2); !slices.Equal(got, want) {
			t.Errorf("%v: another digest in smaller groups", size)
		}
		v, err := Open(b2, v2)
		if err != nil {
			t.Fatal(err)
		}
		w.check(v)
		v.Close()
	}
}

// check compares a view with what the world knows.
func (w *world) check(v *View) {
	w.t.Helper()
	for id, u := range w.unspent {
		got, found, err := v.Output(id)
		if err != nil || !found || got.State != primary.Unspent || got.Amount != u.Amount || got.Asset != u.Asset || got.Kind != u.Kind {
			w.t.Fatalf("output %s: %+v, %v, %v", id, got, found, err)
		}
	}
	for id, by := range w.spent {
		if got, found, err := v.Output(id); err != nil || !found || got.State != primary.Spent || got.SpentBy != by {
			w.t.Fatalf("spent output %s: %+v, %v, %v", id, got, found, err)
		}
	}
	for id, symbol := range w.assets {
		if a, found, err := v.Asset(id); err != nil || !found || a.Symbol != symbol || a.Fixed != (symbol == "AVAX") {
			w.t.Fatalf("asset %s: %+v, %v, %v", id, a, found, err)
		}
		if got := w.walk(v, false, func(p primary.Page, take taker) (primary.Position, error) { return v.AssetTxs(id, p, take) }); !slices.Equal(got, w.moved[id]) {
			w.t.Errorf("asset %s: %d transactions, want %d", id, len(got), len(w.moved[id]))
		}
	}
	for _, asc := range []bool{true, false} {
		want := w.txs
		if got := w.walk(v, !asc, func(p primary.Page, take taker) (primary.Position, error) {
			return v.Txs(nil, primary.TimeRange{}, p, take)
		}); !slices.Equal(got, want) {
			w.t.Errorf("asc %v: %d transactions, want %d", asc, len(got), len(want))
		}
	}
	for a, want := range w.of {
		if got := w.walk(v, true, func(p primary.Page, take taker) (primary.Position, error) {
			return v.Txs([]address.Address{a}, primary.TimeRange{}, p, take)
		}); !slices.Equal(got, want) {
			w.t.Errorf("address %x: %d transactions, want %d", a[0], len(got), len(want))
		}
		w.checkOutputs(v, a)
	}
}

func (w *world) checkOutputs(v *View, a address.Address) {
	w.t.Helper()
	got, want := map[chain.ID]bool{}, map[chain.ID]bool{}
	for id, u := range w.unspent {
		if slices.Contains(u.Addresses, a) {
			want[id] = true
		}
	}
	p := primary.Page{Limit: 3, Asc: true}
	for {
		next, err := v.Outputs([]address.Address{a}, []primary.OutputState{primary.Unspent}, p, func(u *primary.Output) (primary.Result, error) {
			if got[u.Ref.ID()] {
				w.t.Errorf("output %s twice", u.Ref.ID())
			}
			got[u.Ref.ID()] = true
			return primary.Taken, nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if p.After = next; next == nil {
			break
		}
	}
	if !maps.Equal(got, want) {
		w.t.Errorf("address %x has %d outputs, want %d", a[0], len(got), len(want))
	}
}

type taker = func(*primary.TxRow) (primary.Result, error)

// walk reads all pages of a list, in pages that differ in size and end early, and
// returns it oldest first.
func (w *world) walk(_ *View, desc bool, list func(primary.Page, taker) (primary.Position, error)) (ids []chain.ID) {
	w.t.Helper()
	p := primary.Page{Asc: !desc}
	for pages := 0; ; pages++ {
		p.Limit = 1 + w.rnd.IntN(5)
		room := 1 + w.rnd.IntN(5)
		taken := 0
		next, err := list(p, func(tx *primary.TxRow) (primary.Result, error) {
			if taken == room {
				return primary.Full, nil
			}
			taken++
			ids = append(ids, tx.ID)
			return primary.Taken, nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if taken == 0 && len(w.txs) > 0 && (next != nil || pages > 0) {
			w.t.Fatalf("page %d is empty", pages)
		}
		if p.After = next; next == nil {
			break
		}
	}
	if desc {
		slices.Reverse(ids)
	}
	return ids
}

// Vertices are found by height and by ID.
func TestVertices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 21, 2)
	v, err := Open(w.commit(openDB(t), 10))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for i, item := range w.items[:w.stop] {
		got, found, err := v.Vertex(item.Vertex.ID)
		if err != nil || !found || got.Index != uint64(i) || got.Time != item.Accepted || len(got.Txs) != len(item.Vertex.Txs) || got.Size != item.Vertex.Size {
			t.Fatalf("vertex %d: %+v, %v, %v", i, got, found, err)
		}
	}
	if _, found, err := v.Vertex(chain.ID{1}); found || err != nil {
		t.Errorf("a vertex that does not exist: %v, %v", found, err)
	}
	height := uint64(4)
	var at []uint64
	next, err := v.Vertices(&height, primary.Page{Limit: 5, Asc: true}, func(x *primary.Vertex) bool {
		at = append(at, x.Index)
		return x.Height == height
	})
	if err != nil || next != nil || !slices.Equal(at, []uint64{8, 9}) {
		t.Errorf("height 4: %v, %v, %v", at, next, err)
	}
}

// Blocks wait for the stop vertex, and nothing comes behind it.
func TestBeforeStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, 6, 3)
	blocks, vertices := openChains(t, openDB(t), w.genesis)
	if err := vertices.Commit(t.Context(), w.items[:w.stop-1]); err != nil {
		t.Fatal(err)
	}
	if err := blocks.Commit(t.Context(), w.items[w.stop:]); !errors.Is(err, ErrVertices) {
		t.Errorf("before the stop vertex: %v", err)
	}
	if err := vertices.Commit(t.Context(), w.items[w.stop-1:w.stop]); err != nil {
		t.Fatal(err)
	}
	if err := blocks.Commit(t.Context(), w.items[w.stop:]); err != nil {
		t.Errorf("behind the stop vertex: %v", err)
	}
	again := *w.items[0]
	again.Place, again.Before = uint64(w.stop), w.items[w.stop-1].Vertex.ID
	if err := vertices.Commit(t.Context(), []*primary.Block{&again}); !errors.Is(err, primary.ErrOrder) {
		t.Errorf("a vertex behind the stop vertex: %v", err)
	}
}

// What is spent twice is refused, and leaves no row.
func TestSpentTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6, 0, 0)
	in := inputs(w.pick(utxo.TransferOutput, 1))
	var txs []avm.Tx
	for i := range 2 {
		txs = append(txs, w.seal(&avm.Base{Base: utxo.Base{NetworkID: network, Inputs: in, Memo: []byte{byte(i)}}}))
	}
	for _, blocksOf := range [][]avm.Tx{txs, txs[:1]} {
		raw, err := (&avm.Block{Height: 1, Txs: blocksOf}).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		w.add(primary.XChain, raw)
	}
	c, _ := openChains(t, openDB(t), w.genesis)
	if err := c.Commit(t.Context(), w.items[:1]); !errors.Is(err, primary.ErrSpent) {
		t.Errorf("spent twice: %v", err)
	}
	if _, ok := c.Cursor(); ok {
		t.Error("the block was indexed")
	}
	if err := c.Commit(t.Context(), w.items[1:]); err != nil {
		t.Errorf("spent once: %v", err)
	}
}
