package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/metric"
	"quorate/httpapi/limit"
)

// dialFrom connects from another address of this machine.
func dialFrom(t *testing.T, from, addr string) *client {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 30 * time.Second}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, Conn: c, r: bufio.NewReader(c)}
}

// TestMaxConnsPerClient: one address has its share, and others have theirs; who is
// not capped may have all.
func TestMaxConnsPerClient(t *testing.T) {
	t.Parallel()
	s, addr := start(t, Config{MaxConnsPerClient: 3, Uncapped: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	served := func(c *client) {
		t.Helper()
		c.send(goodPost)
		if resp, body := c.reply("POST"); resp.StatusCode != 201 {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	var open []*client
	for range 3 {
		c := dialFrom(t, "127.0.0.2", addr)
		served(c)
		open = append(open, c)
	}
	for range 3 {
		c := dialFrom(t, "127.0.0.2", addr)
		if resp, body := c.reply("GET"); resp.StatusCode != 503 || body != errorBody(503, "too many connections from one address") {
			t.Errorf("%s %s", resp.Status, body)
		}
		c.closed()
	}
	served(dialFrom(t, "127.0.0.3", addr))
	for range 10 {
		served(dialFrom(t, "127.0.0.9", addr))
	}
	// The share comes back with each connection that ends.
	if err := open[0].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection is gone", func() bool { return s.conns.len() == 13 })
	served(dialFrom(t, "127.0.0.2", addr))
}

// TestSlowloris: clients that hold all connections with requests that never end,
// from many addresses, lock nobody out.
func TestSlowloris(t *testing.T) {
	t.Parallel()
	const most = 40
	set := metric.NewSet()
	s, addr := start(t, Config{MaxConns: most, MaxConnsPerClient: most, Uncapped: []netip.Prefix{}, Metrics: set,
		Ext: func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString("well") }})
	for i := range 3 * most {
		c := dialFrom(t, fmt.Sprintf("127.0.%d.%d", 1+i%3, 1+i/3), addr)
		c.send([]string{"P", "POST " + sdkPath + " HTTP/1.1\r\nHost: x\r\n", post(sdkPath, strings.Repeat(" ", 100_000))[:9000]}[i%3])
		if i >= most { // the server has taken it in
			eventually(t, "one made room", func() bool { return rejected(set, "evicted") >= i+1-most })
		}
	}
	eventually(t, "the crowd is there", func() bool { return s.conns.len() == most })
	for range 20 {
		c := dialFrom(t, "127.0.9.1", addr)
		c.send(request("GET", "/ext/health", ""))
		if resp, body := c.reply("GET"); resp.StatusCode != 200 || body != "well" {
			t.Errorf("%s %s", resp.Status, body)
		}
		c.send(goodPost)
		if resp, body := c.reply("POST"); resp.StatusCode != 201 {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	if n := s.inFlight.Load(); n != 0 {
		t.Errorf("%d requests in flight that have not arrived", n)
	}
}

// TestPromisedBodies: a body costs the memory of what has arrived of it.
func TestPromisedBodies(t *testing.T) {
	const conns, promised = 100, 5 << 20
	s, addr := start(t, Config{Ext: func(*fasthttp.RequestCtx, Charge) {}})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	head := fmt.Sprintf("POST /ext/bc/C/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", promised)
	for range conns {
		c := dial(t, addr)
		c.send(head + strings.Repeat("x", 10_000))
	}
	eventually(t, "all have begun", func() bool { return s.bodies.reading.Load() == conns })
	if grown := heap() - before; grown > conns*100<<10 {
		t.Errorf("%d bodies of which 10 kB have arrived take %d kB each", conns, grown/conns/1000)
	}
}

// TestLargeBodies: all large bodies together have a bound, and small ones go
// through meanwhile.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s, addr := start(t, Config{})
	s.bodies.large.Add(largeBodies)
	c := dial(t, addr)
	c.send(post(sdkPath, strings.Repeat(" ", 100_000)))
	if resp, body := c.reply("POST"); resp.StatusCode != 503 || body != errorBody(503, "too many large requests are arriving") {
		t.Errorf("%s %s", resp.Status, body)
	}
	c = dial(t, addr)
	c.send(goodPost)
	if resp, body := c.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("%s %s", resp.Status, body)
	}
	s.bodies.large.Add(-largeBodies)
	for _, size := range []int{prefetched - 1, prefetched, prefetched + 1, 100_000, 1 << 20} {
		c.send(post(sdkPath, `{"message":"`+warpHex+`"}`+strings.Repeat(" ", size-len(warpHex)-14)))
		if resp, body := c.reply("POST"); resp.StatusCode != 201 {
			t.Errorf("%d bytes: %s %s", size, resp.Status, body)
		}
	}
	eventually(t, "all memory is given back", func() bool { return s.bodies.large.Load() == 0 })
}

// TestTransactionCost: each further message of a transaction costs what one costs.
func TestTransactionCost(t *testing.T) {
	t.Parallel()
	c, hash := ownSample(), sampleTx(50)
	c.grow(warpTx(hash, []byte("a"), []byte("b"), []byte("c")))
	asks := fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		req.Asked = 1 // of a small set
		return &aggregator.Result{Signed: []byte("signed")}, nil
	})
	s := dataServer(t, Config{Networks: networks{asks}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 100})}, c)
	path := "/v1/signatureAggregator/fuji/aggregateSignatures/" + hash.String()
	if resp := get(s, path); resp.StatusCode() != 201 { // leaves 40 of 100 units
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
	if resp := get(s, path); resp.StatusCode() != 429 || len(resp.Header.Peek("Retry-After")) == 0 { // 20 and 40 are not there
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}
