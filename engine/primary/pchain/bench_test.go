package pchain_test

import (
	"testing"

	"quorate/engine/primary"
)

// BenchmarkBlocks compares reading a history's blocks from their bytes with executing
// them and committing their rows as well, in groups as an ingest makes them.
func BenchmarkBlocks(b *testing.B) {
	h := simulated(b)
	read := func(b *testing.B) []*primary.Block {
		list := make([]*primary.Block, 0, len(h.blocks))
		for _, x := range h.blocks {
			block, err := primary.Parse(primary.PChain, x.Raw)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, block)
		}
		return list
	}
	perBlock := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(h.blocks)), "ns/block")
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			read(b)
		}
		perBlock(b)
	})
	b.Run("index", func(b *testing.B) {
		network, cfg := uint32(5000), h.cfg
		for b.Loop() {
			cfg.Network, cfg.Params = network, params(h)
			network++
			c := open(b, shared.db, cfg)
			commit(b, c, read(b))
		}
		perBlock(b)
	})
}
