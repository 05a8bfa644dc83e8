package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
	containersource "quorate/engine/source/container"
	store "quorate/engine/store/index"
)

// catchUpIndex is the environment variable that names a node to read instead of the
// simulated one: one with the same history, which e2e/indexnode serves as real nodes do.
const catchUpIndex = "QUORATE_BENCH_INDEX"

// catchUpRig reads the P- and the X-Chain of a simulated node in another process on the
// same cores.
type catchUpRig struct {
	*primaryHistory
	node  *source.Client
	begin chain.ID // parent of the P-Chain's first block
	// platform, vertices and avm are how many of them there are.
	platform, vertices, avm int
}

func newCatchUpRig(t testing.TB, blocks int) *catchUpRig {
	t.Helper()
	url := os.Getenv(catchUpIndex)
	if url == "" {
		cfg := primaryConfig(blocks)
		url = startFarmWith(t, cfg.Blocks, cfg.TxsPerBlock, cfg.PrimaryBlocks, false).url
	}
	node, err := source.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	h := newPrimaryHistory(t, blocks)
	m := h.made
	h.forget()
	return &catchUpRig{h, node, primary.GenesisID(m.Genesis()), 1 + len(m.Platform()), len(m.Vertices()), 1 + len(m.AVM())}
}

// unkept is a sink that keeps nothing: what is measured is fetching, checking and parsing.
type unkept struct{ last atomic.Pointer[chain.Head] }

func (s *unkept) Cursor() (head chain.Head, ok bool) {
	if h := s.last.Load(); h != nil {
		return *h, true
	}
	return head, false
}

func (s *unkept) Commit(_ context.Context, blocks []*primary.Block) error {
	head := blocks[len(blocks)-1].Link().Head
	s.last.Store(&head)
	return nil
}

// read follows a chain up to its last block, as the engine does.
func (r *catchUpRig) read(kind primary.Kind, id chain.ID, last uint64, sink ingest.Sink[*primary.Block]) error {
	cfg := containersource.Config{Chain: kind, ID: id, Node: r.node}
	if kind == primary.PChain {
		cfg.Genesis = r.begin
	}
	client, err := containersource.New(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i, err := ingest.New(ingest.Config[*primary.Block]{
		Source: client, Sink: sink, Fetchers: follow.PrimaryFetchers, Span: follow.PrimarySpan,
		Group: follow.PrimaryGroup, WindowBytes: 32 << 20, GroupBytes: 8 << 20,
		OnBlock: func(b *primary.Block) {
			if b.Link().Height == last {
				cancel()
			}
		},
	})
	if err != nil {
		return err
	}
	if err := i.Run(ctx); err != nil {
		return err
	}
	if head, ok := sink.Cursor(); !ok || head.Height < last {
		return fmt.Errorf("%s: read up to %d of %d: %w", kind, head.Height, last, i.Status().Err)
	}
	return nil
}

// all reads all chains into the sinks that open returns, at once as the engine does, but
// for the X-Chain's blocks: they are made rows of behind its vertices.
func (r *catchUpRig) all(t testing.TB, open func(k primary.Kind) ingest.Sink[*primary.Block]) (blocks int) {
	t.Helper()
	p, v, x := r.platform, r.vertices, r.avm
	platform, vertices, after := open(primary.PChain), open(primary.XVertices), open(primary.XChain)
	other := make(chan error, 1)
	go func() {
		err := r.read(primary.XVertices, r.x, uint64(v-1), vertices)
		if err == nil {
			err = r.read(primary.XChain, r.x, uint64(x-1), after)
		}
		other <- err
	}()
	err := r.read(primary.PChain, chain.PlatformChainID, uint64(p-1), platform)
	if err := errors.Join(err, <-other); err != nil {
		t.Fatal(err)
	}
	return p + v + x
}

// alone returns what it takes to read all blocks and to keep nothing.
func (r *catchUpRig) alone(t testing.TB, now clock) (took time.Duration, blocks int) {
	t.Helper()
	start := now()
	blocks = r.all(t, func(primary.Kind) ingest.Sink[*primary.Block] { return new(unkept) })
	return now() - start, blocks
}

// whole returns what it takes to archive all blocks and to make all their rows, each
// group on disk before the next.
func (r *catchUpRig) whole(t testing.TB, now clock) time.Duration {
	t.Helper()
	took, db := r.wholeIn(t, now)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

func (r *catchUpRig) wholeIn(t testing.TB, now clock) (took time.Duration, db *store.DB) {
	t.Helper()
	db = openWith(t, t.TempDir(), store.Options{})
	rows := r.open(t, db)
	of := map[primary.Kind]follow.PrimaryRows{
		primary.PChain: rows.platform, primary.XVertices: rows.vertices, primary.XChain: rows.blocks,
	}
	var archives []*archive.Archive
	start := now()
	r.all(t, func(k primary.Kind) ingest.Sink[*primary.Block] {
		a, err := archive.Open(t.TempDir(), archive.Options{Kind: container.KindOf(k)})
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, a)
		return follow.NewSink(a, of[k], primary.AppendArchived, container.NewReader(a, k), func() error { return nil }).Final()
	})
	took = now() - start
	for _, a := range archives {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return took, db
}

// rowsOf returns the rows of a database from one table on and below another, and closes it.
func rowsOf(t testing.TB, db *store.DB, first, end byte) (rows [][2][]byte) {
	t.Helper()
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	it, err := s.Rows(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for it.Seek([]byte{first}); it.Valid() && it.Key()[0] < end; it.Next() {
		if err := it.Value(func(value []byte) error {
			rows = append(rows, [2][]byte{bytes.Clone(it.Key()), bytes.Clone(value)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// floorGroup is about how many bytes a transaction of writeRows has, as one of a catch-up.
const floorGroup = 1 << 20

// writeRows returns what the database alone takes to write rows that are there already,
// each once, in transactions that are as large as those of a catch-up.
func writeRows(t testing.TB, rows [][2][]byte, now clock) time.Duration {
	t.Helper()
	db, size := openWith(t, t.TempDir(), store.Options{}), 0
	for _, r := range rows {
		size += len(r[0]) + len(r[1])
	}
	groups := size/floorGroup + 1
	start := now()
	for g := range groups {
		b, err := db.Batch()
		if err != nil {
			t.Fatal(err)
		}
		for i := g; i < len(rows); i += groups { // a commit has rows of all tables
			if err := b.Set(rows[i][0], rows[i][1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	took := now() - start
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

// BenchmarkCatchUp archives and indexes the P- and the X-Chain from a simulated node in
// another process on the same cores, with histories of two lengths. x/alone is the rate
// against that of fetching, checking and parsing the same blocks alone, in turns; cpu/alone
// the CPU time without the node's against the same. floor/alone is the rate at which the
// database alone writes the same rows, each once, against that of reading alone.
func BenchmarkCatchUp(b *testing.B) {
	for _, blocks := range []int{catchUpBlocks, longCatchUp * catchUpBlocks} {
		b.Run(fmt.Sprint("platform=", blocks), func(b *testing.B) { benchmarkCatchUp(b, blocks) })
	}
}

func benchmarkCatchUp(b *testing.B, platform int) {
	r := newCatchUpRig(b, platform)
	_, blocks := r.alone(b, wall()) // warms up both sides
	r.whole(b, wall())
	var ours, alone, cpuOurs, cpuAlone, floor []float64
	for b.Loop() {
		before := cpu()
		took, _ := r.alone(b, wall())
		cpuAlone = append(cpuAlone, float64(cpu()-before))
		alone = append(alone, float64(took))
		before = cpu()
		ours = append(ours, float64(r.whole(b, wall())))
		cpuOurs = append(cpuOurs, float64(cpu()-before))
	}
	// Behind the others, which would go through the rows at each collection of garbage.
	_, db := r.wholeIn(b, wall())
	rows := rowsOf(b, db, store.PrimaryCursor, store.PrimaryEnd)
	for range ours {
		floor = append(floor, float64(writeRows(b, rows, wall())))
	}
	b.ReportMetric(float64(blocks)/(median(ours)/1e9), "blocks/s")
	b.ReportMetric(float64(blocks)/(median(alone)/1e9), "alone-blocks/s")
	b.ReportMetric(median(alone)/median(ours), "x/alone")
	b.ReportMetric(median(alone)/median(floor), "floor/alone")
	b.ReportMetric(float64(len(rows))/float64(blocks), "rows/block")
	b.ReportMetric(median(cpuOurs)/median(cpuAlone), "cpu/alone")
	b.ReportMetric(median(cpuOurs)/1e3/float64(blocks), "cpu-us/block")
}

const (
	// catchUpBlocks is about how many blocks the P-Chain has.
	catchUpBlocks = 2_000
	// longCatchUp is how many times as long the other history is.
	longCatchUp = 8
)

// catchUpShare is the promised share of the rate of reading alone.
const catchUpShare = 0.25

// catchUpFigures are those of BenchmarkCatchUp. The least times are compared, which other
// work on the machine disturbs least.
func catchUpFigures(t *testing.T, each func(figure)) {
	now := wall()
	measure := func(name string, blocks, rounds int) {
		r := newCatchUpRig(t, blocks)
		r.alone(t, now)
		each(figure{name + ", time / reading alone", timeRatio.atMost(1 / catchUpShare), func() float64 {
			ours, alone := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range rounds {
				ours = min(ours, r.whole(t, now))
				took, _ := r.alone(t, now)
				alone = min(alone, took)
			}
			return float64(ours) / float64(alone)
		}})
	}
	measure("catch-up with the primary network", catchUpBlocks, 2*perGroup)
	measure(fmt.Sprintf("catch-up with %d times the history", longCatchUp), longCatchUp*catchUpBlocks, perGroup)
}

// TestCatchUp: the benchmark above stands on it.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	count := 200
	r := newCatchUpRig(t, count)
	if _, blocks := r.alone(t, wall()); blocks < 5*count/2 {
		t.Errorf("%d blocks", blocks)
	}
	r.whole(t, wall())
}
