package bench

import (
	"testing"
	"time"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// rebuilder fills empty indexes, from a node and from the archive that was filled with
// them. What it does is what a server does: from the node with verification, archive and
// commits in turns; from the archive as at a start without an index.
type rebuilder struct {
	f       *farm
	archive *archive.Archive
	txs     int
}

func newRebuilder(t testing.TB, f *farm) *rebuilder {
	f.follow(t, new(nowhere)) // warms up both sides
	return &rebuilder{f: f}
}

// cost is that of one way: the time until the last block is in the index, on disk; and the
// processor time of this process, the node being another, until its tables are written,
// too, so that no way pays for the one before.
type cost struct{ wall, used float64 }

func costOf(t testing.TB, db *store.DB, work func() error) cost {
	t.Helper()
	began, before := time.Now(), cpu()
	if err := work(); err != nil {
		t.Fatal(err)
	}
	wall := time.Since(began)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return cost{wall.Seconds(), (cpu() - before).Seconds()}
}

// fromNode fills an index and a new archive.
func (r *rebuilder) fromNode(t testing.TB) cost {
	t.Helper()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	r.archive = a
	db, c, _ := openChain(t, store.Options{})
	return costOf(t, db, func() error {
		_, r.txs = r.f.follow(t, sinkOf(a, c))
		return nil
	})
}

// fromArchive fills an index from the archive, and returns its folder.
func (r *rebuilder) fromArchive(t testing.TB) (took cost, dir string) {
	t.Helper()
	db, c, dir := openChain(t, store.Options{})
	sink := sinkOf(r.archive, c)
	return costOf(t, db, func() error { return sink.CatchUp(t.Context(), nil) }), dir
}

// again makes all tables of an index again, beside those that are there.
func (r *rebuilder) again(t testing.TB, dir string) cost {
	t.Helper()
	db, c := reopenChain(t, dir, store.Options{})
	return costOf(t, db, func() error {
		return c.Rebuild(t.Context(), evmarchive.NewReader(r.archive), index.Tables(), nil)
	})
}

// BenchmarkFromArchive makes all tables of 300 blocks of 100 transactions on average
// three times in turns: from a simulated node in another process on the same cores, into
// archive and index; from that archive into an empty index; and again, beside the tables
// that are there. x/node is how many times as fast an empty index is filled from the
// archive as from the node, again-x/node the same of making tables again. The same of the
// processor's time is cpu-x/node and again-cpu-x/node, without what the node takes: what
// x/node would be with a node elsewhere that answers at once.
func BenchmarkFromArchive(b *testing.B) {
	r := newRebuilder(b, startChainFarm(b, 300, 100))
	var wall, used [3][]float64
	for b.Loop() {
		var ways [3]cost
		dir := ""
		ways[0] = r.fromNode(b)
		ways[1], dir = r.fromArchive(b)
		ways[2] = r.again(b, dir)
		for i, w := range ways {
			wall[i], used[i] = append(wall[i], w.wall), append(used[i], w.used)
		}
	}
	b.ReportMetric(float64(r.txs)/median(wall[1]), "txs/s")
	b.ReportMetric(median(wall[0])/median(wall[1]), "x/node")
	b.ReportMetric(median(wall[0])/median(wall[2]), "again-x/node")
	b.ReportMetric(median(used[0])/median(used[1]), "cpu-x/node")
	b.ReportMetric(median(used[0])/median(used[2]), "again-cpu-x/node")
}

// archiveFigures are those of BenchmarkFromArchive: a rebuild is at least twice as fast as
// reading the chain from a node.
func archiveFigures(t *testing.T, each func(figure)) {
	r := newRebuilder(t, startChainFarm(t, 120, madeTxs))
	r.fromNode(t)
	ratio := func(of func(cost) float64) func() float64 {
		ours := func() float64 {
			took, _ := r.fromArchive(t)
			return of(took)
		}
		return func() float64 { return costRatio(1, 3, ours, func() float64 { return of(r.fromNode(t)) }) }
	}
	each(figure{"from the archive CPU / from a node", cpuRatio.atMost(0.5), ratio(func(c cost) float64 { return c.used })})
	each(figure{"from the archive time / from a node", timeRatio.atMost(0.5), ratio(func(c cost) float64 { return c.wall })})
}
