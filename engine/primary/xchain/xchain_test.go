package xchain

import (
	"context"
	"errors"
	"maps"
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
	for id := range w.assets {
		got := uint64(0)
		known, err := v.BurnedDays(id, 0, func(d *primary.BurnedDay) bool {
			got = d.Total
			return false
		})
		for _, at := range []uint64{0, 399, 400, 1200, 1600} {
			want := uint64(0)
			for _, u := range w.unspent {
				if u.Asset == id && u.Kind == utxo.TransferOutput && u.Locktime > at {
					want += u.Amount
				}
			}
			if locked, known, err := v.Locked(id, at); locked != want || !known || err != nil {
				w.t.Errorf("asset %s: %d locked at %d, want %d: %v, %v", id, locked, at, want, known, err)
			}
		}
		if want := w.burned[id]; !known || err != nil || got != want {
			w.t.Errorf("asset %s: %d burned, want %d: %v, %v", id, got, want, known, err)
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
	w.checkTimes(v)
	for a, want := range w.of {
		if got := w.walk(v, true, func(p primary.Page, take taker) (primary.Position, error) {
			return v.Txs([]address.Address{a}, primary.TimeRange{}, p, take)
		}); !slices.Equal(got, want) {
			w.t.Errorf("address %x: %d transactions, want %d", a[0], len(got), len(want))
		}
		w.checkOutputs(v, a)
	}
}

// checkTimes lists the transactions of ranges of times, of vertices, of blocks and of both.
func (w *world) checkTimes(v *View) {
	w.t.Helper()
	var all []*primary.TxRow
	list := func(f primary.TimeRange, take func(tx *primary.TxRow)) {
		w.t.Helper()
		if _, err := v.Txs(nil, f, primary.Page{Limit: 1 << 20, Asc: true}, func(tx *primary.TxRow) (primary.Result, error) {
			take(tx)
			return primary.Taken, nil
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	list(primary.TimeRange{}, func(tx *primary.TxRow) { all = append(all, tx) })
	times := []uint64{1, 1000, 1 << 40}
	for range 20 {
		times = append(times, all[w.rnd.IntN(len(all))].Time+uint64(w.rnd.IntN(2)))
	}
	for _, from := range times {
		f := primary.TimeRange{From: from, To: times[w.rnd.IntN(len(times))]}
		got, want := 0, 0
		list(f, func(*primary.TxRow) { got++ })
		for _, tx := range all {
			if tx.Time >= f.From && (f.To == 0 || tx.Time < f.To) {
				want++
			}
		}
		if got != want {
			w.t.Errorf("%d transactions from %d to %d, want %d", got, f.From, f.To, want)
		}
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

// Rows of blocks that began before there were vertices lack what those left, until they
// are made again.
func TestInherited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7, 30, 30)
	db := openDB(t)
	blocks, vertices := openChains(t, db, w.genesis)
	want := func(want bool) {
		t.Helper()
		if got, err := Inherited(blocks, vertices); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	want(true) // there is nothing
	commit := func(c *primary.Chain, items []*primary.Block) {
		t.Helper()
		if err := c.Commit(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	commit(blocks, w.items[w.stop:])
	want(true) // nobody has vertices
	commit(vertices, w.items[:w.stop])
	want(false)
	if err := blocks.Remake(t.Context(), listed(w.items[w.stop:]), nil); err != nil {
		t.Fatal(err)
	}
	want(true)
	honest, before := openChains(t, openDB(t), w.genesis)
	commit(before, w.items[:w.stop])
	commit(honest, w.items[w.stop:])
	a, err := blocks.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := honest.Digest(t.Context()); err != nil || a != b {
		t.Errorf("made again: the rows are others, %v", err)
	}
}

// listed reads blocks of a list.
type listed []*primary.Block

func (l listed) Read(_ context.Context, from, to uint64, f func(*primary.Block) error) error {
	for _, b := range l {
		if h := b.Link().Height; from <= h && h <= to {
			if err := f(b); err != nil {
				return err
			}
		}
	}
	return nil
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
