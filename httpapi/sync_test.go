package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/service"
	"quorate/httpapi/view"
)

// TestSyncing: while a chain's index is far behind, every place says so: the list
// of chains, the headers of all that is read of it, what is not found, lastRun.
func TestSyncing(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1", [2]uint64{noon, 1})
	c.updated = time.Unix(1_900_000_000, 0)
	s := dataServer(t, Config{}, c)
	const txs, missing = "/v1/chains/1/transactions", "/v1/chains/1/transactions/0x0000000000000000000000000000000000000000000000000000000000000001"
	paths := []string{txs, txs, txs, "/v2/chains/1/metrics/txCount", "/v2/chains/1/metrics/txCount", "/v1/avg_tps/1", missing, "/v1/chains/1/blocks/999/transactions"}
	f := func(height string, status string) {
		t.Helper()
		c.grow() // a block has come
		for _, path := range paths {
			h := &get(s, path).Header
			if string(h.Peek("X-Chain-Height")) != height || (len(h.Peek("X-Indexed-Height")) > 0) != (height != "") {
				t.Errorf("%s: %s", path, h)
			}
		}
		if body := string(get(s, "/v1/chains").Body()); !strings.Contains(body, `"status":"`+status+`"`) {
			t.Errorf("%s, want %s", body, status)
		}
		if body := string(get(s, missing).Body()); strings.Contains(body, "of 7000") != (height != "") {
			t.Error(body)
		}
		var page avgPage
		if err := json.Unmarshal(get(s, "/v1/avg_tps/1").Body(), &page); err != nil || (page.LastRun == 1_900_000_000) != (height == "") {
			t.Errorf("lastRun %d: %v", page.LastRun, err)
		}
	}
	f("", "OK")
	c.mu.Lock()
	c.target = 7000
	c.mu.Unlock()
	f("7000", "UNAVAILABLE")
	c.mu.Lock()
	c.target = 0
	c.mu.Unlock()
	f("", "OK")
}

// TestListed: what the SDKs know and is not here is a 404 that says where to see
// what is, and that list has each route that the listener serves.
func TestListed(t *testing.T) {
	t.Parallel()
	s := extServer(t, Config{})
	resp := get(s, "/v1/chains/43112/nfts/collections")
	if resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "what is served, and what is left out, is listed at /v1") {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
	if body := string(get(s, "/v1/apiUsageMetrics").Body()); !strings.Contains(body, "nothing is served at \\\"/v1/apiUsageMetrics\\\": it is about the accounts") {
		t.Error(body)
	}
	var list struct {
		LeftOut   []struct{ Path, Reason string }
		Endpoints []struct {
			Method, Path, Description string
			Parameters                []string
		}
	}
	if err := json.Unmarshal(get(s, "/v1").Body(), &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list.LeftOut {
		if resp := get(s, l.Path); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), l.Reason) {
			t.Errorf("%s: %d %s", l.Path, resp.StatusCode(), resp.Body())
		}
	}
	for path, left := range map[string]bool{
		"/v1/apiLogs": true, "/v1/apiLogs/": false, "/v1/apiLogs/x": false, "/v1": false, "/": false, "": false,
	} {
		if got := service.WhyLeftOut([]byte(path)); (got != "") != left {
			t.Errorf("%s: %q", path, got)
		}
	}
	if len(list.LeftOut) != 6 {
		t.Errorf("left out: %+v", list.LeftOut)
	}
	want := listings(t)
	if len(list.Endpoints) != len(want) {
		t.Fatalf("%d endpoints, want %d", len(list.Endpoints), len(want))
	}
	for i, e := range list.Endpoints {
		if e.Method != want[i].method || e.Path != strings.TrimSuffix(want[i].pattern, "/*") || e.Description == "" {
			t.Errorf("%+v, want %+v", e, want[i])
		}
	}
	// Clients are not told of what is the operator's.
	for scope, told := range map[door.Scope]bool{door.All: true, door.ForClients: false, door.ForOperators: true} {
		text := string(s.service.AppendRoutes(nil, scope))
		if strings.Contains(text, `"/metrics"`) != told || !strings.Contains(text, `"/v1/chains"`) || !json.Valid([]byte(text)) {
			t.Errorf("for scope %d: %s", scope, text)
		}
	}
	if resp := get(dataServer(t, Config{}), "/v1"); resp.StatusCode() != fasthttp.StatusOK || strings.Contains(string(resp.Body()), "/ext") {
		t.Errorf("what is not configured: %s", resp.Body())
	}
}

// TestTracedMetrics: metrics that need traces are served while those of some blocks are
// missing, with the gap in a header; of a chain of which nobody has any they are not known.
func TestTracedMetrics(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"trace": 200, view.GapUntraced: 404} {
		c := untracedChain("1", [2]uint64{noon, 1})
		s := dataServer(t, Config{}, c)
		c.mu.Lock()
		c.gaps = []view.Gap{{Kind: kind, From: 7, To: 9}}
		c.mu.Unlock()
		for _, metric := range []string{"contracts", "deployers", "cumulativeContracts", "cumulativeDeployers", "contracts", "txCount"} {
			resp := get(s, "/v2/chains/1/metrics/"+metric)
			if known := want == 200 || metric == "txCount"; (resp.StatusCode() == 200) != known ||
				known && string(resp.Header.Peek("X-Chain-Gaps")) != kind+" 7-9" {
				t.Errorf("%s, %s: %s", kind, metric, resp)
			}
		}
	}
}

// TestGaps: what is missing of a chain is in the list of chains, and in a header of
// all that is read of it.
func TestGaps(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1", [2]uint64{noon, 1})
	s := dataServer(t, Config{}, c)
	f := func(header, member string) {
		t.Helper()
		for _, path := range []string{"/v1/chains/1/transactions", "/v1/chains/1/transactions", "/v2/chains/1/metrics/txCount"} {
			if got := string(get(s, path).Header.Peek("X-Chain-Gaps")); got != header {
				t.Errorf("%s: %q, want %q", path, got, header)
			}
		}
		body := string(get(s, "/v1/chains").Body())
		if !json.Valid([]byte(body)) || strings.Contains(body, `"gaps"`) != (member != "") || !strings.Contains(body, member) {
			t.Errorf("%s, want %s", body, member)
		}
	}
	f("", "")
	c.mu.Lock()
	c.gaps = []view.Gap{{Kind: "trace", From: 7, To: 9, Reason: `too "large"`}}
	c.mu.Unlock()
	f("trace 7-9", `"gaps":[{"kind":"trace","fromBlock":"7","toBlock":"9","reason":"too \"large\""}]`)
	for gap, want := range map[string]int{"trace": 200, view.GapBelow: 404} {
		c.mu.Lock()
		c.gaps[0].Kind = gap
		c.mu.Unlock()
		resp := get(s, "/v2/chains/1/metrics/cumulativeTxCount")
		if resp.StatusCode() != want || (want == 404) != strings.Contains(string(resp.Body()), "begins above the first one") {
			t.Errorf("%s: %s", gap, resp)
		}
		if resp := get(s, "/v2/chains/1/metrics/txCount"); resp.StatusCode() != 200 {
			t.Errorf("%s: %s", gap, resp)
		}
	}
}

// TestNothingIndexed: a chain without a block says so, and names no height that it
// does not have.
func TestNothingIndexed(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1")
	for _, target := range []uint64{0, 7} {
		ctx := &fasthttp.RequestCtx{}
		(&reply.Request{Ctx: ctx}).About(emptyChain{c, target})
		want := map[uint64]string{7: "7"}[target]
		if h := &ctx.Response.Header; h.Peek("X-Indexed-Height") != nil || string(h.Peek("X-Chain-Height")) != want {
			t.Errorf("%s, want chain height %q alone", h, want)
		}
	}
}

// emptyChain has no block yet, and its nodes have said how far they are, or not.
type emptyChain struct {
	*testChain
	target uint64
}

func (c emptyChain) Cursor() (number uint64, hash evm.Hash, ok bool) { return 0, hash, false }
func (c emptyChain) Syncing() (uint64, bool)                         { return c.target, true }
