package httpapi

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/rollup"
)

// metricServer returns a server with a year of a chain, a block each 8 hours.
func metricServer(t testing.TB) *Server {
	t.Helper()
	c := metricChain(t, "43112")
	var blocks [][2]uint64
	for k := range uint64(3 * 365) {
		blocks = append(blocks, [2]uint64{noon + k*8*hour, 3})
	}
	c.mineAll(blocks...)
	return dataServer(t, Config{}, c)
}

// metricRequest returns a request for a page, which was answered once.
func metricRequest(t testing.TB, s *Server, path string) *fasthttp.RequestCtx {
	t.Helper()
	ctx := &fasthttp.RequestCtx{}
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	if ctx.Response.StatusCode() != 200 {
		t.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	return ctx
}

func BenchmarkMetricPage(b *testing.B) {
	for _, n := range []int{1, 100, 2160} {
		s := metricServer(b)
		ctx := metricRequest(b, s, metricPath("43112", rollup.GasUsed, fmt.Sprint("timeInterval=hour&pageSize=", n)))
		body := bytes.Clone(ctx.Response.Body())
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				s.handle(ctx)
			}
		})
		b.Run(fmt.Sprint("floor", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				ctx.Response.Header.SetContentType(door.ContentJSON)
				ctx.Response.SetBody(body)
			}
		})
	}
}

// BenchmarkMetricCold makes the chunks of a page each time.
func BenchmarkMetricCold(b *testing.B) {
	for _, n := range []int{1, 100, 2160} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := metricServer(b)
			ctx := metricRequest(b, s, metricPath("43112", rollup.GasUsed, fmt.Sprint("timeInterval=hour&pageSize=", n)))
			b.ReportAllocs()
			for b.Loop() {
				s.metrics.Use(s.desk, metric.NewSet(), 0)
				ctx.Response.Reset()
				s.handle(ctx)
			}
		})
	}
}

// TestMetricAllocations is the budget of pages that are kept: none.
func TestMetricAllocations(t *testing.T) {
	limit := 0.0
	if raceEnabled {
		limit = 20 // the detector makes pools forget
	}
	s := metricServer(t)
	all := s.cfg.Chains.(testChains)
	s.cfg.Chains = sharedList{all, all.Chains()}
	s.evm.Chains = s.cfg.Chains
	for _, path := range []string{
		metricPath("43112", rollup.AvgTps, ""), metricPath("43112", rollup.GasUsed, "timeInterval=hour&pageSize=2160"),
		metricPath("total", rollup.FeesPaid, "startTimestamp=1700000000&endTimestamp=1710000000"), "/v1/avg_tps/43112",
	} {
		ctx := metricRequest(t, s, path)
		if n := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			s.handle(ctx)
		}); n > limit {
			t.Errorf("%s: %v allocations, at most %v are allowed", path, n, limit)
		}
	}
}

// sharedList gives the same list each time, as it should be.
type sharedList struct {
	all  testChains
	list []*Chain
}

func (s sharedList) Chain(name string) (*Chain, bool) { return s.all.Chain(name) }
func (s sharedList) Chains() []*Chain                 { return s.list }
