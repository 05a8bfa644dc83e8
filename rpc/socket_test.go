package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/source"
)

// socketNode is a node whose WebSocket answers each call with answer.
type socketNode struct {
	forwardFunc
	at   source.Endpoint
	sent chan string
	swap atomic.Pointer[time.Time] // nil: never
}

func (n *socketNode) Swap(chain.ID) (at time.Time) {
	if swap := n.swap.Load(); swap != nil {
		at = *swap
	}
	return at
}

func (n *socketNode) Dial(ctx context.Context, _ chain.ID, path string) (*websocket.Conn, error) {
	return source.DialWebSocket(ctx, n.at.At(path))
}

func newSocketNode(t *testing.T, answer func(conn *websocket.Conn, id json.RawMessage, method, params string) string) *socketNode {
	t.Helper()
	n := &socketNode{forwardFunc: echo, sent: make(chan string, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow() //nolint:errcheck // it is at its end
		for {
			_, body, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			n.sent <- string(body)
			var call struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if json.Unmarshal(body, &call) != nil {
				continue // a batch
			}
			if text := answer(conn, call.ID, call.Method, string(call.Params)); text != "" {
				if conn.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	at, err := source.ParseEndpoint(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	n.at = at
	return n
}

// plainAnswer answers as a node does.
func plainAnswer(_ *websocket.Conn, id json.RawMessage, method, params string) string {
	switch {
	case method == "eth_unsubscribe":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%t}`, id, params == `["0x1"]`)
	case method == "eth_subscribe" && strings.Contains(params, "bad"):
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"bad"}}`, id)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"0x1"}`, id)
}

// socketServer serves s on a port, charging by charge.
func socketServer(t *testing.T, node Forwarder, mode Mode, charge Charge) (s *Service, url string) {
	t.Helper()
	cfg := fullConfig(t)
	cfg.Forward, cfg.ChainRPC = node, mode
	s = New(cfg)
	if charge == nil {
		charge = free
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { s.Serve(ctx, charge) }, ReadTimeout: time.Minute}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := s.StopSockets(context.Background()); err != nil {
			t.Error(err)
		}
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return s, "ws://" + ln.Addr().String() + "/ext/bc/C/ws"
}

// free charges nothing.
func free(int) (time.Duration, bool) { return 0, true }

func dialSocket(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, nil) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// ask sends a message and returns the next that comes.
func ask(t *testing.T, conn *websocket.Conn, body string) string {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(body)); err != nil {
		t.Fatal(err)
	}
	_, got, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(got))
}

func callText(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func TestSocketCalls(t *testing.T) {
	t.Parallel()
	node := newSocketNode(t, plainAnswer)
	_, url := socketServer(t, node, Safe, nil)
	conn := dialSocket(t, url)
	for _, c := range []struct{ body, want, sent string }{
		{callText(`"a"`, "eth_chainId", "[]"), `"id":"a","result":"0x1"`, callText(`"a"`, "eth_chainId", "[]")},
		{callText("1", "debug_x", "[]"), `"code":-32601`, ""},
		{callText("1", "eth_chainId", "[]") + "x", `"code":-32700`, ""},
		{`[` + callText("1", "debug_x", "[]") + `]`, `[{"jsonrpc":"2.0","error":{"code":-32601`, ""},
		{`[` + callText("1", "eth_subscribe", `["newHeads"]`) + `]`, "a message of its own", ""},
		{callText("1", "eth_subscribe", `["newPendingTransactions"]`), "not available", ""},
		{callText("1", "eth_subscribe", `{"x":1}`), "not available", ""},
		{callText("1", "debug_subscribe", `["x"]`), "not available", ""},
	} {
		if got := ask(t, conn, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.body, got)
		}
		if c.sent != "" {
			if got := <-node.sent; got != c.sent {
				t.Errorf("sent %s", got)
			}
		}
	}
	if len(node.sent) != 0 {
		t.Errorf("sent %s", <-node.sent)
	}
}

// At most so many subscriptions are open at a time, whatever IDs the client uses;
// their answers have the client's IDs.
func TestSocketSubscriptions(t *testing.T) {
	t.Parallel()
	_, url := socketServer(t, newSocketNode(t, plainAnswer), Safe, nil)
	conn := dialSocket(t, url)
	subscribe := callText(`{"my":[1]}`, "eth_subscribe", `["logs",{}]`)
	unsubscribe := callText("7", "eth_unsubscribe", `["0x1"]`)
	const made = `{"jsonrpc":"2.0","id":{"my":[1]},"result":"0x1"}`
	for range maxSubscriptions {
		if got := ask(t, conn, subscribe); got != made {
			t.Fatalf("got %s", got)
		}
	}
	full := func() {
		t.Helper()
		if got := ask(t, conn, subscribe); !strings.Contains(got, "more than 16 subscriptions") {
			t.Errorf("got %s", got)
		}
	}
	full()
	// Ending what is not there makes no room.
	if got := ask(t, conn, callText("7", "eth_unsubscribe", `["0x9"]`)); got != `{"jsonrpc":"2.0","id":7,"result":false}` {
		t.Errorf("got %s", got)
	}
	full()
	if got := ask(t, conn, unsubscribe); got != `{"jsonrpc":"2.0","id":7,"result":true}` {
		t.Errorf("got %s", got)
	}
	// One that the node refuses takes none.
	for range 2 {
		if got := ask(t, conn, callText("8", "eth_subscribe", `["logs","bad"]`)); got != `{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"bad"}}` {
			t.Errorf("got %s", got)
		}
	}
	if got := ask(t, conn, subscribe); got != made {
		t.Errorf("got %s", got)
	}
	full()
}

// What a client does wrong ends its socket in the documented way.
func TestSocketViolations(t *testing.T) {
	t.Parallel()
	_, url := socketServer(t, newSocketNode(t, plainAnswer), Safe, nil)
	for _, c := range []struct {
		kind websocket.MessageType
		size int
		want websocket.StatusCode
	}{
		{websocket.MessageBinary, 2, websocket.StatusUnsupportedData},
		{websocket.MessageText, maxFrame + 1, websocket.StatusMessageTooBig},
	} {
		conn := dialSocket(t, url)
		if err := conn.Write(t.Context(), c.kind, bytes.Repeat([]byte{' '}, c.size)); err != nil {
			t.Error(err)
		}
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != c.want {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

// All that a client sends costs it units: calls, bytes, and frames that control the
// connection. One that is over its rate is told when to come back, and is not read from.
func TestSocketIsCharged(t *testing.T) {
	t.Parallel()
	call := callText("1", "eth_call", "[]") // of 60 units
	ping := func(conn *websocket.Conn) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, _, err := conn.Read(ctx)
			ended <- err
		}()
		for range 1000 {
			if conn.Ping(ctx) != nil {
				break
			}
		}
		return <-ended
	}
	send := func(bodies ...string) func(conn *websocket.Conn) error {
		return func(conn *websocket.Conn) error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for _, body := range bodies {
				if err := conn.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
					return err
				}
				if _, _, err := conn.Read(ctx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		wait   time.Duration
		use    func(conn *websocket.Conn) error
		left   int
		reason string
	}{
		"calls within the rate": {time.Second, send(call, callText("1", "eth_chainId", "[]")), 35, ""},
		"calls":                 {1500 * time.Millisecond, send(call, call), 39, "too many requests: try again in 3s"},
		"a batch":               {time.Second, send("[" + call + "," + call + "]"), 99, "too many requests"},
		"more than ever":        {0, send("[" + call + "," + call + "]"), 99, "a message of 119 compute units costs more than can be used at once"},
		"refused calls":         {time.Second, send(slices.Repeat([]string{callText("1", "debug_x", "[]")}, 101)...), 0, "too many requests"},
		"no JSON":               {time.Second, send("x"), 99, "too many requests"},
		"bytes":                 {time.Second, send(callText("1", "debug_x", `["`+strings.Repeat("x", 200<<10)+`"]`)), 100, "too many requests"},
		"some bytes":            {time.Second, send(callText("1", "debug_x", `["`+strings.Repeat("x", 100<<10)+`"]`)), 49, ""},
		"pings":                 {time.Second, ping, 0, "too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			units := 100
			_, url := socketServer(t, newSocketNode(t, plainAnswer), Safe, func(n int) (time.Duration, bool) {
				mu.Lock()
				defer mu.Unlock()
				if n > units {
					return c.wait, false
				}
				units -= n
				return 0, true
			})
			conn := dialSocket(t, url)
			conn.SetReadLimit(1 << 20)
			err := c.use(conn)
			switch closed, ok := errors.AsType[websocket.CloseError](err); {
			case c.reason == "" && err != nil:
				t.Error(err)
			case c.reason != "" && (!ok || closed.Code != websocket.StatusPolicyViolation || !strings.Contains(closed.Reason, c.reason)):
				t.Errorf("ended with %v, want %q", err, c.reason)
			}
			mu.Lock()
			defer mu.Unlock()
			if units != c.left {
				t.Errorf("%d units are left, want %d", units, c.left)
			}
		})
	}
}

func TestSocketEnds(t *testing.T) {
	t.Parallel()
	node := newSocketNode(t, func(conn *websocket.Conn, _ json.RawMessage, method, _ string) string {
		if method == "eth_blockNumber" {
			_ = conn.CloseNow()
		}
		return ""
	})
	s, url := socketServer(t, node, Safe, nil)
	conn := dialSocket(t, url)
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(callText("1", "eth_blockNumber", "[]"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the node went: %v", err)
	}
	conn = dialSocket(t, url)
	stopped := make(chan error, 1)
	go func() { stopped <- s.StopSockets(t.Context()) }()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the stop: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	_, resp, err := websocket.Dial(t.Context(), url, nil) //nolint:bodyclose // the library closes it
	if err == nil || resp == nil || resp.StatusCode != 503 {
		t.Errorf("after the stop: %v", err)
	}
}

// Nodes that replace a chain's API hold up all requests as long as a WebSocket is open: those
// of clients are closed before, and none is opened until then.
func TestSocketSwap(t *testing.T) {
	t.Parallel()
	node := newSocketNode(t, plainAnswer)
	_, url := socketServer(t, node, Safe, nil)
	swap := time.Now().Add(swapLead + 300*time.Millisecond)
	node.swap.Store(&swap)
	conn := dialSocket(t, url)
	if got := ask(t, conn, callText("1", "eth_chainId", "[]")); !strings.Contains(got, "result") {
		t.Error(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), swapLead)
	defer cancel()
	_, _, err := conn.Read(ctx)
	if websocket.CloseStatus(err) != websocket.StatusServiceRestart || !strings.Contains(err.Error(), errSwap.Error()) || time.Until(swap) > swapLead {
		t.Errorf("%s before the swap: %v", time.Until(swap), err)
	}
	_, resp, err := websocket.Dial(t.Context(), url, nil) //nolint:bodyclose // the library closes it
	if err == nil || resp == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "15" {
		t.Errorf("before the swap: %v", err)
	}
	for _, at := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
		node.swap.Store(&at)
		if got := ask(t, dialSocket(t, url), callText("1", "eth_chainId", "[]")); !strings.Contains(got, "result") {
			t.Error(got)
		}
	}
}

func TestTooManySockets(t *testing.T) {
	t.Parallel()
	s, url := socketServer(t, newSocketNode(t, plainAnswer), Safe, nil)
	s.sockets.mu.Lock()
	s.sockets.open += maxSockets
	s.sockets.mu.Unlock()
	_, resp, err := websocket.Dial(t.Context(), url, nil) //nolint:bodyclose // the library closes it
	if err == nil || resp == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("got %v", err)
	}
	s.sockets.mu.Lock()
	s.sockets.open -= maxSockets
	s.sockets.mu.Unlock()
	if got := ask(t, dialSocket(t, url), callText("1", "eth_chainId", "[]")); !strings.Contains(got, "result") {
		t.Error(got)
	}
}

// pipeSocket returns the server's end of a WebSocket, and the raw other end, behind
// the handshake.
func pipeSocket(t *testing.T) (*websocket.Conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		r.Header.Set(name, value)
	}
	read := make(chan error, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReaderSize(theirs, 16), nil)
		if err == nil {
			_ = resp.Body.Close()
		}
		read <- err
	}()
	conn, err := acceptSocket(ours, r, newMeter(free))
	if err == nil {
		err = <-read
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn, theirs
}

// A side that answers no ping, and a client that takes no message, are let go of.
func TestSocketDeadlines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clientReads, nodeReads bool
		most                   time.Duration
	}{
		"silent client": {true, false, pingEvery + pongTimeout + 10*time.Second},
		"stuck client":  {false, true, pingEvery + pongTimeout + 10*time.Second},
		"silent node":   {true, true, pingEvery + pongTimeout + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, clientEnd := pipeSocket(t)
				node, nodeEnd := pipeSocket(t)
				if c.clientReads {
					go func() { _, _ = io.Copy(io.Discard, clientEnd) }() // and never answers
				}
				if c.nodeReads {
					go func() { _, _ = io.Copy(io.Discard, nodeEnd) }()
				}
				s := New(Config{Forward: forwardFunc(echo)})
				started := time.Now()
				newSession(s, client, node, endpoint{kind: chainSocket, sub: socketDoor}, newMeter(free)).run()
				if took := time.Since(started); took > c.most {
					t.Errorf("it took %s", took)
				}
				_, _ = clientEnd.Close(), nodeEnd.Close()
				s.Close()
			})
		})
	}
}

// A page may open a WebSocket where it may read answers, and nowhere else.
func TestSocketOrigin(t *testing.T) {
	t.Parallel()
	ctx := request("GET", "/ext/bc/C/ws", "", "Origin", "https://page.example", "Host", "localhost")
	if mayConnect(ctx) {
		t.Error("a page that may not read answers")
	}
	ctx.Response.Header.Set("Access-Control-Allow-Origin", "*")
	if !mayConnect(ctx) || !mayConnect(request("GET", "/ext/bc/C/ws", "", "Origin", "http://localhost", "Host", "localhost")) {
		t.Error("a page that may read answers, or is ours")
	}
	s, _ := withMode(t, Safe)
	if resp := do(s, "GET", "/ext/bc/C/ws", "", "Origin", "https://page.example", "Sec-WebSocket-Key", "x"); resp.StatusCode() != 403 {
		t.Errorf("status %d", resp.StatusCode())
	}
}
