package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	store "quorate/engine/store/index"
	"quorate/httpapi/view"
	"quorate/rollup"
)

const (
	hour = uint64(3600)
	day  = 24 * hour
	// noon is within Thursday, 2023-06-15.
	noon = uint64(1_686_830_400)
)

func metricInfo(number string) view.ChainInfo {
	return view.ChainInfo{ChainID: number, BlockchainID: "id-" + number, IsTestnet: true}
}

// metricChain is a chain with blocks, of the given seconds and transactions,
// after a genesis block of 1970.
func metricChain(t testing.TB, number string, blocks ...[2]uint64) *testChain {
	t.Helper()
	c := emptyOf(metricInfo(number))
	c.mineAll(append([][2]uint64{{}}, blocks...)...)
	return c
}

// untracedChain is one that no node traces.
func untracedChain(number string, blocks ...[2]uint64) *testChain {
	c := emptyOf(metricInfo(number))
	c.untraced = true
	c.mineAll(append([][2]uint64{{}}, blocks...)...)
	return c
}

// oddChain is a chain of n blocks at random times: some at once, others weeks
// apart.
func oddChain(t testing.TB, number string, seed, from uint64, n int) *testChain {
	t.Helper()
	return metricChain(t, number, oddBlocks(seed, from, n)...)
}

func oddBlocks(seed, from uint64, n int) (list [][2]uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		list = append(list, [2]uint64{from, uint64(r.IntN(4))})
		from += [...]uint64{0, 1, 2, 60, hour, day, 9 * day}[r.IntN(7)] * r.Uint64N(3)
	}
	return list
}

// familyOfChains are those of a group: one that has ended, one that began late,
// one that is not traced, an empty one, one with a genesis block only, and one of
// the main network.
func familyOfChains(t testing.TB) (all []*testChain) {
	t.Helper()
	all = []*testChain{
		oddChain(t, "1", 1, noon, 120),
		oddChain(t, "2", 2, noon-90*day, 20),
		metricChain(t, "3", [2]uint64{noon + 70*day, 7}, [2]uint64{noon + 70*day + 4, 2}),
		untracedChain("4", append(oddBlocks(4, noon+20*day, 30), [2]uint64{noon + 200*day, 3})...),
		emptyOf(view.ChainInfo{ChainID: "5", BlockchainID: "five", IsTestnet: true}),
		metricChain(t, "6"),
		oddChain(t, "7", 7, noon-3*day, 30),
	}
	all[6].info.IsTestnet = false
	return all
}

func metricPath(chain string, m rollup.Metric, query string) string {
	return "/v2/chains/" + chain + "/metrics/" + m.String() + "?" + query
}

func TestMetricBodies(t *testing.T) {
	c, other := emptyIn(growIn(newDB(), chain.ID{1}), metricInfo("43112")), metricChain(t, "9", [2]uint64{noon - 20, 1}, [2]uint64{noon + 1, 4})
	c.alias = "C" // its ID, which is in page tokens, is always the same
	c.mineAll([2]uint64{}, [2]uint64{noon, 2}, [2]uint64{noon + 3, 5}, [2]uint64{noon + 2*day, 1}, [2]uint64{noon + 130*day, 3})
	// Page tokens of endpoint 19 tell the time.
	synctest.Test(t, func(t *testing.T) {
		other.info.IsTestnet, other.updated = false, time.Now()
		s := dataServer(t, Config{}, c, other)
		paths := []string{metricPath("C", rollup.TxCount, "timeInterval=hour&pageSize=2")}
		for m := range rollup.Metric(rollup.Metrics) {
			paths = append(paths, metricPath("C", m, "endTimestamp=1687046400"))
		}
		for _, chain := range []string{"total", "mainnet", "testnet", "9"} {
			paths = append(paths, metricPath(chain, rollup.ActiveAddresses, "timeInterval=week"),
				metricPath(chain, rollup.AvgTps, "startTimestamp=1686787200&endTimestamp=1686787201"), "/v1/avg_tps/"+chain)
		}
		paths = append(paths, "/v1/avg_tps/43112", "/v1/avg_tps/8", "/v1/avg_tps/C?pageToken=x", "/v2/chains/8/metrics/txCount",
			metricPath("C", rollup.MaxTps, "timeInterval=month"), "/v2/chains/C/metrics/tps")
		var out bytes.Buffer
		for _, path := range paths {
			resp := get(s, path)
			if !json.Valid(resp.Body()) {
				t.Errorf("%s: not JSON", path)
			}
			fmt.Fprintf(&out, "GET %s\n%d %s\n%s\n\n", path, resp.StatusCode(), resp.Header.ContentType(), resp.Body())
		}
		golden(t, "metrics.txt", out.Bytes())
	})
}

// TestMetricPoints compares whole series, windows of them and pages with what is
// made in one go: each metric, interval and kind of chain.
func TestMetricPoints(t *testing.T) {
	t.Parallel()
	all := familyOfChains(t)
	s := dataServer(t, Config{}, all...)
	r := rand.New(rand.NewPCG(5, 5))
	for k, of := range []struct {
		name   string
		chains []*testChain
	}{
		{"total", all}, {"testnet", all[:6]}, {"mainnet", all[6:]}, {"1", all[:1]}, {"2", all[1:2]}, {"3", all[2:3]}, {"4", all[3:4]}, {"6", all[5:6]}, {"7", all[6:]},
	} {
		name, chains := of.name, of.chains
		for m := range rollup.Metric(rollup.Metrics) {
			for i := range rollup.Interval(rollup.Intervals) {
				if m.DayOnly() && i != rollup.Day || !m.DayOnly() && (k+int(m)+int(i))%torture.Pick(2, 1) != 0 {
					continue // in short every other interval
				}
				if name == "4" && m.Traced() {
					expect(t, s, metricPath(name, m, ""), 404, "of chain 4 is not known: its node does not trace all transactions")
					continue
				}
				want := wantPoints(t, m, i, 0, 1<<62, chains...)
				query := "timeInterval=" + i.String() + "&"
				comparePoints(t, s, metricPath(name, m, query), 2160, want)
				if len(want) == 0 {
					continue
				}
				a, b := want[r.IntN(len(want))].Timestamp+int64(r.IntN(3))-1, want[r.IntN(len(want))].Timestamp+int64(r.IntN(3))-1
				query += fmt.Sprintf("startTimestamp=%d&endTimestamp=%d&", a, b)
				comparePoints(t, s, metricPath(name, m, query), 1+r.IntN(200), wantPoints(t, m, i, uint64(a), uint64(b), chains...))
			}
		}
	}
}

// comparePoints walks a series.
func comparePoints(t *testing.T, s *Server, path string, size int, want []metricPoint) {
	t.Helper()
	got := walkPoints(t, s, path, size, func() {})
	for k := range min(len(got), len(want)) {
		if got[k] != want[k] {
			t.Fatalf("%s, pages of %d: point %d is %v, want %v", path, size, k, got[k], want[k])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s, pages of %d: %d points, want %d", path, size, len(got), len(want))
	}
}

func walkPoints(t *testing.T, s *Server, path string, size int, between func()) (points []metricPoint) {
	t.Helper()
	for next := fmt.Sprintf("%spageSize=%d", path, size); ; {
		var page metricPage
		getJSON(t, s, next, &page)
		if n := len(page.Results); n > size || n < size && page.NextPageToken != nil {
			t.Fatalf("%s: %d points on a page of %d", next, n, size)
		}
		if k := len(points); k > 0 && len(page.Results) > 0 && page.Results[0].Timestamp >= points[k-1].Timestamp {
			t.Fatalf("%s: %v follows on %v", next, page.Results[0], points[k-1])
		}
		points = append(points, page.Results...)
		if page.NextPageToken == nil {
			return points
		}
		if len(page.Results) == 0 {
			t.Fatalf("%s: a token, but no points", next)
		}
		between()
		next = fmt.Sprintf("%spageSize=%d&pageToken=%s", path, size, url.QueryEscape(*page.NextPageToken))
	}
}

// TestMetricWalks: with each page size each point comes once, also while blocks
// arrive, and the walk is that of its first page.
func TestMetricWalks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"1", "total"} {
		for size := 1; size <= 100; size += 1 + size/torture.Pick(2, 10) {
			all := familyOfChains(t)
			c := all[0]
			s := dataServer(t, Config{}, all...)
			want := wantPoints(t, rollup.TxCount, rollup.Day, noon+5*day, noon+100*day, all...)
			if name == "1" {
				want = wantPoints(t, rollup.TxCount, rollup.Day, noon+5*day, noon+100*day, c)
			}
			at := noon + 2000*day
			path := metricPath(name, rollup.TxCount, fmt.Sprintf("startTimestamp=%d&endTimestamp=%d&", noon+5*day, noon+100*day))
			got := walkPoints(t, s, path, size, func() {
				at += 20 * hour
				c.mine(at, 1)
			})
			// All points are of closed days, but for the gaps after a chain's end.
			if !slices.Equal(got, want) && name == "1" || len(got) < len(want) {
				t.Errorf("%s, pages of %d: got %d points, want %d", name, size, len(got), len(want))
			}
			for k := 1; k < len(got); k++ {
				if got[k].Timestamp != got[k-1].Timestamp-int64(day) {
					t.Fatalf("%s, pages of %d: %v after %v", name, size, got[k], got[k-1])
				}
			}
		}
	}
}

// TestMetricsFollow: after each block, restart of the metrics and loss of traces
// the answers are those of that moment, whatever is kept.
func TestMetricsFollow(t *testing.T) {
	t.Parallel()
	all := familyOfChains(t)
	s := dataServer(t, Config{}, all...)
	r := rand.New(rand.NewPCG(9, 9))
	var at [7]uint64
	for i, c := range all {
		if state, _, err := c.RollupState(); err == nil {
			at[i] = state.Last
		}
	}
	at[5] = noon + 30*day
	compare := func(step int) {
		t.Helper()
		for range 1 + step%2 {
			m, i := rollup.Metric(r.IntN(rollup.Metrics)), rollup.Interval(r.IntN(rollup.Intervals))
			if m.DayOnly() {
				i = rollup.Day
			}
			query := "timeInterval=" + i.String() + "&pageSize=200"
			for name, chains := range map[string][]*testChain{"total": all, "testnet": all[:6], "1": all[:1], "6": all[5:6]} {
				resp := get(s, metricPath(name, m, query))
				var page metricPage
				if err := decode(resp.Body(), &page); err != nil {
					t.Fatal(err)
				}
				want := wantNewest(t, 200, m, i, 0, 1<<62, chains...)
				if resp.StatusCode() == 404 && m.Traced() && want == nil {
					continue
				}
				if !slices.Equal(page.Results, want) {
					t.Fatalf("%s %s by %s:\n got %v\nwant %v", name, m, i, page.Results, want)
				}
			}
		}
	}
	steps := 120
	for step := range steps {
		k := []int{0, 0, 0, 2, 4, 5, 6}[r.IntN(7)]
		if k == 4 && step < steps/3 {
			continue
		}
		at[k] += [...]uint64{0, 1, 100, hour, day, 7 * day}[r.IntN(6)]
		all[k].add(all[k].mined(at[k], r.IntN(3), step < steps*5/6))
		if step%(steps/4) == steps/4-1 {
			all[k].reroll()
		}
		compare(step)
	}
}

func TestMetricFailures(t *testing.T) {
	t.Parallel()
	all := familyOfChains(t)
	s := dataServer(t, Config{}, all...)
	path := "/v2/chains/1/metrics/txCount"
	f := func(path string, status int, part string) {
		t.Helper()
		resp := expect(t, s, path, status, part)
		var body struct {
			Message    string
			StatusCode int
			Error      string
		}
		if err := decode(resp.Body(), &body); err != nil || body.StatusCode != status || body.Error != fasthttp.StatusMessage(status) {
			t.Errorf("%s: not the documented body: %s", path, resp.Body())
		}
	}
	f("/v2/chains/99/metrics/txCount", 404, `chain \"99\" is not served here`)
	for _, name := range []string{"fuji", "Total", "TESTNET", "all", "5.0"} {
		f("/v2/chains/"+name+"/metrics/txCount", 404, "is not served here")
	}
	for _, m := range []string{"x", "TxCount", "txcount", "txCount%20", "avgTPS"} {
		f("/v2/chains/1/metrics/"+m, 400, "metric must be one of activeAddresses, activeSenders, ")
		f("/v2/chains/total/metrics/"+m, 400, ", maxGasPrice and feesPaid, not ")
	}
	f("/v2/chains/1/metrics", 404, "nothing is served")
	f("/v2/chains/1/metrics/txCount/x", 404, "nothing is served")
	for m := range rollup.Metric(rollup.Metrics) {
		for i := range rollup.Interval(rollup.Intervals) {
			dayOnly := strings.HasPrefix(m.String(), "cumulative") || strings.HasPrefix(m.String(), "max") || strings.HasPrefix(m.String(), "avg") ||
				m == rollup.Contracts || m == rollup.Deployers
			if p := metricPath("1", m, "timeInterval="+i.String()); dayOnly && i != rollup.Day {
				f(p, 400, "timeInterval must be day for the metric "+m.String()+", not "+i.String())
			} else {
				expect(t, s, p, 200, `{"value":`)
			}
		}
	}
	for _, v := range []string{"Day", "days", "1d", "3600", "year"} {
		f(path+"?timeInterval="+v, 400, "timeInterval must be hour, day, week or month, not ")
	}
	f(path+"?timeInterval=", 400, "timeInterval is empty")
	f(path+"?timeInterval=day&timeInterval=day", 400, "timeInterval is given more than once")
	for _, name := range []string{"startTimestamp", "endTimestamp"} {
		for _, v := range []string{"-1", "1.5", "1e9", "0x10", "now", "+1", "2023-01-01", "9223372036854775808", "99999999999999999999"} {
			f(path+"?"+name+"="+v, 400, name+" must be a time in Unix seconds")
		}
		f(path+"?"+name+"=", 400, name+" is empty")
		for _, v := range []string{"0", "1686830400", "9223372036854775807"} {
			expect(t, s, path+"?"+name+"="+v, 200, `"results":[`)
		}
	}
	for _, v := range []string{"0", "2161", "-1", "1.5", "ten", "99999999999999999999"} {
		f(path+"?pageSize="+v, 400, "pageSize must be an integer from 1 to 2160")
	}
	for _, v := range []string{"x", "AAAA", "%FF", strings.Repeat("A", 300)} {
		f(path+"?pageToken="+v, 400, "pageToken is not valid: it was not made by this server")
	}
	f(path+"?pageToken=", 400, "pageToken is empty")
	f("/v2/chains/5/metrics/txCount", 503, "chain 5 is not indexed yet: its first block is awaited")

	// Empty frames.
	for _, q := range []string{"endTimestamp=0", "startTimestamp=1686830400&endTimestamp=1686830400", "startTimestamp=1686830401&endTimestamp=1686830400",
		"startTimestamp=9223372036854775807", "endTimestamp=1000000000", "startTimestamp=1686787201&endTimestamp=1686873600"} {
		if resp := get(s, path+"?"+q); resp.StatusCode() != 200 || string(resp.Body()) != `{"results":[]}` {
			t.Errorf("%s: %d %s", q, resp.StatusCode(), resp.Body())
		}
	}
}

// TestMetricStates: what becomes of metrics that are not there yet, or broken.
func TestMetricStates(t *testing.T) {
	t.Parallel()
	c, other := oddChain(t, "1", 1, noon, 50), oddChain(t, "2", 2, noon, 50)
	s := dataServer(t, Config{}, c, other)
	paths := []string{metricPath("1", rollup.GasUsed, ""), metricPath("total", rollup.GasUsed, ""), metricPath("testnet", rollup.GasUsed, "pageSize=1")}
	all := func(status int, part string) {
		t.Helper()
		for _, p := range paths {
			expect(t, s, p, status, part)
		}
		if resp := expect(t, s, "/v1/avg_tps/1", status, ""); status != 200 && !strings.HasPrefix(string(resp.Body()), `{"message":["`) {
			t.Errorf("endpoint 19: %s", resp.Body())
		}
		expect(t, s, metricPath("2", rollup.GasUsed, ""), 200, `"value"`)
		if !strings.Contains(string(get(s, metricPath("mainnet", rollup.GasUsed, "")).Body()), `{"results":[]}`) {
			t.Error("a group without chains is not empty")
		}
	}
	// The node is not needed.
	c.down = errDown
	all(200, `"value"`)
	whole := s
	s = dataServer(t, Config{}, oddChain(t, "1", 1, noon, 5).older(store.TableRollup), other)
	all(503, "chain 1 cannot answer this now: the metrics of the chain are not complete: they are made up to block 0 of 6")

	// What cannot be read, or is missing, is no answer, and is not kept.
	for _, row := range [][]byte{{0xff}, nil} {
		broken := oddChain(t, "1", 1, noon, 50)
		s = dataServer(t, Config{}, broken, other)
		broken.rewrite(store.TableBuckets, func([]byte) []byte { return row })
		all(500, `internal error`)
		expect(t, s, metricPath("1", rollup.GasUsed, "timeInterval=hour&pageSize=2160"), 500, "internal error")
		broken.reroll()
		all(200, `"value"`)
	}
	s = whole
	c.mine(noon+300*day, 1)
	hours := metricPath("1", rollup.GasUsed, "timeInterval=hour&")
	comparePoints(t, s, hours, 2160, wantPoints(t, rollup.GasUsed, rollup.Hour, 0, 1<<62, c))
	comparePoints(t, s, paths[0], 77, wantPoints(t, rollup.GasUsed, rollup.Day, 0, 1<<62, c))

	// An empty chain of a group is one with no points; alone it is awaited.
	none := emptyOf(metricInfo("1"))
	none.down = errDown
	s = dataServer(t, Config{}, none, other)
	expect(t, s, paths[0], 503, "chain 1 cannot answer this now: its node does not answer")
	comparePoints(t, s, paths[1]+"&", 77, wantPoints(t, rollup.GasUsed, rollup.Day, 0, 1<<62, other))

	// A group knows what one of its chains knows.
	c = untracedChain("1", oddBlocks(1, noon, 50)...)
	s = dataServer(t, Config{}, c, other)
	expect(t, s, metricPath("1", rollup.Contracts, ""), 404, "the metric contracts of chain 1 is not known")
	comparePoints(t, s, metricPath("total", rollup.CumulativeContracts, ""), 99, wantPoints(t, rollup.CumulativeContracts, rollup.Day, 0, 1<<62, other))
	other = untracedChain("2", oddBlocks(2, noon, 50)...)
	s = dataServer(t, Config{}, c, other)
	expect(t, s, metricPath("total", rollup.Deployers, ""), 404, "the metric deployers is not known of any chain here")
	expect(t, s, metricPath("mainnet", rollup.Deployers, ""), 200, `{"results":[]}`)
	all(200, `"value"`)
}

// TestMetricTokens: a page token is good for its own chain, metric and frame.
func TestMetricTokens(t *testing.T) {
	t.Parallel()
	c, other := oddChain(t, "1", 1, noon, 50), oddChain(t, "2", 2, noon, 50)
	c.alias = "C"
	s := dataServer(t, Config{}, c, other)
	var page metricPage
	getJSON(t, s, "/v2/chains/1/metrics/txCount?pageSize=3&startTimestamp=5&endTimestamp=99999999999", &page)
	good := url.QueryEscape(*page.NextPageToken)
	f := func(path, token, want string) {
		t.Helper()
		status := 200
		if want != "" {
			status = 400
		}
		expect(t, s, path+"&pageToken="+token, status, want)
	}
	const frame = "startTimestamp=5&endTimestamp=99999999999"
	const others = "belongs to a request with another path or other parameters"
	f("/v2/chains/1/metrics/txCount?"+frame, good, "")
	f("/v2/chains/C/metrics/txCount?pageSize=2160&timeInterval=day&"+frame, good, "")
	f("/v2/chains/2/metrics/txCount?"+frame, good, others)
	f("/v2/chains/total/metrics/txCount?"+frame, good, others)
	f("/v2/chains/1/metrics/gasUsed?"+frame, good, others)
	f("/v2/chains/1/metrics/txCount?timeInterval=hour&"+frame, good, others)
	f("/v2/chains/1/metrics/txCount?startTimestamp=5", good, others)
	f("/v2/chains/1/metrics/txCount?endTimestamp=99999999999", good, others)
	f("/v2/chains/1/metrics/txCount?x", good, others)
	f("/v2/chains/1/metrics/txCount?"+frame, good[1:], "was not made by this server")
	getJSON(t, s, "/v2/chains/total/metrics/txCount?pageSize=3", &page)
	f("/v2/chains/testnet/metrics/txCount?x", *page.NextPageToken, others)
	f("/v2/chains/total/metrics/txCount?x", *page.NextPageToken, "")
	// The same after a restart.
	again := dataServer(t, Config{}, c, other)
	expect(t, again, "/v2/chains/1/metrics/txCount?"+frame+"&pageToken="+good, 200, `"value"`)
}

// TestFirstDays: the week of the first days of 1970 begins in 1969.
func TestFirstDays(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, metricChain(t, "1", [2]uint64{day, 1}, [2]uint64{5 * day, 2}))
	expect(t, s, metricPath("1", rollup.TxCount, "timeInterval=week"), 200,
		`{"results":[{"value":2,"timestamp":345600},{"value":1,"timestamp":-259200}]}`)
	expect(t, s, metricPath("1", rollup.TxCount, "timeInterval=week&startTimestamp=1"), 200, `{"results":[{"value":2,"timestamp":345600}]}`)
	expect(t, s, metricPath("1", rollup.TxCount, "timeInterval=week&endTimestamp=345600"), 200, `{"results":[{"value":1,"timestamp":-259200}]}`)
}

// FuzzMetrics: any query is answered with points or refused.
func FuzzMetrics(f *testing.F) {
	f.Add("1", "txCount", "startTimestamp=1686830400&endTimestamp=1786830400&timeInterval=hour&pageSize=2160")
	f.Add("total", "avgTps", "pageToken=AQsA&pageSize=1")
	f.Add("testnet", "cumulativeContracts", "timeInterval=%64ay&&=")
	s := dataServer(f, Config{}, familyOfChains(f)...)
	f.Fuzz(func(t *testing.T, chain, metric, query string) {
		resp := get(s, "/v2/chains/"+url.PathEscape(chain)+"/metrics/"+url.PathEscape(metric)+"?"+query)
		var page metricPage
		if err := decode(resp.Body(), &page); err != nil {
			t.Fatalf("%v: %s", err, resp.Body())
		}
		switch resp.StatusCode() {
		case 200:
			for k := 1; k < len(page.Results); k++ {
				if page.Results[k].Timestamp >= page.Results[k-1].Timestamp {
					t.Fatalf("%v after %v", page.Results[k], page.Results[k-1])
				}
			}
		case 400, 404:
		case 503:
			if chain != "5" {
				t.Fatalf("%s", resp.Body())
			}
		default:
			t.Fatalf("%d %s", resp.StatusCode(), resp.Body())
		}
	})
}
