package httpapi

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/health"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/ui"
)

// TestOpenPages: the live pages of many tabs behind one address fit into what a client
// without a key has. Each asks again every five seconds; nobody else is served more
// cheaply for it.
func TestOpenPages(t *testing.T) {
	t.Parallel()
	const burst = 1_000_000
	for path, most := range map[string]int{"/": 5, "/chain/43112": 10} {
		s := dataServer(t, Config{
			Pages: &ui.Config{}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst}),
		}, sampleChain(), secondChain())
		left := func(headers ...string) int {
			t.Helper()
			r := visit(s, door.ForClients, "GET", path, append(headers, "Peer", "192.0.2.1:99")...)
			n, err := strconv.Atoi(string(r.Header.Peek("RateLimit-Remaining")))
			if r.StatusCode() != 200 || err != nil {
				t.Fatalf("%s: %d %v", path, r.StatusCode(), err)
			}
			return n
		}
		first := left()
		if burst-first > most {
			t.Errorf("%s costs %d units, want at most %d", path, burst-first, most)
		}
		// In a minute, 50 tabs ask 600 times: at worst each has the page rendered.
		if cost := 600 * (burst - first); cost > 6000 {
			t.Errorf("%s costs %d units a minute in 50 tabs", path, cost)
		}
		// Under other names the page is another, but what it asks for is the same.
		if cost := first - left("Host", "other.example"); cost > most {
			t.Errorf("%s costs %d units under another name", path, cost)
		}
	}
}

// TestKeptPageUnits: a page that is kept costs its further viewers one unit.
func TestKeptPageUnits(t *testing.T) {
	t.Parallel()
	const burst = 1_000_000
	s := pageServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})}, ui.On)
	const path = "/chain/43112/metrics"
	left := func() int {
		n, _ := strconv.Atoi(string(visit(s, door.ForClients, "GET", path).Header.Peek("RateLimit-Remaining")))
		return n
	}
	// The page may have been dropped between two visits on a slow machine, not ten times.
	for range 10 {
		if before := left(); before-left() == keptUnits {
			return
		}
	}
	t.Error("a page that is kept has its whole price")
}

// faultyHealth fails by a defect.
type faultyHealth struct{}

func (faultyHealth) Health([]string) health.Report { panic("a defect") }

// TestPagePanic: a page that fails by a defect is a page of an error, and a program's
// answer is JSON.
func TestPagePanic(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{Health: faultyHealth{}}, ui.On)
	r := visit(s, door.All, "GET", "/")
	if r.StatusCode() != 500 || !isPage(r) || !strings.Contains(string(r.Body()), "<h1>500</h1>") || strings.Contains(string(r.Body()), "a defect") {
		t.Errorf("a browser: %s", r)
	}
	if r := visit(s, door.All, "GET", "/health", "Accept", "*/*"); r.StatusCode() != 500 || isPage(r) {
		t.Errorf("a program: %s", r)
	}
}

// TestPageRetry: a page for which units ran out in the middle says when to come back.
func TestPageRetry(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{
		Pages: &ui.Config{}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 60, Burst: 110}),
	}, slices.Repeat([]*testChain{sampleChain()}, 12)...)
	r := visit(s, door.ForClients, "GET", "/search?q=0x"+strings.Repeat("ab", 32), "Peer", "192.0.2.1:99")
	if after, err := strconv.Atoi(string(r.Header.Peek("Retry-After"))); r.StatusCode() != 429 || !isPage(r) || err != nil || after < 1 {
		t.Errorf("%s", r)
	}
}

// keyServer requires keys, of which it knows the one that is returned.
func keyServer(t *testing.T) (s *Server, key string) {
	t.Helper()
	key, hash := limit.NewKey()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	text := "tiers:\n  - name: one\n    unitsPerMinute: 100000\nkeys:\n  - hash: " + hash + "\n    tier: one\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s = pageServer(t, Config{Limits: newLimiter(t, limit.Config{KeysFile: file, RequireKey: true})}, ui.On)
	return s, key
}

// postForm sends a form as browsers do.
func postForm(s *Server, path, body string, headers ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.Header.SetMethod("POST")
	req.SetRequestURI(path)
	req.Header.SetHost("localhost:9750")
	req.Header.Set("Accept", "text/html")
	req.Header.SetContentType("application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.SetBodyString(body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(&conn{Conn: fakePeer{peer: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}, scope: door.ForClients}, nil, true)
	req.CopyTo(&ctx.Request)
	s.handle(ctx)
	return &ctx.Response
}

// TestPageKeyCookie: a browser that was given a key once opens pages, their streams and
// signatures with it, and nothing else.
func TestPageKeyCookie(t *testing.T) {
	t.Parallel()
	s, key := keyServer(t)
	r := visit(s, door.ForClients, "GET", "/chain/43112?a=1")
	if r.StatusCode() != 401 || !strings.Contains(string(r.Body()), `href="/key?next=%2Fchain%2F43112%3Fa%3D1"`) {
		t.Errorf("without a key: %s", r)
	}
	if r := visit(s, door.ForClients, "GET", "/key?next=/chain/43112"); r.StatusCode() != 200 || !strings.Contains(string(r.Body()), `value="/chain/43112"`) {
		t.Errorf("the form: %s", r)
	}
	send := func(body string, headers ...string) (status int, cookie, location string) {
		t.Helper()
		r := postForm(s, "/key", body, headers...)
		return r.StatusCode(), string(r.Header.PeekCookie(keyCookie)), string(r.Header.Peek("Location"))
	}
	status, cookie, location := send("do=use&next=%2Fchain%2F43112&key=" + key)
	if status != 303 || location != "/chain/43112" || !strings.HasPrefix(cookie, keyCookie+"="+key) {
		t.Fatalf("%d %q %q", status, cookie, location)
	}
	for _, attribute := range []string{"HttpOnly", "SameSite=Lax", "path=/"} {
		if !strings.Contains(cookie, attribute) || strings.Contains(cookie, "secure") {
			t.Errorf("%s: %s", attribute, cookie)
		}
	}
	if _, cookie, _ := send("do=use&key="+key, "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/a"); !strings.Contains(cookie, "secure") || !strings.Contains(cookie, "path=/a") {
		t.Errorf("behind a proxy: %s", cookie)
	}
	if status, cookie, _ := send("do=use&key=quorate_nothing"); status != 200 || cookie != "" {
		t.Errorf("a key that is not known: %d %q", status, cookie)
	}
	if status, cookie, _ := send("do=use&key="+key, "Sec-Fetch-Site", "cross-site"); status != 403 || cookie != "" {
		t.Errorf("of another site's form: %d %q", status, cookie)
	}
	if _, cookie, _ := send("do=forget"); !strings.HasPrefix(cookie, keyCookie+"=;") {
		t.Errorf("forgotten: %q", cookie)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", "/key", "x", "%0d%0aa:b"} {
		if _, _, location := send("do=use&key=" + key + "&next=" + next); location != "/" {
			t.Errorf("%s leads to %q", next, location)
		}
	}
	for path, status := range map[string]int{"/chain/43112": 200, "/v1/events?topics=nothing": 400, "/v1/chains": 401, "/v1/chains/43112/transactions": 401} {
		if r := visit(s, door.ForClients, "GET", path, "Cookie", keyCookie+"="+key); r.StatusCode() != status {
			t.Errorf("%s with the cookie: %d, want %d", path, r.StatusCode(), status)
		}
		if r := visit(s, door.ForClients, "GET", path, "Cookie", keyCookie+"=quorate_other"); r.StatusCode() != 401 {
			t.Errorf("%s with another cookie: %d", path, r.StatusCode())
		}
	}
	if r := visit(s, door.ForClients, "GET", "/chain/43112", "Cookie", keyCookie+"=old", "x-service-api-key", key); r.StatusCode() != 200 {
		t.Errorf("a header beside an old cookie: %d", r.StatusCode())
	}
	if r := visit(s, door.ForOperators, "GET", "/v1/events?topics=nothing"); r.StatusCode() != 400 {
		t.Errorf("the events of an operator's page: %d", r.StatusCode())
	}
	if r := visit(pageServer(t, Config{}, ui.On), door.ForClients, "GET", "/key"); r.StatusCode() != 404 {
		t.Errorf("there are no keys: %d", r.StatusCode())
	}
}
