package httpapi

import (
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/ui"
	"quorate/httpapi/view"
)

// someOperator stands for what operators see: nothing yet.
type someOperator struct{ ui.Operator }

func (someOperator) Ops() ui.Ops            { return nil }
func (someOperator) Networks() []ui.Network { return nil }

// pageServer serves everything, with the pages of a mode.
func pageServer(t testing.TB, cfg Config, mode ui.Mode) *Server {
	t.Helper()
	cfg.Pages = &ui.Config{Mode: mode, Operator: someOperator{}, Version: "v1.2.3"}
	return extServer(t, cfg)
}

// visit asks for a path as browsers do, on a listener of a scope, from a peer.
func visit(s *Server, scope door.Scope, method, path string, headers ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	req.Header.SetHost("localhost:9750")
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	peer := net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Peer" {
			peer = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(headers[i+1]))
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(&conn{Conn: fakePeer{peer: peer}, scope: scope}, nil, true)
	req.CopyTo(&ctx.Request)
	s.handle(ctx)
	return &ctx.Response
}

// fakePeer is a connection from an address.
type fakePeer struct {
	net.Conn
	peer net.Addr
}

func (f fakePeer) RemoteAddr() net.Addr { return f.peer }
func (f fakePeer) LocalAddr() net.Addr  { return f.peer }

func isPage(r *fasthttp.Response) bool { return string(r.Header.ContentType()) == pageType }

// somePath fills in values that exist for the parameters of a page.
func somePath(pattern string) string {
	return strings.NewReplacer("{chain}", "43112", "{address}", alice.String(), "{block}", "1", "{token}", "1", "{metric}", "txCount",
		"{hash}", "0x"+strings.Repeat("0", 64), "{messageId}", sampleMessage.String(), "{nodeId}", nodeOne.String(),
		"{subnetId}", chain.ID{3}.String(), "{assetId}", chain.ID{1}.String(), "{vertexHash}", chain.ID{0x51}.String(),
		"{blockId}", "1", "{txHash}", chain.ID{0x51}.String(), "{operation}", "getHealth").Replace(pattern)
}

// TestRoot: browsers get a page, programs the addresses of what there is.
func TestRoot(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{}, ui.On)
	f := func(accept string, page bool) {
		t.Helper()
		for _, method := range []string{"GET", "HEAD"} {
			r := visit(s, door.All, method, "/", "Accept", accept)
			if r.StatusCode() != 200 || isPage(r) != page || string(r.Header.Peek("Vary")) != pageVary {
				t.Errorf("%s %q: %d %s", method, accept, r.StatusCode(), &r.Header)
			}
			var index map[string]string
			if !page && (json.Unmarshal(r.Body(), &index) != nil || index["chains"] != "/v1/chains" || index["health"] != "/health") {
				t.Errorf("%q: %s", accept, r.Body())
			}
		}
	}
	f("text/html", true)
	f("application/xhtml+xml, TEXT/HTML;q=0.9, */*", true)
	f("", false)
	f("*/*", false)
	f("application/json", false)
	f("text/html;q=0", false)
	f("text/htmlx", false)
	for scope, is := range map[door.Scope]bool{door.All: true, door.ForClients: false, door.ForOperators: true} {
		if r := visit(s, scope, "GET", "/", "Accept", "*/*"); strings.Contains(string(r.Body()), "/ext/metrics") != is {
			t.Errorf("scope %d: %s", scope, r.Body())
		}
	}
	off := pageServer(t, Config{}, ui.Off)
	if r := visit(off, door.All, "GET", "/"); r.StatusCode() != 200 || isPage(r) {
		t.Errorf("without pages: %s", r)
	}
	if r := visit(off, door.All, "GET", "/nothing"); r.StatusCode() != 404 || isPage(r) {
		t.Errorf("without pages: %s", r)
	}
}

// TestPageMatrix: which pages a listener has, by mode. Each is a page, with its headers,
// whatever its status is.
func TestPageMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	all, err := ui.New(ui.Config{Operator: someOperator{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []ui.Mode{ui.On, ui.Explorer, ui.Off} {
		s := pageServer(t, Config{}, mode)
		for _, scope := range []door.Scope{door.All, door.ForClients, door.ForOperators} {
			for _, p := range all.Pages() {
				if p.Operator && mode == ui.On && scope != door.ForClients {
					continue // what it shows is tested beside it
				}
				path := somePath(p.Pattern)
				r := visit(s, scope, "GET", path)
				if mode == ui.Off {
					if isPage(r) {
						t.Errorf("mode %v, scope %d: %s is a page", mode, scope, path)
					}
					continue
				}
				if !isPage(r) && r.StatusCode() != 303 && r.Header.Peek("Content-Disposition") == nil || r.StatusCode() >= 500 && r.StatusCode() != 503 {
					t.Errorf("mode %v, scope %d: %s: %d %.300s", mode, scope, path, r.StatusCode(), r.Body())
				}
				if p.Operator && (r.StatusCode() != 404 || !strings.Contains(string(r.Body()), "nothing is served at")) {
					t.Errorf("mode %v, scope %d: %s is shown: %d", mode, scope, path, r.StatusCode())
				}
				for name, want := range map[string]string{
					"Content-Security-Policy": pagePolicy, "X-Content-Type-Options": "nosniff",
					"Referrer-Policy": "same-origin", "Cache-Control": pageCaching, "Vary": pageVary, "Access-Control-Allow-Origin": "",
				} {
					if got := string(r.Header.Peek(name)); got != want {
						t.Errorf("%s: %s is %q", path, name, got)
					}
				}
			}
		}
	}
}

// TestPageUnits: a page is charged its price, not what it asks for, and who has too
// little left or no key sees a page that says so.
func TestPageUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	all, err := ui.New(ui.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const burst = 100_000
	left := burst
	s := pageServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})}, ui.On)
	closed := pageServer(t, Config{Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})}, ui.On)
	for _, p := range all.Pages() {
		if p.Units < 1 {
			t.Errorf("%s costs %d units", p.Pattern, p.Units)
		}
		left -= p.Units
		path := somePath(p.Pattern)
		if got := string(visit(s, door.All, "GET", path).Header.Peek("RateLimit-Remaining")); got != strconv.Itoa(left) {
			t.Errorf("%s: %s units left, want %d", path, got, left)
		}
		r := visit(closed, door.ForClients, "GET", path)
		if refused := r.StatusCode() == 401; refused == p.Open || refused && !isPage(r) {
			t.Errorf("%s without a key: %d %s", path, r.StatusCode(), r.Header.ContentType())
		}
		if r := visit(closed, door.ForOperators, "GET", path); r.StatusCode() == 401 {
			t.Errorf("%s: an operator needs a key", path)
		}
	}
	poor := pageServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 5})}, ui.On)
	if r := visit(poor, door.All, "GET", "/"); r.StatusCode() != 200 {
		t.Fatalf("the first of them: %d", r.StatusCode())
	}
	r := visit(poor, door.All, "GET", "/")
	if r.StatusCode() != 429 || !isPage(r) || r.Header.Peek("Retry-After") == nil || !strings.Contains(string(r.Body()), "<h1>429</h1>") {
		t.Errorf("one too many: %s", r)
	}
	if r := visit(poor, door.All, "GET", "/", "Accept", "*/*"); r.StatusCode() != 429 || isPage(r) {
		t.Errorf("one too many of a program's: %s", r)
	}
}

// TestUnknownPage: browsers see a page with the way home, programs JSON.
func TestUnknownPage(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{}, ui.On)
	for _, path := range []string{"/nothing", "/v1/nothing", "/chain/", "//", "/assets/quorate.000000000000.css"} {
		r := visit(s, door.All, "GET", path)
		if r.StatusCode() != 404 || !isPage(r) || !strings.Contains(string(r.Body()), `<a href="/">`) {
			t.Errorf("%s: %d %s", path, r.StatusCode(), r.Body())
		}
		if r := visit(s, door.All, "GET", path, "Accept", "*/*"); r.StatusCode() != 404 || isPage(r) {
			t.Errorf("%s: %d %s", path, r.StatusCode(), r.Body())
		}
	}
	if r := visit(s, door.All, "GET", "/%3Cscript%3Ealert(1)%3C/script%3E"); strings.Contains(string(r.Body()), "<script>alert") {
		t.Errorf("%s", r.Body())
	}
	if r := visit(s, door.All, "POST", "/"); r.StatusCode() != 405 {
		t.Errorf("POST: %d", r.StatusCode())
	}
	if r := visit(s, door.All, "GET", "/v1/chains"); isPage(r) {
		t.Error("data for a browser are a page")
	}
}

// TestPrefix: pages link below the path that a trusted proxy names, or that the server's
// own address has.
func TestPrefix(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{PublicURL: "https://explorer.example/avalanche"}, ui.On)
	f := func(prefix string, headers ...string) {
		t.Helper()
		r := visit(s, door.All, "GET", "/", headers...)
		body := string(r.Body())
		for _, want := range []string{`href="` + prefix + `/assets/quorate.`, `action="` + prefix + `/search"`, `<body data-prefix="` + prefix + `"`} {
			if r.StatusCode() != 200 || !strings.Contains(body, want) {
				t.Errorf("%v: %d, no %s in %.400s", headers, r.StatusCode(), want, body)
			}
		}
		r = visit(s, door.All, "GET", "/", append(headers, "Accept", "*/*")...)
		if !strings.Contains(string(r.Body()), `"chains":"`+prefix+`/v1/chains"`) {
			t.Errorf("%v: %s", headers, r.Body())
		}
		if r := visit(s, door.All, "GET", "/search?q="+alice.String(), headers...); string(r.Header.Peek("Location")) != prefix+"/address/"+strings.ToLower(alice.String()) {
			t.Errorf("%v: %s", headers, r)
		}
	}
	f("")
	f("/a/b", "X-Forwarded-Prefix", "/a/b")
	f("/a", "X-Forwarded-Prefix", "/a/")
	f("/a", "X-Forwarded-Prefix", "/a", "Host", "explorer.example")
	f("/avalanche", "Host", "explorer.example")
	f("", "X-Forwarded-Prefix", "/a/b", "Peer", "192.0.2.1:99")
	for _, wrong := range []string{"a", "/", "//a", "/a//b", `/a"b`, "/../a", "/a b", "https://evil.example", "/" + strings.Repeat("a", maxPrefix)} {
		f("", "X-Forwarded-Prefix", wrong)
	}
}

// TestForeignHost: under a name that is not the server's nothing is shown, and nothing of
// the operator's also if a trusted proxy has let the name in.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{OwnHost: func(h []byte) bool { return string(h) == "localhost:9750" }}, ui.On)
	for host, shown := range map[string]bool{"localhost:9750": true, "evil.example": false} {
		body := string(visit(s, door.All, "GET", "/", "Host", host).Body())
		if strings.Contains(body, `href="/signatures"`) != shown {
			t.Errorf("%s: the operator's pages are linked: %v", host, !shown)
		}
	}
	all, err := ui.New(ui.Config{Operator: someOperator{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Pages() {
		if r := visit(s, door.All, "GET", somePath(p.Pattern), "Host", "evil.example"); p.Operator && r.StatusCode() != 403 {
			t.Errorf("%s: %d", p.Pattern, r.StatusCode())
		}
	}
}

// TestAssets: they are kept for ever, packed, and not sent again.
func TestAssets(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{}, ui.On)
	files, err := ui.Assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range files {
		path := ui.AssetPrefix + a.Name
		r := visit(s, door.ForClients, "GET", path)
		if r.StatusCode() != 200 || string(r.Body()) != string(a.Body) || string(r.Header.ContentType()) != a.Type || string(r.Header.Peek("Cache-Control")) != assetCaching {
			t.Errorf("%s: %d %s", path, r.StatusCode(), &r.Header)
		}
		tag := string(r.Header.Peek("Etag"))
		if r := visit(s, door.ForClients, "GET", path, "If-None-Match", tag); r.StatusCode() != 304 || len(r.Body()) > 0 {
			t.Errorf("%s again: %d", path, r.StatusCode())
		}
		for _, encoding := range []string{"gzip", "zstd"} {
			r := visit(s, door.ForClients, "GET", path, "Accept-Encoding", encoding)
			body, err := r.BodyUncompressed()
			if string(r.Header.ContentEncoding()) != encoding || err != nil || string(body) != string(a.Body) {
				t.Errorf("%s as %s: %v, %s", path, encoding, err, &r.Header)
			}
		}
	}
}

// TestKeptPages: a page is kept for a moment, apart for each form that it has.
func TestKeptPages(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{}, ui.On)
	seen := map[string]string{}
	for _, headers := range [][]string{
		nil, {"Host", "other:1"}, {"X-Forwarded-Prefix", "/a"}, {"X-Forwarded-Proto", "https"}, {"Accept-Encoding", "gzip"}, {"Accept-Encoding", "zstd"},
	} {
		for _, scope := range []door.Scope{door.ForClients, door.ForOperators} {
			first := visit(s, scope, "GET", "/", headers...)
			again := visit(s, scope, "GET", "/", headers...)
			if string(first.Body()) != string(again.Body()) || string(first.Header.ContentEncoding()) != string(again.Header.ContentEncoding()) {
				t.Errorf("%v: not the same again", headers)
			}
			form := strings.Join(headers, " ") + " " + strconv.Itoa(int(scope))
			if other, is := seen[string(first.Body())]; is {
				t.Errorf("%q is what %q is", form, other)
			}
			seen[string(first.Body())] = form
		}
	}
}

// TestInProcess: pages are answered what programs are, in the contract's form and
// uncharged, and only data.
func TestInProcess(t *testing.T) {
	t.Parallel()
	limits := newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 1, RequireKey: true})
	s := pageServer(t, Config{Limits: limits, Dialect: view.AlwaysSDK}, ui.On)
	plain := extServer(t, Config{Dialect: view.AlwaysContract})
	api := inProcess{s}
	for _, path := range []string{
		"/v1/chains", base + "/transactions?pageSize=2", base + "/transactions?pageSize=x", asAlice + "/balances:listErc20",
		"/v1/networks/fuji/blockchains/x-chain/blocks", "/v2/chains/43112/metrics/txCount", "/v1/chains/nothing",
	} {
		for range 3 { // what is asked for again is kept
			a, want := api.Get(path, false), get(plain, path)
			if got, want := untoken(a.Body), untoken(want.Body()); a.Status != get(plain, path).StatusCode() || got != want {
				t.Errorf("%s: %d\n%s\nwant %s", path, a.Status, got, want)
			}
		}
	}
	for _, path := range []string{
		"/", "/assets/quorate.css", "/chain/43112", "/metrics", "/ext/metrics", "/ext/bc/C/rpc", "/v1/events?topics=health",
		"/v1/operations/1b4e28ba-2fa1-41d2-883f-0016d3cca427", "/v1/webhooks", "/nothing", "", "x",
	} {
		if a := api.Get(path, true); a.Status != 404 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for operator, details := range map[bool]bool{true: true, false: false} {
		if a := api.Get("/health", operator); strings.Contains(string(a.Body), "details") != details {
			t.Errorf("operator %v: %s", operator, a.Body)
		}
	}
}

// untoken leaves the page token out of a body: its text is another each time.
func untoken(body []byte) string {
	text, _, _ := strings.Cut(string(body), `,"nextPageToken":`)
	return text
}
