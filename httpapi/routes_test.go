package httpapi

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/health"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/probe"
)

// listing is a line of testdata/routes.txt.
type listing struct {
	method, pattern string
	units           int
	key, access     string
}

// listings reads what was written down by hand, apart from the code.
func listings(t *testing.T) []listing {
	t.Helper()
	text, err := os.ReadFile("testdata/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []listing
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var l listing
		if _, err := fmt.Sscan(line, &l.method, &l.pattern, &l.units, &l.key, &l.access); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, l)
	}
	return list
}

// checks are the results of health checks.
type checks map[string]health.Result

func (c checks) Health([]string) health.Report {
	r := health.Report{Checks: c, Healthy: true}
	for _, result := range c {
		r.Healthy = r.Healthy && result.Error == ""
	}
	return r
}

func alwaysReady(string) error { return nil }

// extServer serves everything, and answers "passed on" below /ext.
func extServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.Health = cmp.Or(cfg.Health, probe.Health(checks{}))
	cfg.Ready, cfg.Primary, cfg.Operations, cfg.Events = alwaysReady, samplePrimaries(), newFakeOperations(), noEvents{}
	cfg.Webhooks, cfg.WebhooksKeyless, cfg.NFTs = sampleHooks(), true, &fetches{}
	cfg.Ext = func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString("passed on") }
	return dataServer(t, cfg, sampleChain(), secondChain())
}

// ask sends a request to a route with values that exist for its parameters.
func ask(s *Server, l listing, headers ...string) *fasthttp.Response {
	path := strings.NewReplacer("{network}", "fuji", "{chainId}", "43112", "{chain}", "C", "{address}", alice.String(),
		"{blockId}", "1", "{tokenId}", "1", "{metric}", "txCount", "{operationId}", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "{txHash}", "0x"+strings.Repeat("0", 64),
		"{blockchainId}", "x-chain", "{nodeId}", nodeOne.String(), "{subnetId}", chain.ID{3}.String(), "{assetId}", chain.ID{1}.String(), "{vertexHash}", chain.ID{0x51}.String(), "{l1ValidationId}", chain.ID{4}.String(), "{messageId}", sampleMessage.String(), "/*", "").Replace(l.pattern)
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	if l.method != "any" {
		req.Header.SetMethod(l.method)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	return &ctx.Response
}

// TestRoutes holds each route against the listing: the table's fields, and what a
// request really costs and needs.
func TestRoutes(t *testing.T) {
	t.Parallel()
	table, want := Routes(), listings(t)
	if len(table) != len(want) {
		t.Errorf("%d routes, %d are listed", len(table), len(want))
	}
	for i := range min(len(table), len(want)) {
		r, l := &table[i], &want[i]
		got := listing{r.Method, r.Pattern, r.Units, "key", "public"}
		if r.Method == "" {
			got.method = "any"
		}
		switch r.Key {
		case door.KeyAsConfigured:
		case door.KeyNever:
			got.key = "free"
		case door.KeyAlways:
			got.key = "always"
		}
		switch r.Access {
		case door.Public:
		case door.Operator:
			got.access = "operator"
		case door.Everywhere:
			got.access = "everywhere"
		}
		if got != *l {
			t.Errorf("the table has %+v, listed is %+v", got, *l)
		}
		if r.Doc == "" {
			t.Errorf("%s has no documentation", r.Pattern)
		}
		if hasChain := strings.Contains(r.Pattern, "{chain") || strings.Contains(r.Pattern, "{blockchainId"); hasChain != (r.Chain != "") {
			t.Errorf("%s: chain parameter %q", r.Pattern, r.Chain)
		}
	}
	const burst = 3000
	open := extServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})})
	closed := extServer(t, Config{Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})})
	byDefault := extServer(t, Config{Limits: newLimiter(t, limit.Config{NoLimit: true})})
	byDefault.cfg.WebhooksKeyless = false
	left := burst
	for _, l := range want {
		left -= l.units
		resp := ask(open, l)
		left -= max(0, len(resp.Body())/sentPerUnit-l.units) // one is long
		if got := string(resp.Header.Peek("RateLimit-Remaining")); got != strconv.Itoa(left) {
			t.Errorf("%s %s: %d, %s units left, want %d", l.method, l.pattern, resp.StatusCode(), got, left)
		}
		if refused := ask(closed, l).StatusCode() == 401; refused != (l.key != "free") {
			t.Errorf("%s %s: refused without a key: %v", l.method, l.pattern, refused)
		}
		if refused := ask(byDefault, l).StatusCode() == 401; refused != (l.key == "always") {
			t.Errorf("%s %s: refused without a key where none is asked for: %v", l.method, l.pattern, refused)
		}
	}
}

// TestPageTokenIDs: no two routes share the number that their page tokens carry.
func TestPageTokenIDs(t *testing.T) {
	t.Parallel()
	seen := map[uint8]string{}
	for _, r := range Routes() {
		if other := seen[r.ID]; r.ID != 0 && other != "" {
			t.Errorf("%s and %s have the same number", r.Pattern, other)
		}
		seen[r.ID] = r.Pattern
		for _, p := range r.Query {
			if p.Name == door.ParamPageToken.Name && p.Schema != nil && r.ID == 0 {
				t.Errorf("%s has page tokens, but no number", r.Pattern)
			}
		}
	}
}

// TestProbes: a health check is charged, and answered whatever is left.
func TestProbes(t *testing.T) {
	t.Parallel()
	s := extServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 20})})
	f := func(path string, status int, left string) {
		t.Helper()
		resp := get(s, path)
		if resp.StatusCode() != status || string(resp.Header.Peek("RateLimit-Remaining")) != left {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), &resp.Header)
		}
	}
	f("/ext/health", 200, "19")
	f(base+"/transactions", 429, "19")
	for left := 18; left >= 0; left-- {
		f("/v1/chains", 200, strconv.Itoa(left))
	}
	f("/v1/chains", 429, "0")
	f("/ext/health/readiness", 200, "0")
}

// TestExtCost: a chain's RPC costs what its method costs.
func TestExtCost(t *testing.T) {
	t.Parallel()
	var charge Charge
	s := dataServer(t, Config{
		Limits:  newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 100}),
		Ext:     func(_ *fasthttp.RequestCtx, c Charge) { charge = c },
		ExtCost: func(*fasthttp.RequestCtx) ExtCost { return ExtCost{Units: 60} },
	}, sampleChain())
	f := func(path string, status int, left string) {
		t.Helper()
		resp := get(s, path)
		if resp.StatusCode() != status || string(resp.Header.Peek("RateLimit-Remaining")) != left {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), &resp.Header)
		}
	}
	f("/ext/health", 200, "99") // whatever the costs of a chain's RPC are
	f("/ext/bc/C/rpc", 200, "39")
	if wait, ok := charge(39); !ok || wait != 0 {
		t.Errorf("39 of 39 units: %v %v", wait, ok)
	}
	if wait, ok := charge(1); ok || wait <= 0 {
		t.Errorf("a unit too many: %v %v", wait, ok)
	}
	f("/ext/bc/C/rpc", 429, "0")
	f("/ext/health", 200, "0")
}
