package ui

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// homeAPI is a server of one chain that is indexed, and one that is not yet.
func homeAPI() fakeAPI {
	return fakeAPI{
		"/health": `{"status":"down","details":{"C":{"status":"down","error":"<b>no answer</b>"},"P":{"status":"up"}}}`,
		"/v1/chains": `{"chains":[{"chainId":"43114","chainName":"C","status":"OK"},{"chainId":"7","chainName":"` +
			`<script>alert(1)</script>","status":"UNAVAILABLE"},{"chainId":"8","status":"OK"}]}`,
		"/v1/chains/43114/blocks?pageSize=1": `{"blocks":[{"chainId":"43114","blockNumber":"1234567","blockTimestamp":1700000000,"txCount":3}]}`,
		"/v1/chains/7/blocks?pageSize=1":     Answer{Status: 200, Body: []byte(`{"blocks":[]}`), Indexed: "10", Height: "1000", Gaps: "trace 1-2"},
		"/v1/chains/8/blocks?pageSize=1":     Answer{Status: 503, Body: []byte(`{"message":"chain 8 cannot answer <this>"}`)},
		"/v1/blocks?pageSize=8":              `{"blocks":[{"chainId":"43114","blockNumber":"1234567","blockTimestamp":1700000000,"txCount":3}]}`,
		"/v1/transactions?pageSize=8": `{"transactions":[{"chainId":"43114","txHash":"0x` + strings.Repeat("ab", 32) + `","blockTimestamp":1700000000,"txStatus":"0",` +
			`"method":{"methodName":"<i>(uint256)","methodHash":"0x12345678"}}]}`,
		"/v1/icm/messages?pageSize=1":                             `{"messages":[{"sourceTransaction":{"txHash":"0x` + strings.Repeat("cd", 32) + `"}}]}`,
		"/v1/networks/fuji":                                       `{"validatorDetails":{"validatorCount":5,"totalAmountStaked":"2500000000000000"},"delegatorDetails":{"delegatorCount":1,"totalAmountStaked":"1"}}`,
		"/v1/networks/fuji/blockchains/p-chain/blocks?pageSize=1": `{"blocks":[{"blockNumber":"9","blockTimestamp":1700000000}]}`,
	}
}

// TestHome: the first page shows what the API says, in words, and what it does not say
// as unknown.
func TestHome(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: homeAPI(), Version: "v1.2.3"})
	out := visit(t, s, "/", false)
	body := string(out.HTML)
	if out.Status != 200 {
		t.Fatalf("%d %s", out.Status, body)
	}
	for _, want := range []string{
		"The server cannot do its work", "&lt;b&gt;no answer&lt;/b&gt;", "1\u202f234\u202f567", `href="/chain/43114/block/1234567"`, "&lt;script&gt;alert(1)",
		"1.00% of 1\u202f000", "gaps: trace 1-2", "chain 8 cannot answer &lt;this&gt;", "Chain 8",
		"5 validators", "2\u202f500\u202f000 AVAX", "&lt;0.000001 AVAX", `href="/primary/p"`, "&lt;i&gt;", "failed",
		"http://localhost:9750/v1/signatureAggregator/fuji/aggregateSignatures/0x" + strings.Repeat("cd", 32), "v1.2.3",
		`data-chain="43114,7,8"`, `datetime="2023-11-14T22:13:20Z"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, none := range []string{"<script>alert", "<b>no", "<i>", "mainnet", "Signing on", "/signatures", "/ops"} {
		if strings.Contains(body, none) {
			t.Errorf("it has %q", none)
		}
	}
	if n := len(body); n > 100_000 {
		t.Errorf("the first page has %d bytes", n)
	}
	if loaded := regexp.MustCompile(`<(link rel="stylesheet"|script|img)[^>]*>`).FindAllString(body, -1); len(loaded) > 2 {
		t.Errorf("besides itself the page loads %q", loaded)
	}
}

// TestHomeBehind: a chain is not said to be up to date while the server says that it is
// not, and the reason is there whole.
func TestHomeBehind(t *testing.T) {
	t.Parallel()
	api := homeAPI()
	reason := "the chain is not followed for 26.028s: the node is behind: its last block is 9742, block 9834 is indexed"
	api["/health"] = `{"status":"down","details":{"P":{"status":"down","error":"` + reason + `"}}}`
	api["/v1/chains"] = `{"chains":[{"chainId":"43114","chainName":"C","status":"UNAVAILABLE"}]}`
	body := string(visit(t, newSite(t, Config{API: api}), "/", false).HTML)
	if !strings.Contains(body, reason) {
		t.Error("the reason is cut")
	}
	if a, b := strings.Count(body, ">up to date<"), strings.Count(body, ">not up to date<"); a != 0 || b != 2 {
		t.Errorf("%d chains are up to date and %d are not, want 0 and 2", a, b)
	}
}

// TestHomeStopped: a chain whose next block cannot be read is neither up to date nor being
// indexed, whoever looks, and the page says from which block on, of when that is and what it
// needs.
func TestHomeStopped(t *testing.T) {
	t.Parallel()
	api := homeAPI()
	const blocks = "/v1/networks/fuji/blockchains/p-chain/blocks?pageSize=1"
	for gaps, want := range map[string]string{
		"unreadable 13-20": "block 13 and later ones cannot be read by this release of Quorate: install one that knows it",
		`unreadable 1300-2000; time=2026-11-27T13:12:01Z; needs="avalanchego 1.16.0", header 1-12`: "block 1\u202f300 of 2026-11-27T13:12:01Z and later ones cannot be read by this release of Quorate: install one that knows avalanchego 1.16.0",
		`unreadable 13-13; needs="<b>"`: "block 13 and later ones cannot be read by this release of Quorate: install one that knows &lt;b&gt;",
	} {
		api[blocks] = Answer{Status: 200, Body: []byte(`{"blocks":[{"blockNumber":"12","blockTimestamp":1700000000}]}`), Indexed: "12", Height: "20", Gaps: gaps}
		body := string(visit(t, newSite(t, Config{API: api}), "/", false).HTML)
		if !strings.Contains(body, want) || !strings.Contains(body, ">stopped<") || strings.Contains(body, "60.00% of 20") || strings.Contains(body, "gaps: unreadable") {
			t.Errorf("%s: not said:\n%s", gaps, body)
		}
	}
}

// TestHomeWithoutChains: what the server does not have is not shown.
func TestHomeWithoutChains(t *testing.T) {
	t.Parallel()
	out := visit(t, newSite(t, Config{API: fakeAPI{}}), "/", false)
	body := string(out.HTML)
	if out.Status != 200 || !strings.Contains(body, "No chain is indexed here") {
		t.Errorf("%d %s", out.Status, body)
	}
	for _, none := range []string{"Latest blocks", "/v1/chains", "Not available"} {
		if strings.Contains(body, none) {
			t.Errorf("it has %q", none)
		}
	}
}

// TestHomeRefused: what the API refuses to say is not said to be nothing.
func TestHomeRefused(t *testing.T) {
	t.Parallel()
	api := homeAPI()
	for _, path := range []string{"/v1/blocks?pageSize=8", "/v1/transactions?pageSize=8"} {
		api[path] = Answer{Status: 503, Body: []byte(`{"message":"` + path + ` is too much now"}`)}
	}
	body := string(visit(t, newSite(t, Config{API: api}), "/", false).HTML)
	if strings.Contains(body, "indexed yet") || strings.Count(body, "is too much now") != 2 {
		t.Errorf("%s", body)
	}
}

// TestHomeOfOperators: they see the stake and the rates, but not through another
// listener.
func TestHomeOfOperators(t *testing.T) {
	t.Parallel()
	cfg := Config{API: homeAPI(), Operator: newFakeOperator(t)}
	for _, c := range []struct {
		mode     Mode
		operator bool
		want     bool
	}{{On, true, true}, {On, false, false}, {Explorer, true, false}} {
		cfg.Mode = c.mode
		body := string(visit(t, newSite(t, cfg), "/", c.operator).HTML)
		for _, part := range []string{"Signing on", "a second", `href="/signatures"`, `href="/validators"`} {
			if strings.Contains(body, part) != c.want {
				t.Errorf("mode %v, operator %v: %s: %v", c.mode, c.operator, part, !c.want)
			}
		}
	}
}

// TestProgress: the time that is left follows from what was indexed lately.
func TestProgress(t *testing.T) {
	t.Parallel()
	var p paces
	start := time.Unix(1_700_000_000, 0)
	f := func(after time.Duration, indexed string, left time.Duration) {
		t.Helper()
		got := p.seen("C", indexed, "10000", start.Add(after))
		if got == nil || got.Left.Round(time.Second) != left {
			t.Errorf("after %v: %+v, want %v left", after, got, left)
		}
	}
	f(0, "1000", 0)
	f(time.Second, "1100", 0) // too early to tell
	f(10*time.Second, "2000", 80*time.Second)
	f(60*time.Second, "4000", 120*time.Second)
	f(120*time.Second, "5000", 300*time.Second) // the first minute is forgotten
	f(180*time.Second, "8000", 40*time.Second)
	f(181*time.Second, "100", 0) // it began again
	p.seen("D", "1", "18446744073709551615", start)
	if f2 := p.seen("D", "2", "18446744073709551615", start.Add(time.Minute)); f2.Left != 0 || f2.Percent() != "0.00%" {
		t.Errorf("longer than can be told: %v, %s", f2.Left, f2.Percent())
	}
	if got := (&progress{Indexed: 99_999, Height: 100_000}).Percent(); got != "99.99%" {
		t.Errorf("not the whole chain: %s", got)
	}
	for _, none := range [][2]string{{"", "5"}, {"5", ""}, {"6", "5"}, {"x", "9"}} {
		if got := p.seen("C", none[0], none[1], start); got != nil {
			t.Errorf("%q: %+v", none, got)
		}
	}
}
