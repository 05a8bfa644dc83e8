package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/rollup"
)

// metricServer answers pages of a history of 1,000 days, and notes what it was
// asked for.
type metricServer struct {
	*fakeServer
	mu    sync.Mutex
	asked []string
}

func newMetricServer(t *testing.T) *metricServer {
	t.Helper()
	s := &metricServer{}
	s.fakeServer = serve(t, func(ctx *fasthttp.RequestCtx, _ int) {
		s.mu.Lock()
		s.asked = append(s.asked, string(ctx.RequestURI()))
		s.mu.Unlock()
		name, found := strings.CutPrefix(string(ctx.Path()), "/v2/chains/43112/metrics/")
		m, known := rollup.ParseMetric(name)
		switch interval := string(ctx.QueryArgs().Peek("timeInterval")); {
		case !found || !known || m.DayOnly() && interval != "day":
			ctx.Error(`{"message":"no such page"}`, fasthttp.StatusBadRequest)
		case m.Traced():
			ctx.Error(`{"message":"no traces"}`, fasthttp.StatusNotFound)
		default:
			ctx.SetBodyString(metricBody(ctx.QueryArgs().GetUintOrZero("pageSize")))
		}
	})
	return s
}

const lastDay = 20_000 * 86_400

func metricBody(points int) string {
	var b strings.Builder
	b.WriteString(`{"nextPageToken":"x","results":[`)
	for i := range min(points, 1000) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"value":%d,"timestamp":%d}`, i, lastDay-i*86_400)
	}
	return b.String() + "]}\n"
}

func TestRunMetrics(t *testing.T) {
	t.Parallel()
	s := newMetricServer(t)
	var last Progress
	r, err := RunMetrics(t.Context(), MetricsConfig{
		Load:  Load{URL: s.url, Concurrency: 2, Duration: 60 * time.Millisecond, Progress: func(p Progress) { last = p }},
		Chain: "43112", Points: []int{1, 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The four that need traces are not there.
	if r.Metrics != rollup.Metrics-4 || r.LastDay != lastDay || r.FirstDay != lastDay-999*86_400 || len(r.Pages) != 4 {
		t.Errorf("%+v", r)
	}
	for i, want := range []struct {
		points int
		state  State
	}{{1, Warm}, {1, Cold}, {100, Warm}, {100, Cold}} {
		p := &r.Pages[i]
		if p.Points != want.points || p.State != want.state || p.PointsGiven != float64(want.points) || p.Bytes != float64(len(metricBody(want.points))) {
			t.Errorf("page %d: %+v", i, p)
		}
		if len(p.Servers) != 2 || p.Servers[0].URL != s.url || p.Servers[1].URL != bareName || p.Ratio == nil || len(p.Ratio.Pairs) < minPairs {
			t.Fatalf("page %d: %+v", i, p)
		}
		for _, srv := range p.Servers {
			if srv.OK == 0 || srv.Failed != 0 {
				t.Errorf("page %d: %+v", i, srv)
			}
		}
	}
	if last.Total != 240*time.Millisecond || last.Elapsed != last.Total {
		t.Errorf("progress %+v", last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cold := slices.DeleteFunc(slices.Clone(s.asked), func(uri string) bool { return !strings.Contains(uri, "endTimestamp") })
	slices.Sort(cold)
	if len(slices.Compact(slices.Clone(cold))) != len(cold) || len(cold) == 0 {
		t.Errorf("%d cold pages, some of them more than once", len(cold))
	}
	if len(cold) > len(s.asked)-8 {
		t.Errorf("%d of %d pages are cold", len(cold), len(s.asked))
	}
}

// TestRunMetricsFails: what makes no sense is refused, and what cannot be asked
// for is told.
func TestRunMetricsFails(t *testing.T) {
	t.Parallel()
	s := newMetricServer(t)
	fails := func(want string, config bool, cfg MetricsConfig) {
		t.Helper()
		if cfg.URL == "" {
			cfg.URL = s.url
		}
		_, err := RunMetrics(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrConfig) != config {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	fails("no chain", true, MetricsConfig{})
	fails("pages of 2161 points", true, MetricsConfig{Chain: "43112", Points: []int{1, 2161}})
	fails(`"tepid" pages`, true, MetricsConfig{Chain: "43112", States: []State{"tepid"}})
	fails("at least 3 pairs", true, MetricsConfig{Chain: "43112", Load: Load{Duration: time.Second, Slice: time.Second}})
	fails("not on this machine's loopback", true, MetricsConfig{Chain: "43112", Load: Load{URL: "http://192.0.2.1:80"}})
	fails("metrics/txCount?timeInterval=day&pageSize=2160: 400 no such page", false, MetricsConfig{Chain: "7"})
}

// TestColdPages: all differ, are within the history, and are full.
func TestColdPages(t *testing.T) {
	t.Parallel()
	h := history{lastDay - 99*86_400, lastDay}
	for _, points := range []int{1, 90, 2160, 3000} {
		set := newPageSet(h, []rollup.Metric{rollup.TxCount, rollup.AvgTps}, points)
		seen := map[string]bool{}
		ends, hours := map[string]bool{}, 0
		for i := range int64(5000) {
			path, ok := set.cold(i)
			if !ok || seen[path] {
				t.Fatalf("%d points, page %d: %q, %v", points, i, path, ok)
			}
			seen[path] = true
			query := path[strings.IndexByte(path, '?')+1:]
			var args fasthttp.Args
			args.Parse(query)
			interval := string(args.Peek("timeInterval"))
			if strings.HasPrefix(path, "avgTps") && interval != "day" {
				t.Errorf("%s", path)
			}
			if interval == "hour" {
				hours++
			}
			end, err := strconv.ParseInt(string(args.Peek("endTimestamp")), 10, 64)
			if err != nil || end <= h.first || end > h.last+86_400 {
				t.Errorf("%s: %v", path, err)
			}
			if end-h.first < int64(points)*3600 && points < 2400 {
				t.Errorf("%s: too few points are before its end", path)
			}
			ends[path[:strings.IndexByte(path, '?')]+query] = true
		}
		if points > 100 && hours != 5000 {
			t.Errorf("%d points: %d of 5000 pages have hours", points, hours)
		}
		if warm := set.warm(); len(warm) != len(set.kinds) || len(set.samples()) != len(warm) || seen[warm[0]] || seen[set.samples()[0]] {
			t.Errorf("%d points: %q, %q", points, warm, set.samples())
		}
	}
	if path, ok := newPageSet(h, []rollup.Metric{rollup.TxCount}, 1).cold(MaxRequests); ok {
		t.Errorf("there is no end: %q", path)
	}
}

func TestIsPage(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		metricBody(1): true, metricBody(100): true,
		`{"results":[{"value":1,"timestamp":2}]}`: true,
		`{"results":[]}`:         false,
		`{"results":[{"value":1`: false,
		``:                       false,
	} {
		if isPage([]byte(body)) != want {
			t.Errorf("%.60q: %v", body, !want)
		}
	}
}

func TestMetricsReport(t *testing.T) {
	t.Parallel()
	r := &MetricsReport{Chain: "43112", Concurrency: 16, Rate: 5000, FirstDay: 1_600_000_000, LastDay: 1_700_000_000, Metrics: 17}
	server := func(url string, rate float64) Server {
		return Server{URL: url, OK: 1000, Seconds: 1, PerSecond: rate, LatencyMs: Latency{Mean: 1, P50: 0.5, P90: 1.5, P99: 2, Max: 9}, Errors: []ErrorCount{}}
	}
	one, two := server("http://127.0.0.1:1", 50_000), server(bareName, 100_000)
	one.Failed, one.Errors = 2, []ErrorCount{{"503 busy", 2}}
	one.Process = &Process{PID: 7, CPUMs: 20, CPUMsPerRequest: 0.02, StartRSS: 50 << 20, PeakRSS: 60 << 20}
	r.Pages = []MetricsPage{
		{Points: 100, State: Warm, PointsGiven: 100, Bytes: 4000.5, Measured: Measured{
			Servers: []Server{one, two},
			Ratio:   &Ratio{Pairs: []Pair{{0.5, 2, 3}}, PerSecond: Spread{0.4, 0.5, 0.6}, P50: Spread{1, 2, 3}, P99: Spread{2, 3, 4}},
		}},
		{Points: 2160, State: Cold, PointsGiven: 730, Bytes: 80_000, Measured: Measured{Servers: []Server{two, two}}},
	}
	var text, js bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	golden(t, "metrics.txt", text.Bytes())
	golden(t, "metrics.json", js.Bytes())
}
