package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/httpapi/sign"
)

var goodPost = post(sdkPath, `{"message":"`+warpHex+`"}`)

// errorBody is the documented body of an error.
func errorBody(status int, message string) string {
	return string(door.AppendError(nil, status, message))
}

func TestConfig(t *testing.T) {
	t.Parallel()
	f := func(want string, cfg Config) {
		t.Helper()
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	nets := networks{signs("")}
	f("Networks", Config{})
	f("positive", Config{Networks: nets, MaxBody: -1})
	f("positive", Config{Networks: nets, MaxConns: -1})
	f("positive", Config{Networks: nets, MaxInFlight: -1})
	f("MaxHeader", Config{Networks: nets, MaxHeader: 100})
	f("negative", Config{Networks: nets, ReadTimeout: -1})
}

// TestUnreadable covers requests that fasthttp itself refuses: they are answered
// in the documented form, and the connection ends.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	_, addr := start(t, Config{Metrics: set, MaxBody: 1000, MaxExtBody: 3000, MaxHeader: 1024,
		Ext: func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetStatusCode(len(ctx.PostBody()) / 10) }})
	f := func(raw string, status int, message string) {
		t.Helper()
		c := dial(t, addr)
		c.send(raw)
		resp, body := c.reply("POST")
		if resp.StatusCode != status || body != errorBody(status, message) || !resp.Close ||
			resp.Header.Get("Content-Type") != door.ContentJSON {
			t.Errorf("%.60q: %s %v %s", raw, resp.Status, resp.Header, body)
		}
		c.closed()
	}
	const noHTTP = "the request is not valid HTTP/1.1"
	f("hello\r\n\r\n", 400, noHTTP)
	f("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, noHTTP) // TLS
	f("POST / HTTP/1.1\r\n\r\n", 400, noHTTP)                      // no host
	f("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400, noHTTP)
	f("GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400, noHTTP)
	f(request("GET", "/"+strings.Repeat("x", 2000), ""), 431, "the request's address and headers are too long")
	f(request("GET", "/", "", "Cookie: "+strings.Repeat("x", 2000)), 431, "the request's address and headers are too long")

	const tooLarge = "the request's body is larger than 1000 bytes"
	f(post(sdkPath, strings.Repeat(" ", 1001)), 413, tooLarge)
	f("POST "+sdkPath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413, tooLarge)
	f("POST "+sdkPath+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n"+strings.Repeat("x", 2048)+"\r\n0\r\n\r\n", 413, tooLarge)
	if n := rejected(set, "body_too_large"); n != 3 {
		t.Errorf("%d bodies counted as too large, want 3", n)
	}

	f(post("/ext/bc/C/rpc", strings.Repeat(" ", 3001)), 413, "the request's body is larger than 3000 bytes")
	large := dial(t, addr)
	large.send(post("/ext/bc/C/rpc", strings.Repeat(" ", 3000)))
	if resp, _ := large.reply("POST"); resp.StatusCode != 300 {
		t.Errorf("below /ext: %s", resp.Status)
	}

	c := dial(t, addr)
	c.send(post(sign.RelayerPath, strings.Repeat(" ", 1001)))
	if resp, body := c.reply("POST"); resp.StatusCode != 413 || body != `{"error":"`+tooLarge+`"}` {
		t.Errorf("relayer: %s %s", resp.Status, body)
	}
	c = dial(t, addr)
	c.send(post(sdkPath, `{"message":"`+warpHex+`"}`+strings.Repeat(" ", 900))) // just below
	if resp, body := c.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// TestAnswerOutlivesUpload checks that a client which sends far too much gets
// to see why, rather than a reset connection.
func TestAnswerOutlivesUpload(t *testing.T) {
	t.Parallel()
	_, addr := start(t, Config{})
	c := dial(t, addr)
	c.send(post(sdkPath, strings.Repeat("x", 4<<20)))
	if resp, _ := c.reply("POST"); resp.StatusCode != 413 {
		t.Errorf("got %s", resp.Status)
	}
}

// TestSlow covers clients that do not finish what they began.
func TestSlow(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	_, addr := start(t, Config{Metrics: set, ReadTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	want := errorBody(408, "the request did not arrive in time")
	for _, part := range []string{"P", "POST / HTTP/1.1\r\nHost: x\r\n", goodPost[:len(goodPost)-1]} {
		c := dial(t, addr)
		c.send(part)
		if resp, body := c.reply("POST"); resp.StatusCode != 408 || body != want || !resp.Close {
			t.Errorf("%q: %s %s", part, resp.Status, body)
		}
		c.closed()
	}
	if n := rejected(set, "timeout"); n != 3 {
		t.Errorf("%d timeouts counted, want 3", n)
	}
	// A connection that rests between requests is closed without a word.
	c := dial(t, addr)
	c.send(goodPost)
	c.reply("POST")
	c.closed()
}

// TestHalfClosed: a client that has sent half a request and says that no more
// comes still gets an answer.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	_, addr := start(t, Config{})
	for _, part := range []string{"POST / HTTP/1.1\r\nHo", goodPost[:len(goodPost)-1]} {
		c := dial(t, addr)
		c.send(part)
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if resp, body := c.reply("POST"); resp.StatusCode != 400 || !resp.Close {
			t.Errorf("%q: %s %s", part, resp.Status, body)
		}
		c.closed()
	}
}

func TestPipelining(t *testing.T) {
	t.Parallel()
	_, addr := start(t, Config{})
	c := dial(t, addr)
	bad := post(sdkPath, `{"message":"z"}`)
	c.send(goodPost + bad + request("GET", "/nothing", "") + goodPost)
	for i, want := range []int{201, 400, 404, 201} {
		if resp, body := c.reply("POST"); resp.StatusCode != want {
			t.Errorf("answer %d: %s %s, want %d", i, resp.Status, body, want)
		}
	}
	c.send(request("POST", sdkPath, `{"message":"`+warpHex+`"}`, "Connection: close"))
	if resp, _ := c.reply("POST"); resp.StatusCode != 201 || !resp.Close {
		t.Errorf("got %s, closed %v", resp.Status, resp.Close)
	}
	c.closed()
}

func TestContinue(t *testing.T) {
	t.Parallel()
	_, addr := start(t, Config{})
	c := dial(t, addr)
	head, body, _ := strings.Cut(request("POST", sdkPath, `{"message":"`+warpHex+`"}`, "Expect: 100-continue"), "\r\n\r\n")
	c.send(head + "\r\n\r\n")
	if resp, _ := c.reply("POST"); resp.StatusCode != 100 {
		t.Fatalf("got %s, want 100", resp.Status)
	}
	c.send(body)
	if resp, answer := c.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("got %s %s", resp.Status, answer)
	}
}

// resting counts the connections that wait for their client.
func (t *connections) resting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.open {
		if !c.busy.Load() {
			n++
		}
	}
	return n
}

func TestMaxConns(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	agg, entered, release := blocking()
	s, addr := start(t, Config{MaxConns: 1, MaxInFlight: 9, Metrics: set, Networks: networks{agg}})
	first := dial(t, addr)
	first.send(goodPost)
	<-entered

	second := dial(t, addr)
	resp, body := second.reply("GET")
	if resp.StatusCode != 503 || body != errorBody(503, "too many connections") || resp.Header.Get("Retry-After") != "1" || !resp.Close {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	second.closed()
	if n := rejected(set, "connections"); n != 1 {
		t.Errorf("%d connections counted as too many, want 1", n)
	}
	close(release)
	first.reply("POST")
	// Now it rests, and has to make room.
	eventually(t, "the connection rests", func() bool { return s.conns.resting() == 1 })
	third := dial(t, addr)
	third.send(goodPost)
	if resp, body := third.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("%s %s", resp.Status, body)
	}
	first.closed()
	if n := rejected(set, "evicted"); n != 1 {
		t.Errorf("%d connections counted as evicted, want 1", n)
	}
}

// blocking is an aggregator that holds each request until told.
func blocking() (agg fake, entered chan struct{}, release chan struct{}) {
	entered, release = make(chan struct{}, 16), make(chan struct{})
	return func(ctx context.Context, _ *aggregator.Request) (*aggregator.Result, error) {
		entered <- struct{}{}
		select {
		case <-release:
			return &aggregator.Result{Signed: []byte{1}}, nil
		case <-ctx.Done():
			return nil, &aggregator.Error{Kind: aggregator.Stopping, Msg: "the server is stopping"}
		}
	}, entered, release
}

func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	agg, entered, release := blocking()
	_, addr := start(t, Config{MaxInFlight: 1, Networks: networks{agg}, Ext: func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString("well") }})
	first := dial(t, addr)
	first.send(goodPost)
	<-entered

	second := dial(t, addr)
	second.send(goodPost)
	resp, body := second.reply("POST")
	if resp.StatusCode != 503 || body != errorBody(503, "too many requests are being answered") || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	// Whoever watches the server must get through.
	second.send(request("GET", "/ext/health", ""))
	if resp, body := second.reply("GET"); resp.StatusCode != 200 || body != "well" {
		t.Errorf("%s %s", resp.Status, body)
	}
	close(release)
	if resp, _ := first.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("got %s", resp.Status)
	}
	second.send(goodPost)
	if resp, _ := second.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("got %s", resp.Status)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	_, addr := start(t, Config{Metrics: set, Networks: networks{fake(func(context.Context, *aggregator.Request) (*aggregator.Result, error) {
		panic("defect")
	})}})
	for range 2 {
		c := dial(t, addr)
		c.send(goodPost)
		if resp, body := c.reply("POST"); resp.StatusCode != 500 || body != errorBody(500, "internal error") || !resp.Close {
			t.Errorf("%s %s", resp.Status, body)
		}
		c.closed()
	}
	if n := rejected(set, "panic"); n != 2 {
		t.Errorf("%d panics counted, want 2", n)
	}
}

func TestExtRouting(t *testing.T) {
	t.Parallel()
	_, addr := start(t, Config{Ext: func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBody(ctx.URI().PathOriginal()) }})
	c := dial(t, addr)
	for path, want := range map[string]int{"/ext": 200, "/ext/": 200, "/ext/bc/C/rpc": 200, "/extra": 404, "/v1/ext": 404} {
		c.send(request("GET", path, ""))
		if resp, body := c.reply("GET"); resp.StatusCode != want || want == 200 && body != path {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	s, addr := start(t, Config{Metrics: set, Ext: func(*fasthttp.RequestCtx, Charge) {}})
	c := dial(t, addr)
	for _, raw := range []string{goodPost, goodPost, post(sdkPath, "{"), request("GET", "/nothing", ""), request("GET", "/ext/x", "")} {
		c.send(raw)
		c.reply("POST")
	}
	eventually(t, "all requests at their end", func() bool { return s.inFlight.Load() == 0 })
	text := set.String()
	for _, want := range []string{
		`quorate_http_requests_total{code="2xx",route="/v1/signatureAggregator/{network}/aggregateSignatures"} 2`,
		`quorate_http_requests_total{code="4xx",route="/v1/signatureAggregator/{network}/aggregateSignatures"} 1`,
		`quorate_http_requests_total{code="4xx",route="other"} 1`,
		`quorate_http_requests_total{code="2xx",route="/ext/*"} 1`,
		`quorate_http_request_duration_seconds_count{route="/v1/signatureAggregator/{network}/aggregateSignatures"} 3`,
		`quorate_http_requests_in_flight 0`,
		`quorate_http_connections 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// failing is a listener that lacks files for a while.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestAcceptOutlastsShortage(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Networks: networks{signs("")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, &failing{Listener: ln, left: 2}) }()
	c := dial(t, ln.Addr().String())
	c.send(goodPost)
	if resp, _ := c.reply("POST"); resp.StatusCode != http.StatusCreated {
		t.Errorf("got %s", resp.Status)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// broken is a listener that ends by itself.
type broken struct{ net.Listener }

var errBroken = errors.New("broken")

func (broken) Accept() (net.Conn, error) { return nil, errBroken }

func TestRunReportsBrokenListener(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Networks: networks{signs("")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), broken{ln}); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

// TestBothLengths: a request with two lengths of its body is the last on its connection.
func TestBothLengths(t *testing.T) {
	t.Parallel()
	body := `{"message":"` + warpHex + `"}`
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	head := "POST " + sdkPath + " HTTP/1.1\r\nHost: localhost\r\n"
	_, addr := start(t, Config{})
	for _, lengths := range []string{"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "content-LENGTH: 4\r\nTransfer-Encoding: chunked\r\n"} {
		c := dial(t, addr)
		c.send(head + lengths + "\r\n" + chunked)
		if resp, answer := c.reply("POST"); !resp.Close {
			t.Errorf("%q: the connection stays open: %s %s", lengths, resp.Status, answer)
		}
		c.closed()
	}
	c := dial(t, addr)
	for range 2 {
		c.send(head + "Transfer-Encoding: chunked\r\n\r\n" + chunked)
		if resp, answer := c.reply("POST"); resp.StatusCode != 201 || resp.Close {
			t.Errorf("%s %s", resp.Status, answer)
		}
	}
}

// TestNoSniff: no answer is taken for another type than it says.
func TestNoSniff(t *testing.T) {
	t.Parallel()
	s := extServer(t, Config{})
	for _, l := range listings(t) {
		if got := string(ask(s, l).Header.Peek("X-Content-Type-Options")); got != "nosniff" {
			t.Errorf("%s %s: %q", l.method, l.pattern, got)
		}
	}
	for _, path := range []string{"/v1/nothing", "/v1/chains?pagesize=1"} {
		if got := string(get(s, path).Header.Peek("X-Content-Type-Options")); got != "nosniff" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
