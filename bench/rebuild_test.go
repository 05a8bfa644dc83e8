package bench

import (
	"context"
	"testing"
	"time"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/follow"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// BenchmarkFromArchive makes all tables of 300 blocks of 100 transactions on average
// three times in turns: from a simulated node in another process on the same cores, into
// archive and index; from that archive into an empty index; and again, beside the tables
// that are there. x/node is how many times as fast an empty index is filled from the
// archive as from the node, again-x/node the same of making tables again. The same of the
// processor's time is cpu-x/node and again-cpu-x/node, without what the node takes.
func BenchmarkFromArchive(b *testing.B) {
	f := startChainFarm(b, 300, 100)
	f.follow(b, new(nowhere)) // warms up both sides
	type ways struct{ node, empty, again []float64 }
	var wall, used ways
	note := func(wall, used *[]float64, work func()) {
		began, before := time.Now(), cpu()
		work()
		*used = append(*used, (cpu() - before).Seconds())
		*wall = append(*wall, time.Since(began).Seconds())
	}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	txs := 0
	for b.Loop() {
		a, err := archive.Open(b.TempDir(), archive.Options{Kind: archive.KindEVM})
		must(err)
		_, c, _ := openChain(b, store.Options{})
		note(&wall.node, &used.node, func() { _, txs = f.follow(b, follow.NewSink(a, c)) })
		_, c, _ = openChain(b, store.Options{})
		sink := follow.NewSink(a, c).(interface {
			CatchUp(ctx context.Context, progress func(done, of uint64)) error
		})
		note(&wall.empty, &used.empty, func() { must(sink.CatchUp(b.Context(), nil)) })
		note(&wall.again, &used.again, func() { must(c.Rebuild(b.Context(), evmarchive.NewReader(a), index.Tables(), nil)) })
		must(a.Close())
	}
	b.ReportMetric(float64(txs)/median(wall.empty), "txs/s")
	b.ReportMetric(median(wall.node)/median(wall.empty), "x/node")
	b.ReportMetric(median(wall.node)/median(wall.again), "again-x/node")
	b.ReportMetric(median(used.node)/median(used.empty), "cpu-x/node")
	b.ReportMetric(median(used.node)/median(used.again), "again-cpu-x/node")
}
