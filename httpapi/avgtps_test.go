package httpapi

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	store "quorate/engine/store/index"
	"quorate/httpapi/limit"
	"quorate/rollup"
)

// avgPage is a page of endpoint 19.
type avgPage struct {
	metricPage
	Status  int
	LastRun int64
}

func TestAvgTPS(t *testing.T) {
	t.Parallel()
	all := familyOfChains(t)
	all[0].alias = "C"
	s := dataServer(t, Config{}, all...)
	at := noon + 5000*day
	for name, chains := range map[string][]*testChain{
		"1": all[:1], "C": all[:1], "id-1": all[:1], "4": all[3:4], "total": all, "testnet": all[:6], "mainnet": all[6:],
	} {
		want := wantPoints(t, rollup.AvgTps, rollup.Day, 0, 1<<62, chains...)
		var got []metricPoint
		path, query := "/v1/avg_tps/"+name, "?pageSize=7&timeInterval=hour" // no parameters of it
		for pages := 1; ; pages++ {
			var page avgPage
			getJSON(t, s, path+query, &page)
			if n := len(page.Results); page.Status != 200 || n > 100 || n < 100 && page.NextPageToken != nil {
				t.Fatalf("%s: status %d, %d points, token %v", path, page.Status, n, page.NextPageToken)
			}
			if got = append(got, page.Results...); len(got) > 100_000 {
				t.Fatalf("%s: the walk does not end", path)
			}
			if page.NextPageToken == nil {
				break
			}
			query = "?pageToken=" + *page.NextPageToken
			if name != "total" && name != "testnet" { // where gaps are filled when a chain goes on
				at += 20 * hour
				all[0].mine(at, 1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %d points, want %d", path, len(got), len(want))
		}
	}
	expect(t, s, "/v1/avg_tps/6", 200, `{"results":[],"status":200,"lastRun":0}`)
	all[6].info.IsTestnet = true
	expect(t, s, "/v1/avg_tps/mainnet", 200, `{"results":[],"status":200,"lastRun":0}`)
}

// TestAvgTPSExpiry: a page token is good for 24 hours, for its chain.
func TestAvgTPSExpiry(t *testing.T) {
	c, other := oddChain(t, "1", 1, noon, 120), oddChain(t, "2", 2, noon, 120)
	synctest.Test(t, func(t *testing.T) {
		s := dataServer(t, Config{}, c, other)
		var page avgPage
		getJSON(t, s, "/v1/avg_tps/1", &page)
		token := *page.NextPageToken
		f := func(path, token string, status int, part string) {
			t.Helper()
			resp := expect(t, s, path+"?pageToken="+token, status, part)
			var body struct{ Message []string }
			if err := json.Unmarshal(resp.Body(), &body); err != nil || status != 200 && len(body.Message) != 1 {
				t.Errorf("%s: %v, %s", path, err, resp.Body())
			}
		}
		const foreign = "pageToken is not valid: it was not made by this server for this list"
		f("/v1/avg_tps/1", token, 200, `"results":[{`)
		f("/v1/avg_tps/id-1", strings.ToUpper(token), 200, `"results":[{`)
		f("/v1/avg_tps/2", token, 400, foreign)
		f("/v1/avg_tps/total", token, 400, foreign)
		f("/v1/avg_tps/1", "0"+token[1:35]+"0", 400, foreign)
		f("/v1/avg_tps/1", "", 400, "pageToken is empty")
		f("/v1/avg_tps/1", token+"&pageToken="+token, 400, "given more than once")
		var v2 metricPage
		getJSON(t, s, metricPath("1", rollup.AvgTps, ""), &v2)
		f("/v1/avg_tps/1", url.QueryEscape(*v2.NextPageToken), 400, foreign)
		expect(t, s, metricPath("1", rollup.AvgTps, "pageToken="+token), 400, "was not made by this server")

		<-time.After(24*time.Hour - time.Second)
		f("/v1/avg_tps/1", token, 200, `"results":[{`)
		again := dataServer(t, Config{}, c, other) // after a restart
		expect(t, again, "/v1/avg_tps/1?pageToken="+token, 200, `"results":[{`)
		getJSON(t, s, "/v1/avg_tps/1", &page) // another one has its own time
		<-time.After(time.Second)
		f("/v1/avg_tps/1", token, 400, "pageToken is not valid: it is older than 24 hours; start again from the first page")
		f("/v1/avg_tps/1", *page.NextPageToken, 200, `"results":[{`)
	})
}

func TestLastRun(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1", [2]uint64{noon, 1}, [2]uint64{noon + 50, 1})
	other := metricChain(t, "2", [2]uint64{noon, 1})
	s := dataServer(t, Config{}, c, other)
	f := func(chain string, want int64) {
		t.Helper()
		var page avgPage
		getJSON(t, s, "/v1/avg_tps/"+chain, &page)
		if page.LastRun != want {
			t.Errorf("%s: lastRun %d, want %d", chain, page.LastRun, want)
		}
	}
	for range 3 { // a page that is asked for often is not kept either
		f("1", int64(noon+50)) // nothing was heard since the start
		f("total", int64(noon+50))
	}
	c.updated = time.Unix(1_800_000_000, 999)
	f("1", 1_800_000_000)
	f("total", 1_800_000_000)
	other.updated = time.Unix(1_900_000_000, 0)
	f("1", 1_800_000_000)
	f("total", 1_900_000_000)
}

// TestListedErrors: the message of each error of endpoint 19, and of no other, is
// a list, wherever it is made.
func TestListedErrors(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1", [2]uint64{noon, 1})
	s := dataServer(t, Config{}, c)
	check := func(what string, raw []byte, status int, list bool) {
		t.Helper()
		var body struct {
			Message    json.RawMessage
			StatusCode int
			Error      string
		}
		if err := json.Unmarshal(raw, &body); err != nil || body.StatusCode != status || body.Error != fasthttp.StatusMessage(status) {
			t.Fatalf("%s: %v: %s", what, err, raw)
		}
		var messages []string
		if got := json.Unmarshal(body.Message, &messages) == nil; got != list || list && (len(messages) != 1 || messages[0] == "") {
			t.Errorf("%s: message %s", what, body.Message)
		}
	}
	f := func(path string, status int, list bool) {
		t.Helper()
		resp := get(s, path)
		if resp.StatusCode() != status {
			t.Errorf("%s: %d", path, resp.StatusCode())
		}
		check(path, resp.Body(), status, list)
	}
	f("/v1/avg_tps/2", 404, true)
	f("/v1/avg_tps/1?pageToken=1", 400, true)
	f("/v1/%61vg_tps/2?x=/", 404, true)
	f("/v1/avg_tps", 404, true)
	f("/v1/avg_tps/1/2", 404, true)
	f("/v1/avg_tpsx/1", 404, false)
	f("/v1/chains?network=/v1/avg_tps/1", 400, false)
	f("/v2/avg_tps/1", 404, false)
	f("/x/v1/avg_tps/1", 404, false)
	f("/v1/chains/v1/avg_tps", 404, false)
	f("//", 404, false)
	s.cfg.Limits = newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 20})
	get(s, "/v2/chains/1/metrics/avgTps")
	f("/v1/avg_tps/1", 429, true)
	f("/v2/chains/1/metrics/avgTps", 429, false)
	s.cfg.Limits = nil
	s.inFlight.Add(1 << 20)
	f("/v1/avg_tps/1", 503, true)
	s.inFlight.Add(-1 << 20)
	c.spoil(store.TableBuckets)
	f("/v1/avg_tps/1", 500, true)

	_, addr := start(t, Config{Chains: testChains{c}})
	for line, want := range map[string]int{
		"POST /v1/avg_tps/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n": 405,
		"GET http://localhost/v1/avg_tps/2 HTTP/1.1\r\nHost: localhost\r\n\r\n":       404,
		"GET /v1/avg_tps/1 HTTP/1.1\r\nHost localhost\r\n\r\n":                        400,
		"GET /v1/avg_tps/1?x=" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n\r\n":      431,
	} {
		conn := dial(t, addr)
		conn.send(line)
		resp, body := conn.reply(line[:strings.IndexByte(line, ' ')])
		if resp.StatusCode != want {
			t.Errorf("%.40q: %d", line, resp.StatusCode)
		}
		// A request line that could not be read says of no endpoint.
		check(line[:30], []byte(body), want, want != 400 && want != 431 || strings.Contains(body, `["`))
	}
}
