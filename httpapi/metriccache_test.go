package httpapi

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/httpapi/metrics"
	"quorate/rollup"
)

// TestMetricReads: what was made once is not made again, and a new block costs the chunks of
// the open bucket alone, whatever the length of the history.
func TestMetricReads(t *testing.T) {
	t.Parallel()
	c, other, set := oddChain(t, "1", 1, noon, 1500), metricChain(t, "2", [2]uint64{noon, 1}), metric.NewSet()
	s := dataServer(t, Config{Metrics: set}, c, other)
	last := 0
	f := func(what, path string, least, most int) {
		t.Helper()
		expect(t, s, path, 200, "results")
		sum := int(set.Value("quorate_http_metric_chunks_made_total"))
		if made := sum - last; made < least || made > most {
			t.Errorf("%s: %d chunks are made, want %d to %d", what, made, least, most)
		}
		last = sum
	}
	const page, group = 2160/metrics.ChunkLen + 2, 50/metrics.ChunkLen + 2
	hours, days := metricPath("1", rollup.GasUsed, "timeInterval=hour&pageSize=2160"), metricPath("total", rollup.AvgTps, "pageSize=50")
	state, _, _ := c.RollupState()
	at := state.Last
	f("the first page", hours, 2, page)
	f("again", hours, 0, 0)
	f("a part of it", metricPath("1", rollup.GasUsed, "timeInterval=hour&pageSize=1000"), 0, 0)
	f("another metric", metricPath("1", rollup.TxCount, "timeInterval=hour&pageSize=2160"), 2, page)
	c.mine(at, 1)
	f("after a block", hours, 1, 1)
	f("again", hours, 0, 0)
	c.mine(at+hour, 1)
	f("after a block of the next hour", hours, 1, 2)
	f("again", hours, 0, 0)

	f("a group", days, 1, group)
	f("again", days, 0, 0)
	c.mine(at+hour, 1)
	f("after a block, a chain having ended", days, 1, 1)
	f("the chain alone", metricPath("1", rollup.AvgTps, "pageSize=50"), 1, group)
	f("again", metricPath("1", rollup.AvgTps, "pageSize=50"), 0, 0)
	other.mine(at+2*hour, 1)
	f("a block of the chain that had ended", days, 1, group)
	f("again", days, 0, 0)
	c.reroll()
	f("metrics made anew", metricPath("total", rollup.AvgTps, "pageSize=49"), 1, group)
	want := wantPoints(t, rollup.TxCount, rollup.Day, 0, 1<<62, c)
	must(c.x.Reroll(t.Context(), func(uint64, uint64) { // served meanwhile
		comparePoints(t, s, metricPath("1", rollup.TxCount, ""), 2160, want)
	}))
}

// TestHeldMetrics: when blocks were given up what comes before them is served, alone and
// in groups, and what comes after is a 503 until metrics are made again. What was kept
// before shows nothing of it, and what is kept meanwhile hides nothing later.
func TestHeldMetrics(t *testing.T) {
	t.Parallel()
	c, other := oddChain(t, "1", 1, noon, torture.Pick(110, 250)), oddChain(t, "2", 2, noon, torture.Pick(130, 300))
	s := dataServer(t, Config{}, c, other)
	state, _, _ := c.RollupState()
	middle := slices.IndexFunc(c.blocks, func(b *evm.Block) bool { return b.TimeMilli/1000 > noon+(state.Last-noon)/2 })
	same := func(what string) {
		t.Helper()
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			for _, m := range []rollup.Metric{rollup.TxCount, rollup.GasUsed, rollup.CumulativeTxCount} {
				if m.DayOnly() && i != rollup.Day {
					continue
				}
				end := uint64(1) << 62
				if state, _, _ := c.RollupState(); state.Before > 0 {
					end = uint64(i.Start(i.Number(state.Before)))
				}
				query := "timeInterval=" + i.String() + "&"
				comparePoints(t, s, metricPath("1", m, query), 1000, wantPoints(t, m, i, 0, end, c))
				comparePoints(t, s, metricPath("total", m, query), 1000, wantPoints(t, m, i, 0, end, c, other))
				comparePoints(t, s, metricPath("2", m, query), 1000, wantPoints(t, m, i, 0, 1<<62, other))
			}
		}
		if t.Failed() {
			t.Fatal(what)
		}
	}
	same("before")
	c.giveUp(uint64(middle))
	after, _, _ := c.RollupState()
	held := after.Before
	for _, name := range []string{"1", "total"} {
		for _, of := range []string{"startTimestamp=%d", "startTimestamp=%d&endTimestamp=4000000000"} {
			path := metricPath(name, rollup.TxCount, fmt.Sprintf("timeInterval=hour&"+of, held+hour))
			expect(t, s, path, 503, "chain 1 cannot answer this now: the metrics of the chain are not complete: after blocks were removed")
		}
		expect(t, s, metricPath(name, rollup.TxCount, fmt.Sprintf("timeInterval=hour&endTimestamp=%d", noon-3*hour)), 200, `"results":[]`)
	}
	same("held")
	c.giveUp(uint64(middle) - 5)
	same("held from below")
	other.mine(state.Last+900*hour, 1)
	same("held, and the other chain grows")
	c.giveUp(1)
	expect(t, s, metricPath("1", rollup.TxCount, "timeInterval=hour"), 503, "are computed again")
	expect(t, s, metricPath("total", rollup.TxCount, ""), 503, "are computed again")
	c.reroll()
	same("made again")
}

// TestMetricsAtOnce reads while blocks arrive: each page is whole, in order, and
// what was counted never gets less.
func TestMetricsAtOnce(t *testing.T) {
	t.Parallel()
	c, other := oddChain(t, "1", 1, noon, 200), oddChain(t, "2", 2, noon, 200)
	s := dataServer(t, Config{PointBytes: 64 << 10}, c, other) // it is always full
	done := make(chan struct{})
	var pages atomic.Int64
	var wg sync.WaitGroup
	for i, name := range []string{"1", "total", "1", "testnet"} {
		wg.Go(func() {
			path := metricPath(name, rollup.CumulativeTxCount, fmt.Sprint("pageSize=", 2160-700*(i%3)))
			last := int64(0)
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				default:
				}
				var page metricPage
				resp := get(s, path)
				if err := decode(resp.Body(), &page); err != nil || len(page.Results) == 0 {
					t.Errorf("%v: %s", err, resp.Body())
					return
				}
				top, _ := page.Results[0].Value.Int64()
				if top < last {
					t.Errorf("%s: %d after %d", path, top, last)
				}
				last = top
				pages.Add(1)
				for k := 1; k < len(page.Results); k++ {
					a, b := page.Results[k-1], page.Results[k]
					av, _ := a.Value.Int64()
					bv, _ := b.Value.Int64()
					if a.Timestamp != b.Timestamp+int64(day) || av < bv {
						t.Errorf("%s: %v after %v", path, b, a)
						return
					}
				}
				get(s, metricPath("2", rollup.Metric(k%rollup.Metrics), ""))
			}
		})
	}
	state, _, _ := c.RollupState()
	for k := uint64(0); pages.Load() < int64(torture.Pick(120, 400)) && !t.Failed(); k++ {
		c.mine(state.Last+k*hour/2, 1)
		if k%3 == 0 {
			other.mine(state.Last+k*hour/2, 2)
		}
		get(s, metricPath("total", rollup.TxCount, "timeInterval=hour"))
	}
	close(done)
	wg.Wait()
	for _, name := range []string{"1", "total"} {
		chains := []*testChain{c, other}[:map[string]int{"1": 1, "total": 2}[name]]
		comparePoints(t, s, metricPath(name, rollup.CumulativeTxCount, ""), 2160, wantPoints(t, rollup.CumulativeTxCount, rollup.Day, 0, 1<<62, chains...))
	}
}
