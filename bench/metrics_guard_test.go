package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

const (
	tenYears  = 3652 // in days
	maxPoints = 2160 // of a page
)

// daily indexes a chain with a block each day.
func daily(t testing.TB, c *index.Chain, days int) {
	t.Helper()
	var parent evm.Hash
	var group []*evm.Block
	for n := range uint64(days) + 1 { // the first is the genesis block
		b := &evm.Block{Number: n, Parent: parent, TimeMilli: 1_400_000_000_000 + n*86_400_000, Traced: true, GasUsed: 63_000, BaseFee: uint256.NewInt(25e9)}
		b.Hash = evm.Keccak(parent[:], binary.BigEndian.AppendUint64(nil, n))
		for i := range min(n, 3) {
			tx := evm.Tx{
				Index: uint32(i), From: regular(int(n % 1000)), To: regular(int(n)), GasLimit: 21000, GasUsed: 21000,
				GasPrice: *uint256.NewInt(25e9 + n*i),
			}
			tx.Hash = evm.Keccak(b.Hash[:], []byte{byte(i)})
			b.Txs = append(b.Txs, tx)
		}
		parent = b.Hash
		if group = append(group, b); len(group) == madeGroup || n == uint64(days) {
			if err := c.Commit(context.Background(), group); err != nil {
				t.Fatal(err)
			}
			group = nil
		}
	}
}

func countPoints(body []byte) int { return bytes.Count(body, []byte(`"timestamp":`)) }

func metricPath(m rollup.Metric, size int) string {
	return fmt.Sprintf("/v2/chains/%s/metrics/%s?pageSize=%d", benchChainID, m, size)
}

// metricRig serves the metrics of two chains, one of ten days and one of ten
// years, and their pages as a bare HTTP server.
type metricRig struct {
	years     *index.Chain
	days      pages // of the chain of ten days
	api       pages
	bare      map[int]pages // by points
	coldPaths [][]byte
}

func newMetricRig(t testing.TB) *metricRig {
	t.Helper()
	r := &metricRig{bare: map[int]pages{}}
	opts := store.Options{NoSync: true, MemTableMB: 16, BlockCacheMB: 16, IndexCacheMB: 16}
	_, short, _ := openChain(t, opts)
	daily(t, short, 10)
	_, r.years, _ = openChain(t, opts)
	daily(t, r.years, tenYears)
	r.days, r.api = dataServer(t, short), dataServer(t, r.years)
	for _, n := range []int{100, maxPoints} {
		status, body := r.api.get(t, metricPath(rollup.TxCount, n))
		if got := countPoints(body); status != fasthttp.StatusOK || got != n {
			t.Fatalf("status %d, %d points instead of %d: %.200s", status, got, n, body)
		}
		r.bare[n] = barePages(t, append([]byte(nil), body...))
	}
	// Pages in steps of more than a page share no point.
	for m := range rollup.Metric(rollup.Metrics) {
		for day := int64(300); day < tenYears; day += 256 {
			end := (1_400_000_000/86_400 + day) * 86_400
			r.coldPaths = append(r.coldPaths, []byte(getRequest(fmt.Sprintf("%s&endTimestamp=%d", metricPath(m, 100), end))))
		}
	}
	settle()
	return r
}

// warm asks for the same page again and again.
func (r *metricRig) warm(t testing.TB, points, count int) func() {
	return func() { r.api.ask(t, metricPath(rollup.TxCount, points), count) }
}

func (r *metricRig) floor(t testing.TB, points, count int) func() {
	return func() { r.bare[points].ask(t, metricPath(rollup.TxCount, points), count) }
}

// cold asks a server that has just begun for pages of 100 points, each once,
// and returns the CPU time that one takes.
func (r *metricRig) cold(t testing.TB) float64 {
	api := dataServer(t, r.years)
	api.ask(t, "/v1/chains", 4*rigConns) // the connections are up
	before := cpu()
	api.askEach(t, r.coldPaths, len(r.coldPaths))
	return float64(cpu()-before) / float64(len(r.coldPaths))
}

// coldFloor is the same of the bare server.
func (r *metricRig) coldFloor(t testing.TB) float64 {
	const count = 4000
	before := cpu()
	r.floor(t, 100, count)()
	return float64(cpu()-before) / count
}

// metricRounds are the numbers of pages that are asked for at once, by points.
var metricRounds = map[int]int{100: 1600, maxPoints: 400}

// BenchmarkMetrics is a page of metrics over loopback HTTP, with its clients in
// the same process, of a chain that is ten years old: the same page again and
// again, and with cold each page once on a server that has just begun. x/bare is
// the rate against that of a bare fasthttp handler that answers the same bytes;
// cold it is the CPU time. x/10days is the time of a page of 9 points against that
// of a chain that is ten days old.
func BenchmarkMetrics(b *testing.B) {
	r := newMetricRig(b)
	for _, points := range []int{100, maxPoints} {
		b.Run(fmt.Sprint("points=", points), func(b *testing.B) {
			count := metricRounds[points]
			ask, floor := r.warm(b, points, count), r.floor(b, points, count)
			floor()
			b.ReportAllocs()
			rounds := 0
			for b.Loop() {
				rounds++
				ask()
			}
			b.ReportMetric(float64(rounds*count)/b.Elapsed().Seconds(), "req/s")
			b.StopTimer()
			b.ReportMetric(allocations(5, 1, ask)/float64(count), "allocs/req")
			b.ReportMetric(1/against(wall(), 5, ask, floor), "x/bare")
		})
	}
	b.Run("points=100/cold", func(b *testing.B) {
		r.floor(b, 100, 100)()
		var took []float64
		for b.Loop() {
			took = append(took, r.cold(b))
		}
		b.ReportMetric(median(took)/1e3, "cpu-us/req")
		b.ReportMetric(1/costRatio(2, perGroup, func() float64 { return r.cold(b) }, func() float64 { return r.coldFloor(b) }), "x/bare")
	})
	b.Run("points=9", func(b *testing.B) {
		for b.Loop() {
			r.ofYears(b)
		}
		b.ReportMetric(against(wall(), 5, func() { r.ofYears(b) }, func() { r.ofDays(b) }), "x/10days")
	})
}

// Both pages have as many points and the token of a further page.
func (r *metricRig) ofYears(t testing.TB) { r.api.ask(t, metricPath(rollup.TxCount, 9), 1600) }
func (r *metricRig) ofDays(t testing.TB)  { r.days.ask(t, metricPath(rollup.TxCount, 9), 1600) }

// metricFigures are those of BenchmarkMetrics.
func metricFigures(t *testing.T, each func(figure)) {
	r := newMetricRig(t)
	r.floor(t, 100, 100)()
	r.floor(t, maxPoints, 100)()
	r.ofDays(t)
	// The promised floors: 0.50 and 0.40 of a bare server's rate.
	for points, most := range map[int]float64{100: 1 / 0.50, maxPoints: 1 / 0.40} {
		name, count := fmt.Sprintf("metrics page of %d ", points), metricRounds[points]
		ask, floor := r.warm(t, points, count), r.floor(t, points, count)
		each(figure{name + "allocations", allocs, func() float64 { return allocations(5, 1, ask) / float64(count) }})
		each(figure{name + "time / bare HTTP server", timeRatio.atMost(most), func() float64 {
			return against(wall(), 5, ask, floor)
		}})
	}
	each(figure{"metrics cold page of 100 CPU / bare HTTP server", readRatio, func() float64 {
		return costRatio(1, perGroup, func() float64 { return r.cold(t) }, func() float64 { return r.coldFloor(t) })
	}})
	each(figure{"metrics of 10 years time / of 10 days", flatRatio.atMost(1.2), func() float64 {
		return against(wall(), 5, func() { r.ofYears(t) }, func() { r.ofDays(t) })
	}})
}

// TestMetricPages: the benchmark above stands on it.
func TestMetricPages(t *testing.T) {
	t.Parallel()
	_, c, _ := openChain(t, store.Options{NoSync: true, MemTableMB: 8})
	daily(t, c, 10)
	api := dataServer(t, c)
	status, body := api.get(t, metricPath(rollup.TxCount, 9))
	if status != fasthttp.StatusOK || countPoints(body) != 9 || !strings.Contains(string(body), `"nextPageToken"`) {
		t.Errorf("status %d: %s", status, body)
	}
}
