package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quorate/engine/metric"
)

// fakeNode answers each call with what answer gives for its id.
type fakeNode struct {
	*httptest.Server
	calls atomic.Int64
	last  atomic.Pointer[request]
}

func newFakeNode(t *testing.T, answer func(w http.ResponseWriter, id uint64)) *fakeNode {
	t.Helper()
	n := &fakeNode{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.calls.Add(1)
		var req request
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "not a JSON request", http.StatusBadRequest)
			return
		}
		n.last.Store(&req)
		answer(w, req.ID)
	}))
	t.Cleanup(n.Close)
	return n
}

func result(body string) func(http.ResponseWriter, uint64) {
	return func(w http.ResponseWriter, id uint64) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","result":%s,"id":%d}`, body, id)
	}
}

func newTestClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// at returns the nodes at urls.
func at(t *testing.T, urls ...string) []Endpoint {
	t.Helper()
	nodes, err := ParseEndpoints(urls...)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// deadAddress is a URL where nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestCall(t *testing.T) {
	t.Parallel()
	n := newFakeNode(t, result(`{"height":"7"}`))
	c := newTestClient(t, Config{Nodes: at(t, n.URL+"/base/")})
	var got struct{ Height string }
	if err := c.Call(t.Context(), "/ext/P", "platform.getHeight", map[string]string{"a": "b"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Height != "7" {
		t.Errorf("got %+v", got)
	}
	if req := n.last.Load(); req.Method != "platform.getHeight" || req.Version != "2.0" || fmt.Sprint(req.Params) != "map[a:b]" {
		t.Errorf("request: %+v", req)
	}
	if err := c.Call(t.Context(), "/ext/P", "platform.getHeight", nil, nil); err != nil {
		t.Error(err)
	}
	if req := n.last.Load(); fmt.Sprint(req.Params) != "map[]" {
		t.Errorf("parameters left out: %+v", req)
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	text := func(status int, body string) func(http.ResponseWriter, uint64) {
		return func(w http.ResponseWriter, _ uint64) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, uint64)
		want   error
	}{
		"starting":        {text(503, "API call rejected because chain is not done bootstrapping"), ErrUnreachable},
		"limited":         {text(429, `{"error":{"code":1,"message":"slow down"},"id":1}`), ErrUnreachable},
		"failed":          {text(500, "oops"), ErrUnreachable},
		"no such path":    {text(404, "404 page not found"), ErrBadAnswer},
		"redirect":        {text(302, ""), ErrBadAnswer},
		"empty":           {text(200, ""), ErrBadAnswer},
		"not JSON":        {text(200, "<html>"), ErrBadAnswer},
		"an array":        {text(200, "[]"), ErrBadAnswer},
		"cut":             {text(200, `{"jsonrpc":"2.0","result":{"height"`), ErrBadAnswer},
		"id of another":   {text(200, `{"jsonrpc":"2.0","result":{},"id":999}`), ErrBadAnswer},
		"no id":           {text(200, `{"jsonrpc":"2.0","result":{}}`), ErrBadAnswer},
		"no result":       {func(w http.ResponseWriter, id uint64) { fmt.Fprintf(w, `{"id":%d}`, id) }, ErrBadAnswer},
		"null result":     {result("null"), ErrBadAnswer},
		"other type":      {result(`{"height":[1]}`), ErrBadAnswer},
		"result a string": {result(`"x"`), ErrBadAnswer},
		"too long":        {result(`"` + strings.Repeat("x", 5000) + `"`), ErrBadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newFakeNode(t, c.answer)
			client := newTestClient(t, Config{Nodes: at(t, n.URL), MaxBody: 4096})
			var got struct{ Height string }
			err := client.Call(t.Context(), "/ext/P", "platform.getHeight", nil, &got)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "platform.getHeight: node http://127.0.0.1:") {
				t.Errorf("error does not say what failed where: %v", err)
			}
		})
	}
}

func TestRPCErrorIsAnAnswer(t *testing.T) {
	t.Parallel()
	first := newFakeNode(t, func(w http.ResponseWriter, id uint64) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"not found","data":null},"id":%d}`, id)
	})
	second := newFakeNode(t, result("{}"))
	c := newTestClient(t, Config{Nodes: at(t, first.URL, second.URL)})
	err := c.Call(t.Context(), "/ext/P", "platform.getSubnet", nil, nil)
	var rpc *RPCError
	if !errors.As(err, &rpc) || rpc.Code != -32000 || rpc.Message != "not found" {
		t.Fatalf("got %v", err)
	}
	if second.calls.Load() != 0 {
		t.Error("the second node was asked although the first has answered")
	}
}

// TestLacksPath: a node that does not have a path, as one that follows the P-Chain alone or
// has not begun with a chain yet, is as good as before
// for all others.
func TestLacksPath(t *testing.T) {
	t.Parallel()
	first := newFakeNode(t, result(`"first"`))
	all := first.Config.Handler
	first.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ext/bc/X" {
			http.NotFound(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
	c := newTestClient(t, Config{Nodes: at(t, first.URL, newFakeNode(t, result(`"second"`)).URL), Pause: time.Hour})
	for _, q := range []struct{ path, want string }{{"/ext/bc/X", "second"}, {"/ext/bc/P", "first"}} {
		var got string
		if err := c.Call(t.Context(), q.path, "a.b", nil, &got); err != nil || got != q.want {
			t.Errorf("%s: %q, %v, want %q", q.path, got, err, q.want)
		}
	}
	if (*c.nodes.Load())[0].paused(time.Now()) {
		t.Error("the node is asked last for all")
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	first := newFakeNode(t, func(w http.ResponseWriter, id uint64) {
		if broken.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		result(`"first"`)(w, id)
	})
	second := newFakeNode(t, result(`"second"`))
	c := newTestClient(t, Config{Nodes: at(t, deadAddress(t), first.URL, second.URL), Pause: time.Hour})
	ask := func(want string) {
		t.Helper()
		var got string
		if err := c.Call(t.Context(), "/ext/info", "info.x", nil, &got); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	ask("second")
	ask("second")
	if n := first.calls.Load(); n != 1 {
		t.Errorf("a node that is down was asked %d times", n)
	}
	// With the second gone, the paused ones are tried rather than none.
	second.Close()
	broken.Store(false)
	ask("first")
	// The one that answered is the first choice again.
	ask("first")
	if metric.Value(c.failovers) == 0 || metric.Value(c.failures) == 0 {
		t.Error("failures are not counted")
	}
}

// A node that takes connections but does not answer must leave time for the next.
func TestHangingNode(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := newFakeNode(t, func(http.ResponseWriter, uint64) { <-release })
	answers := newFakeNode(t, result(`"second"`))
	t.Cleanup(func() { close(release) })
	c := newTestClient(t, Config{Nodes: at(t, hangs.URL, answers.URL), Pause: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		var got string
		if err := c.Call(ctx, "/", "x", nil, &got); err != nil || got != "second" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if n := hangs.calls.Load(); n != 1 {
		t.Errorf("a node that hangs was asked %d times", n)
	}
}

func TestNoNode(t *testing.T) {
	t.Parallel()
	c := newTestClient(t, Config{Nodes: at(t, deadAddress(t), deadAddress(t))})
	if err := c.Call(t.Context(), "/ext/info", "info.x", nil, nil); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// A node closes pooled connections when it likes: that is no failure.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	n := newFakeNode(t, result(`1`))
	c := newTestClient(t, Config{Nodes: at(t, n.URL)})
	for range 3 {
		if err := c.Call(t.Context(), "/", "x", nil, nil); err != nil {
			t.Fatal(err)
		}
		n.CloseClientConnections()
	}
	if metric.Value(c.failures) != 0 {
		t.Error("a stale connection counts as a failure of the node")
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	n := newFakeNode(t, func(w http.ResponseWriter, id uint64) {
		arrived <- struct{}{}
		<-release
		result("1")(w, id)
	})
	other := newFakeNode(t, result("1"))
	c := newTestClient(t, Config{Nodes: at(t, n.URL, other.URL)})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("caller has gone")
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, "/", "x", nil, nil) }()
	<-arrived
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	close(release)
	if other.calls.Load() != 0 {
		t.Error("a call that was given up went on to the next node")
	}
	if err := c.Call(ctx, "/", "x", nil, nil); !errors.Is(err, why) {
		t.Errorf("after the end: got %v", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	n := newFakeNode(t, func(http.ResponseWriter, uint64) { <-release })
	t.Cleanup(func() { close(release) })
	c := newTestClient(t, Config{Nodes: at(t, n.URL), Timeout: 20 * time.Millisecond})
	if err := c.Call(t.Context(), "/", "x", nil, nil); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	n := newFakeNode(t, result("1"))
	c := newTestClient(t, Config{Nodes: at(t, n.URL)})
	c.Close()
	c.Close()
	if err := c.Call(t.Context(), "/", "x", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if n.calls.Load() != 0 {
		t.Error("a closed client asked")
	}
}

// TestCloseTarpit: a node that accepts and says nothing, or never comes to an
// end, does not hold up the end of a client.
func TestCloseTarpit(t *testing.T) {
	t.Parallel()
	for _, trickle := range []bool{false, true} {
		asked := make(chan struct{})
		n := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the end of the client is noticed
			close(asked)
			for trickle {
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
			<-r.Context().Done()
		}))
		t.Cleanup(n.Close)
		c := newTestClient(t, Config{Nodes: at(t, n.URL), Timeout: time.Hour, MaxBody: 1 << 30})
		failed := make(chan error, 1)
		go func() { failed <- c.Call(t.Context(), "/", "x", nil, nil) }()
		<-asked
		c.Close() // hangs for an hour without the cut
		if err := <-failed; err == nil {
			t.Error("a call without an answer succeeded")
		}
	}
}

func TestSetNodes(t *testing.T) {
	t.Parallel()
	first, second := newFakeNode(t, result("1")), newFakeNode(t, result("2"))
	c := newTestClient(t, Config{Nodes: at(t, first.URL)})
	ask := func() (n int) {
		t.Helper()
		if err := c.Call(t.Context(), "/", "x", nil, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	if n := ask(); n != 1 {
		t.Errorf("asked node %d", n)
	}
	kept := (*c.nodes.Load())[0]
	c.SetNodes(at(t, second.URL, first.URL))
	if n := ask(); n != 2 || (*c.nodes.Load())[1] != kept {
		t.Errorf("asked node %d, the first one kept: %v", n, (*c.nodes.Load())[1] == kept)
	}
	c.SetNodes(at(t, first.URL))
	if n := ask(); n != 1 {
		t.Errorf("asked node %d", n)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{},
		{Nodes: []Endpoint{{}}},
		{Nodes: at(t, "http://127.0.0.1"), Timeout: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add(200, []byte(`{"jsonrpc":"2.0","result":{"height":"7"},"id":1}`))
	f.Add(200, []byte(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"not found","data":null},"id":1}`))
	f.Add(503, []byte("API call rejected because chain is not done bootstrapping"))
	f.Add(200, []byte(`{"result":{"a":[[[[{"b":null}]]]]},"id":1}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		var got struct{ Height string }
		err := decodeAnswer(reply{status: status, body: body}, 1, &got)
		var rpc *RPCError
		if err != nil && !errors.Is(err, ErrBadAnswer) && !errors.Is(err, ErrUnreachable) && !errors.As(err, &rpc) {
			t.Fatalf("error of no class: %v", err)
		}
		if err != nil && len(err.Error()) > 2*maxErrorText {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
		if err == nil && status != 200 {
			t.Fatalf("status %d is accepted", status)
		}
	})
}
