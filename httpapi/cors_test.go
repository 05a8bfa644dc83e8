package httpapi

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/limit"
	"quorate/httpapi/sign"
	"quorate/httpapi/view"
)

const page = "https://app.example"

// TestCORS: each route, asked by a page and before that by its browser, under each
// setting. Only what is public is for pages.
func TestCORS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		origins []string
		want    string // Access-Control-Allow-Origin at public routes
		vary    bool
	}{
		{"all", []string{"*"}, "*", false},
		{"all and more", []string{"https://other.example", "*"}, "*", false},
		{"listed", []string{"https://other.example", "HTTPS://App.Example"}, page, true},
		{"not listed", []string{"https://other.example"}, "", true},
		{"none", nil, "", false},
	} {
		s := extServer(t, Config{Origins: c.origins})
		for _, l := range listings(t) {
			want := c.want
			if l.access != "public" || l.key == "always" {
				want = ""
			}
			resp := ask(s, l, "Origin", page)
			h := &resp.Header
			if got := string(h.Peek("Access-Control-Allow-Origin")); got != want {
				t.Errorf("%s: %s %s: allowed origin %q, want %q", c.name, l.method, l.pattern, got, want)
			}
			if got := string(h.Peek("Access-Control-Expose-Headers")); (want != "") != (strings.Contains(got, "Retry-After") && strings.Contains(got, "RateLimit-Remaining") && strings.Contains(got, "RateLimit-Policy")) {
				t.Errorf("%s: %s %s: exposed %q", c.name, l.method, l.pattern, got)
			}
			if len(h.Peek("Access-Control-Allow-Credentials")) > 0 {
				t.Errorf("%s: %s: credentials", c.name, l.pattern)
			}
			if c.vary && l.access == "public" && l.key != "always" && !strings.Contains(string(h.Peek("Vary")), "Origin") {
				t.Errorf("%s: %s: Vary %q", c.name, l.pattern, h.Peek("Vary"))
			}
			if l.key == "always" { // the page says that it will send a key
				want = c.want
			}
			method := l.method
			l.method = "OPTIONS"
			resp = ask(s, l, "Origin", page, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", "x-glacier-api-key,content-type")
			h = &resp.Header
			allowed := string(h.Peek("Access-Control-Allow-Headers"))
			if got := string(h.Peek("Access-Control-Allow-Origin")); got != want || (want != "") != (resp.StatusCode() == 204 &&
				strings.Contains(allowed, "X-Glacier-Api-Key") && strings.Contains(allowed, "X-Service-Api-Key") &&
				strings.Contains(allowed, "Content-Type") && strings.Contains(allowed, "X-App-Component") &&
				(method == "any" || strings.Contains(string(h.Peek("Access-Control-Allow-Methods")), method)) &&
				len(h.Peek("Access-Control-Max-Age")) > 0) {
				t.Errorf("%s: before %s %s: %d %s", c.name, method, l.pattern, resp.StatusCode(), h)
			}
		}
		// Without an origin nothing is said of origins.
		if resp := get(s, base+"/transactions"); len(resp.Header.Peek("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%s: no page asked: %s", c.name, &resp.Header)
		}
	}
}

// TestPreflightHeaders: a page may send whatever header it asks for, such as those of
// tracing, and caches keep the answers apart.
func TestPreflightHeaders(t *testing.T) {
	t.Parallel()
	f := func(origins []string, asked, want, vary string) {
		t.Helper()
		s := dataServer(t, Config{Origins: origins}, sampleChain())
		resp := ask(s, listing{method: "OPTIONS", pattern: "/v1/chains"}, "Origin", page, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", asked)
		h := &resp.Header
		got, has := strings.CutPrefix(string(h.Peek("Access-Control-Allow-Headers")), corsRequestHeaders)
		if got != want || has != (vary != "" && origins[0] != "https://other.example") || string(h.Peek("Vary")) != vary || len(h.Peek("Access-Control-Allow-Credentials")) > 0 {
			t.Errorf("%v, %q: %d %s", origins, asked, resp.StatusCode(), h)
		}
	}
	all := []string{"*"}
	f(all, "traceparent", ", traceparent", "Access-Control-Request-Headers")
	f(all, "traceparent,tracestate, baggage", ", traceparent,tracestate, baggage", "Access-Control-Request-Headers")
	f(all, "sentry-trace, X-Amzn-Trace-Id", ", sentry-trace, X-Amzn-Trace-Id", "Access-Control-Request-Headers")
	f(all, "authorization", ", authorization", "Access-Control-Request-Headers")
	f(all, "", "", "Access-Control-Request-Headers")
	f(all, "a:b", "", "Access-Control-Request-Headers")
	f(all, "a\x80", "", "Access-Control-Request-Headers")
	f(all, strings.Repeat("a", maxAskedHeaders+1), "", "Access-Control-Request-Headers")
	f([]string{page}, "traceparent", ", traceparent", "Origin, Access-Control-Request-Headers")
	f([]string{"https://other.example"}, "traceparent", "", "Origin")
}

// TestCORSOnErrors: a page must be able to read why it got no answer.
func TestCORSOnErrors(t *testing.T) {
	t.Parallel()
	s := extServer(t, Config{Origins: []string{"*"}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 20})})
	s.cfg.Ext = func(*fasthttp.RequestCtx, Charge) { panic("defect") }
	for _, c := range []struct {
		path   string
		status int
	}{
		{base + "/transactions?pageSize=x", 400}, {"/v1/nothing", 404}, {sign.RelayerPath, 405}, {base + "/transactions", 429},
		{"/ext/bc/C/rpc", 429},
	} {
		resp := get(s, c.path, "Origin", page)
		limited := len(resp.Header.Peek("RateLimit-Limit")) > 0
		if got := string(resp.Header.Peek("RateLimit-Policy")); limited != (got == "1;w=60;burst=20") {
			t.Errorf("%s: RateLimit-Policy %q", c.path, got)
		}
		if resp.StatusCode() != c.status || string(resp.Header.Peek("Access-Control-Allow-Origin")) != "*" {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode(), &resp.Header)
		}
	}
	s.cfg.Limits = nil
	if resp := get(s, "/ext/bc/C/rpc", "Origin", page); resp.StatusCode() != 500 || string(resp.Header.Peek("Access-Control-Allow-Origin")) != "*" {
		t.Errorf("a defect: %d %s", resp.StatusCode(), &resp.Header)
	}
}

// TestPageDialect: a page that shows no sign of its form gets members that both
// forms have, and the answers of one form are not kept for the other.
func TestPageDialect(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	f := func(path string, headers []string, has, lacks string) {
		t.Helper()
		for range 3 { // asked for again and again, it is kept
			body := string(get(s, path, headers...).Body())
			if !strings.Contains(body, has) || lacks != "" && strings.Contains(body, lacks) {
				t.Errorf("%s %v: %s", path, headers, body)
			}
		}
	}
	fromPage, fromSDK := []string{"Origin", page}, []string{"Origin", page, "X-App-Component", "avacloud-sdk"}
	f(asAlice+"/balances:getNative", nil, `"value":"`, "")
	f(asAlice+"/balances:getNative", fromPage, `"balance":"`, `"price"`)
	f(asAlice+"/balances:getNative", fromSDK, `"value":`, `"value":"`)
	f(base+"/transactions", nil, "blockTimestamp", "Milliseconds")
	f(base+"/transactions", fromPage, "blockTimestamp", "Milliseconds")
	f(base+"/transactions", fromSDK, "Milliseconds", "")
	vary := string(get(s, base+"/transactions").Header.Peek("Vary"))
	for _, name := range []string{"Origin", "X-App-Component", "User-Agent", "X-Glacier-Api-Key"} {
		if !strings.Contains(vary, name) {
			t.Errorf("Vary %q lacks %s", vary, name)
		}
	}
	if s := dataServer(t, Config{Dialect: view.AlwaysContract}, sampleChain()); string(get(s, base+"/transactions").Header.Peek("Vary")) != "Accept-Encoding" {
		t.Error("where all get one form, it is said to vary")
	}
}
