package bench

import (
	"context"
	"math"
	"testing"
	"time"

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
	f := ingestFigures(t, each)
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
	each(figure{"log / ingest CPU", cpuRatio.atMost(maxFeedShare), func() float64 { return feedShare(t, f) }})
}

// ingestShare and lateShare are the promised shares of the rate at which the blocks of a
// chain can be read and traced alone: of one that executes blocks before their acceptance,
// and of one that does it after.
const ingestShare, lateShare = 0.5, 0.5

// ingestFigures compare catching up with both kinds of chains, as a server does it, with
// reading them alone. The least times are compared, which other work on the machine
// disturbs least. It returns the chain of the first kind.
func ingestFigures(t *testing.T, each func(figure)) (plain *farm) {
	measure := func(name string, share float64, late bool) *farm {
		f := startFarmWith(t, 150, madeTxs, 0, late)
		f.follow(t, new(nowhere)) // warms up both sides
		each(figure{name, timeRatio.atMost(1 / share), func() float64 {
			ours, alone := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range 4 {
				ours = min(ours, f.catchUp(t))
				took, _ := f.follow(t, new(nowhere))
				alone = min(alone, took)
			}
			return float64(ours) / float64(alone)
		}})
		return f
	}
	measure("ingest with blocks executed after their acceptance, time / source", lateShare, true)
	return measure("ingest time / source", ingestShare, false)
}
