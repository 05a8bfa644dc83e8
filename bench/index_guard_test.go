package bench

import (
	"context"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

const (
	// madeTxs is the number of transactions of each made-up block.
	madeTxs = 100
	// madeGroup is the number of made-up blocks in a commit.
	madeGroup = 64
)

// madeBlocks returns groups of blocks that say all that blocks can say. With four
// groups there are 0.2 accounts for each transaction, about as many as in a busy
// hour of a busy chain.
func madeBlocks(groups int) [][]*evm.Block {
	gen := indextest.New(indextest.Config{Seed: 1, Txs: madeTxs, Full: true, Accounts: 5000})
	all := make([][]*evm.Block, groups)
	for i := range all {
		all[i] = gen.Blocks(madeGroup)
	}
	return all
}

// indexFigures are those of BenchmarkIngest that do not depend on the machine,
// and the allocations of the index alone.
func indexFigures(t *testing.T, each func(figure)) {
	each(figure{"index allocations", allocs, func() float64 {
		const runs = 5
		_, c, _ := openChain(t, store.Options{NoSync: true})
		groups := madeBlocks(1 + runs)
		return allocations(runs, 1, func() {
			if err := c.Commit(context.Background(), groups[0]); err != nil {
				t.Fatal(err)
			}
			groups = groups[1:]
		}) / (madeGroup * madeTxs)
	}})
	f := startChainFarm(t, 60, madeTxs)
	source := func() float64 {
		took, _ := f.follow(t, new(nowhere))
		return float64(took)
	}
	ours := func() float64 {
		sink, db, _, _ := openSink(t)
		took, _ := f.follow(t, sink)
		if err := db.Close(); err != nil { // before the next one is measured
			t.Fatal(err)
		}
		return float64(took)
	}
	source() // warms up both sides
	each(figure{"ingest time / source", timeRatio, func() float64 { return costRatio(2, perGroup, ours, source) }})
	each(figure{"verification / ingest CPU", cpuRatio.atMost(maxVerifyShare), func() float64 {
		sink, db, _, _ := openSink(t)
		before := cpu()
		_, txs := f.follow(t, sink)
		if err := db.Close(); err != nil { // writes the tables, as many blocks would have
			t.Fatal(err)
		}
		whole := float64(cpu()-before) / 1e3 / float64(txs)
		return f.verification(t) / whole
	}})
}
