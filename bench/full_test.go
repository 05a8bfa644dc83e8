package bench

import (
	"cmp"
	"context"
	"flag"
	"testing"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// fullRatio is what indexing may cost beside many transactions: the rate is at least
// 0.7 of that of an empty database.
var fullRatio = timeRatio.atMost(1 / 0.7)

// follower makes blocks that say all that blocks can say, and puts them on top of a
// chain. Its accounts stay the same.
type follower struct {
	c    *index.Chain
	seed uint64
	txs  int // of a block, 0 for madeTxs
}

// blocks makes as many as two commits take.
func (f *follower) blocks(t testing.TB) (list []*evm.Block) {
	t.Helper()
	f.seed++
	list = indextest.New(indextest.Config{Seed: f.seed, Txs: cmp.Or(f.txs, madeTxs), Full: true, Accounts: 5000}).Blocks(1 + 2*madeGroup)[1:]
	if _, _, ok := f.c.Cursor(); !ok {
		list[0].Number, list[0].Parent = 0, evm.Hash{}
		for i, b := range list {
			b.Number = uint64(i)
		}
		return list
	}
	v, err := f.c.At(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	tip := v.Tip()
	list[0].Parent = tip.Hash
	for i, b := range list {
		b.Number, b.TimeMilli = tip.Number+1+uint64(i), tip.TimeMilli+uint64(i)*2000
	}
	return list
}

// commit returns the time that the next two commits take.
func (f *follower) commit(t testing.TB) float64 {
	t.Helper()
	list := f.blocks(t)
	start := time.Now()
	for len(list) > 0 {
		if err := f.c.Commit(context.Background(), list[:madeGroup]); err != nil {
			t.Fatal(err)
		}
		list = list[madeGroup:]
	}
	return float64(time.Since(start))
}

// besideMany returns how many times as long indexing takes on top of a chain as on one
// that begins with nothing. That one stays, so that both have tables written and merged
// behind them, as whoever goes on indexing has.
func besideMany(t testing.TB, many *index.Chain, rounds int) float64 {
	t.Helper()
	full := follower{c: many, seed: 1000}
	_, c, _ := openChain(t, store.Options{NoSync: true})
	empty := follower{c: c, seed: 5000}
	return costRatio(1, rounds, func() float64 { return full.commit(t) }, func() float64 { return empty.commit(t) })
}

// TestBesideMany: the guard's figure stands on it.
func TestBesideMany(t *testing.T) {
	t.Parallel()
	_, c, _ := openChain(t, store.Options{NoSync: true, MemTableMB: 8})
	manyTxs(t, c, 2000)
	f := follower{c: c, txs: 1}
	for want := uint64(1); want <= 1+2*2*madeGroup; want += 2 * madeGroup {
		if n, _, _ := c.Cursor(); n != want {
			t.Fatalf("block %d, want %d", n, want)
		}
		f.seed++
		list := f.blocks(t)
		for _, b := range list {
			b.Balances = nil
		}
		if err := c.Commit(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
}

// besideTxs is how many transactions the database of BenchmarkBesideMany has.
var besideTxs = flag.Int("beside", 1_000_000, "transactions in the database of BenchmarkBesideMany")

// BenchmarkBesideMany is what a database costs that has a million transactions, or as
// many as -beside says. x/empty is the time of indexing on top of them against that on
// a chain that begins with nothing, page-x/small that of pages that were never read before against those of a chain
// of 200,000.
func BenchmarkBesideMany(b *testing.B) {
	if *besideTxs < 200_000 {
		b.Fatalf("-beside %d: at least 200,000", *besideTxs)
	}
	many, small := newPageRig(b, *besideTxs), newPageRig(b, 200_000)
	for b.Loop() {
		b.ReportMetric(against(wall(), 5, func() { many.unread(b) }, func() { small.unread(b) }), "page-x/small")
		b.ReportMetric(besideMany(b, many.chain, perGroup), "x/empty")
	}
	b.ReportMetric(0, "ns/op")
}
