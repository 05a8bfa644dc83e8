package httpapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/limit"
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
	// 942 are left: of a body that costs more no more is read than came with the header.
	f("POST "+chain+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n"+strings.Repeat(" ", prefetched), 429, 942, 2)
	f(post(relayerPath, "{\"x\":\""+strings.Repeat("y", 200<<10)+"\"}"), 400, 822, 2)
	// One that does not say its length is charged once it is there, and before it is parsed;
	// what it costs is owed, so that the next is refused whatever it is.
	f(chunked(1<<20), 200, 822-512-5, 3)
	f(chunked(4<<20), 429, 304, 3)
	f(post(chain, "{}"), 429, 0, 3)
}
