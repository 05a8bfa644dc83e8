package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"quorate/engine"
	"quorate/engine/follow"
	"quorate/engine/network"
	"quorate/engine/source"
)

// followed is a farm's C-Chain that an engine follows as that of a server does: with archive
// and index, and with what checks results that headers settle.
type followed struct {
	*follow.EVM
	farm *farm
	// since is when the chain's node had said what the chain is.
	since time.Time
}

// startFollowed starts an engine in a new folder; stop ends it. ahead has messages near the
// chain's head signed.
func startFollowed(t testing.TB, f *farm, ahead bool) (c *followed, stop func()) {
	t.Helper()
	node, err := source.ParseEndpoint(f.url)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Nodes: []source.Endpoint{node}, DataDir: t.TempDir(), NoPrimary: true,
		Settings: network.Settings{SignAhead: ahead}, CChain: follow.Details{TokenDecimals: 18},
		FetchConcurrency: sourceLanes, TraceConcurrency: sourceLanes,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	until(t, func() bool { return len(e.EVMs().All()) > 0 })
	return &followed{e.EVMs().All()[0], f, time.Now()}, stop
}

// has reports whether a block is indexed.
func (c *followed) has(height uint64) bool {
	n, _, ok := c.Index().Cursor()
	return ok && n >= height
}

// until looks every half of a millisecond whether something is so.
func until(t testing.TB, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("not so within a minute")
		}
	}
}

// catchUp returns how long a new engine takes to index the farm's history. It signs nothing
// ahead: all of so short a history is near the head.
func (f *farm) catchUp(t testing.TB) time.Duration {
	t.Helper()
	c, stop := startFollowed(t, f, false)
	defer stop()
	until(t, func() bool { return c.has(f.blocks) })
	return time.Since(c.since)
}

// headRig are two chains that this process follows at their heads, one that executes blocks
// before their acceptance and one that does it after.
type headRig [2]struct {
	*followed
	api pages
}

func newHeadRig(t testing.TB, blocks, txs int) (r headRig) {
	t.Helper()
	for i := range r {
		c, stop := startFollowed(t, startFarmWith(t, blocks, txs, 0, i == 1), true)
		t.Cleanup(stop)
		r[i].followed = c
		until(t, func() bool { return c.has(c.farm.blocks) })
		r[i].api = dataServer(t, c.Index())
	}
	return r
}

// page returns how long after a node has executed a block of a chain the API has it, in
// milliseconds: it is asked again and again.
func (r *headRig) page(t testing.TB, chain int) float64 {
	t.Helper()
	height, at := r[chain].farm.accept(t)
	path := fmt.Sprintf("/v1/chains/%s/blocks/%d", benchChainID, height)
	until(t, func() bool {
		status, _ := r[chain].api.get(t, path)
		return status == 200
	})
	return float64(time.Since(at).Microseconds()) / 1e3
}

// cost returns the processor time of some blocks of a chain, without that of the node.
func (r *headRig) cost(t testing.TB, chain, blocks int) float64 {
	t.Helper()
	before := cpu()
	for range blocks {
		height, _ := r[chain].farm.accept(t)
		until(t, func() bool { return r[chain].has(height) })
	}
	return float64(cpu() - before)
}

// pageTimes are those of page of both chains, in turns.
type pageTimes [2][]float64

// add measures once more. It begins with either chain in turns.
func (p *pageTimes) add(t testing.TB, r *headRig) {
	t.Helper()
	first := len(p[0]) % 2
	for _, i := range []int{first, 1 - first} {
		p[i] = append(p[i], r.page(t, i))
	}
}

// percentiles returns those of both chains.
func (p *pageTimes) percentiles(percent int) (plain, late float64) {
	var at [2]float64
	for i, list := range p {
		list = slices.Sorted(slices.Values(list))
		at[i] = list[len(list)*percent/100]
	}
	return at[0], at[1]
}

// lateCost returns how many times the processor time of a block it takes where blocks are
// executed after their acceptance.
func (r *headRig) lateCost(t testing.TB, groups int) float64 {
	const blocks = 10
	return costRatio(groups, perGroup, func() float64 { return r.cost(t, 1, blocks) }, func() float64 { return r.cost(t, 0, blocks) })
}

// BenchmarkHead is the time from when a node in another process has a block as its latest
// one until the block is archived and indexed, both on disk, and the API has it: of two
// chains in turns, one that executes blocks before their acceptance and, late, one that does
// it after. late/p50 and late/p99 are how many times as long that takes of the latter,
// late/cpu is the same of the processor time.
func BenchmarkHead(b *testing.B) {
	r := newHeadRig(b, 50, madeTxs)
	var took pageTimes
	for b.Loop() {
		took.add(b, &r)
	}
	for _, percent := range []int{50, 90, 99} {
		plain, late := took.percentiles(percent)
		b.ReportMetric(plain, fmt.Sprintf("p%d-ms", percent))
		b.ReportMetric(late, fmt.Sprintf("late-p%d-ms", percent))
		b.ReportMetric(late/plain, fmt.Sprintf("late/p%d", percent))
	}
	b.ReportMetric(r.lateCost(b, 3), "late/cpu")
	b.ReportMetric(0, "ns/op")
}

// The promises of headFigures.
const maxLateP50, maxLateP99, maxLateCost = 1.2, 1.5, 1.1

// headFigures are those of BenchmarkHead. Neither kind of chain may be that much later than
// the other.
func headFigures(t *testing.T, each func(figure)) {
	// Small blocks: making one keeps a node busy, of one kind just before it has it and of
	// the other long before, and on a machine that others use it pays for that with its turn.
	r := newHeadRig(t, 50, madeTxs/5)
	measure := func(rounds int) (took pageTimes) {
		for range rounds {
			took.add(t, &r)
		}
		return took
	}
	measure(5) // warms up both sides
	const rounds = 120
	took, fresh := pageTimes{}, false
	apart := func(percent int) float64 {
		plain, late := took.percentiles(percent)
		return max(late/plain, plain/late)
	}
	each(figure{"head, time of one kind of chain / of the other, p50", timeRatio.atMost(maxLateP50), func() float64 {
		took, fresh = measure(rounds), true
		return apart(50)
	}})
	each(figure{"head, time of one kind of chain / of the other, p99", timeRatio.atMost(maxLateP99), func() float64 {
		if !fresh {
			took = measure(rounds)
		}
		fresh = false
		return apart(99)
	}})
	each(figure{"head, CPU with blocks executed after their acceptance / before", cpuRatio.atMost(maxLateCost), func() float64 {
		return r.lateCost(t, 2)
	}})
}

// TestHead: the benchmark above stands on it.
func TestHead(t *testing.T) {
	t.Parallel()
	r := newHeadRig(t, 10, 5)
	var took pageTimes
	took.add(t, &r)
	if plain, late := took.percentiles(99); plain <= 0 || late <= 0 || r.cost(t, 1, 1) <= 0 {
		t.Errorf("%v", took)
	}
	settled := [2]bool{}
	for i := range r {
		_, settled[i] = r[i].Settled()
	}
	if settled != [2]bool{false, true} {
		t.Errorf("results are settled by later headers: %v", settled)
	}
}
