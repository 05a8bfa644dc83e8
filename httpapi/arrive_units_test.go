package httpapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/limit"
	"quorate/httpapi/sign"
)

// TestBodyUnits: a body costs by its size, before it is read; who has no units left is
// answered without any of it having been looked at.
func TestBodyUnits(t *testing.T) {
	t.Parallel()
	parsed := 0
	_, url := start(t, Config{
		Limits:  newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 3000}),
		Ext:     func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString("passed on") },
		ExtCost: func(*fasthttp.RequestCtx) ExtCost { parsed++; return ExtCost{Units: 5} },
	})
	f := func(raw string, status, left, parses int) {
		t.Helper()
		c := dial(t, url)
		c.send(raw)
		resp, body := c.reply("POST")
		if got := resp.Header.Get("RateLimit-Remaining"); resp.StatusCode != status || parsed != parses || got != strconv.Itoa(left) {
			t.Errorf("status %d, want %d; %d bodies parsed, want %d; %s units left, want %d: %s", resp.StatusCode, status, parsed, parses, got, left, body)
		}
	}
	const chain = "/ext/bc/C/rpc"
	large := func(n int) string { return post(chain, strings.Repeat(" ", n)) }
	chunked := func(n int) string {
		return "POST " + chain + " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strconv.FormatInt(int64(n), 16) + "\r\n" + strings.Repeat(" ", n) + "\r\n0\r\n\r\n"
	}
	f(post(chain, "{}"), 200, 2995, 1)
	f(large(4<<20), 200, 2995-2048-5, 2)
	// 942 are left: who sends what costs more is answered before any of its body is there.
	const head = "POST " + chain + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n"
	f(head+"\r\n", 429, 942, 2)
	f(head+"Expect: 100-continue\r\n\r\n", 429, 942, 2)
	f(head+"\r\n"+strings.Repeat(" ", prefetched), 429, 942, 2)
	f(post(sign.RelayerPath, "{\"x\":\""+strings.Repeat("y", 200<<10)+"\"}"), 400, 822, 2)
	// One that does not say its length is charged once it is there, and before it is parsed;
	// what it costs is owed, so that the next is refused whatever it is.
	f(chunked(1<<20), 200, 822-512-5, 3)
	f(chunked(4<<20), 429, 304, 3)
	f(post(chain, "{}"), 429, 0, 3)
}

// TestLongBodies: what the server does to answer from the header shows in no answer to a client
// that may send, however the bytes arrive; a body that nobody waits for ends the connection.
func TestLongBodies(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	_, url := start(t, Config{Limits: newLimiter(t, limit.Config{}), Metrics: set, MaxExtBody: 4 * prefetched,
		Ext: func(ctx *fasthttp.RequestCtx, _ Charge) {
			ctx.SetBodyString(strconv.Itoa(len(ctx.Request.Body())) + string(ctx.Request.Header.Peek(fasthttp.HeaderExpect)))
		},
		ExtCost: func(*fasthttp.RequestCtx) ExtCost { return ExtCost{Units: 1} },
	})
	const n = 2*prefetched + 1
	whole := post("/ext/bc/C/rpc", strings.Repeat(" ", n))
	head, body, _ := strings.Cut(whole, "\r\n\r\n")
	c := dial(t, url)
	answered := func(status int, want string) {
		t.Helper()
		if resp, got := c.reply("POST"); resp.StatusCode != status || got != want && want != "" {
			t.Errorf("%d %q, want %d %q", resp.StatusCode, got, status, want)
		}
	}
	size := strconv.Itoa(n)
	c.send(whole + whole + post("/ext/bc/C/rpc", "{}"))
	for _, want := range []string{size, size, "2"} {
		answered(200, want)
	}
	c.send(head + "\r\n\r\n")
	c.send(body[:10])
	c.send(body[10:])
	answered(200, size)
	c.send(head + "\r\nExpect: 100-continue\r\n\r\n")
	answered(100, "")
	c.send(body)
	answered(200, size)
	for path, status := range map[string]int{"/nothing": 404, "/ext/bc/C/rpc": 413} {
		c = dial(t, url)
		c.send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(1<<40) + "\r\n\r\n")
		answered(status, "")
		c.closed()
	}
	if got := set.Value("quorate_http_requests_total", "route", "/ext/bc/{chain}/*", "code", "2xx"); got != 5 {
		t.Errorf("%v requests were counted, want 5", got)
	}
}
