package source

import (
	"bytes"
	"context"
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

	"github.com/coder/websocket"

	"quorate/engine/metric"
)

// rawNode passes what it is sent to handle, and counts requests and connections.
type rawNode struct {
	*httptest.Server
	requests, conns atomic.Int64
}

func newRawNode(t *testing.T, handle func(w http.ResponseWriter, body string)) *rawNode {
	t.Helper()
	n := &rawNode{}
	n.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "not a JSON request", http.StatusBadRequest)
			return
		}
		handle(w, string(body))
	}))
	n.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			n.conns.Add(1)
		}
	}
	n.Start()
	t.Cleanup(n.Close)
	return n
}

// forwarded is what Forward gives, to compare.
func forwarded(ctx context.Context, c *Client, path, body string, limit int) (string, error) {
	a, err := c.Forward(ctx, path, []byte(body), limit)
	return fmt.Sprintf("%d %s %s", a.Status, a.ContentType, a.Body), err
}

// Whatever the node answers is the answer, and the next node is not asked.
func TestForwardRelays(t *testing.T) {
	t.Parallel()
	n := newRawNode(t, func(w http.ResponseWriter, body string) {
		var status int
		var rest string
		if _, err := fmt.Sscanf(body, "%d %s", &status, &rest); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/"+rest)
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = io.WriteString(w, "got "+body)
		}
	})
	other := newRawNode(t, func(http.ResponseWriter, string) {})
	c := newTestClient(t, Config{Nodes: at(t, n.URL, other.URL)})
	for _, status := range []int{200, 400, 405, 413, 415, 500, 502} {
		want := fmt.Sprintf("%d text/a%d got %d a%d", status, status, status, status)
		got, err := forwarded(t.Context(), c, "/ext/bc/C/rpc", fmt.Sprintf("%d a%d", status, status), 0)
		if err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := forwarded(t.Context(), c, "/", "204 x", 0); err != nil || !strings.HasPrefix(got, "204 ") {
		t.Errorf("without a body: %q, %v", got, err)
	}
	if n.conns.Load() != 1 || other.requests.Load() != 0 {
		t.Errorf("%d connections, %d requests to the second node", n.conns.Load(), other.requests.Load())
	}
	if metric.Value(c.forwards) != 8 || metric.Value(c.failures) != 0 {
		t.Errorf("counted %v forwards, %v failures", metric.Value(c.forwards), metric.Value(c.failures))
	}
}

func TestForwardBodies(t *testing.T) {
	t.Parallel()
	n := newRawNode(t, func(w http.ResponseWriter, body string) { _, _ = io.WriteString(w, body) })
	c := newTestClient(t, Config{Nodes: at(t, n.URL)})
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20, 5 << 20} {
		body := bytes.Repeat([]byte{'x'}, size)
		a, err := c.Forward(t.Context(), "/", body, 0)
		got := a.Body
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	if n.conns.Load() != 1 {
		t.Errorf("%d connections", n.conns.Load())
	}
}

// The next node is tried if and only if nothing reached the first.
func TestForwardFailover(t *testing.T) {
	t.Parallel()
	n := newRawNode(t, func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "second") })
	c := newTestClient(t, Config{Nodes: at(t, deadAddress(t), n.URL), Pause: time.Hour})
	for range 2 {
		if got, err := forwarded(t.Context(), c, "/", "{}", 0); err != nil || !strings.HasSuffix(got, " second") {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if got := metric.Value(c.failovers); got != 1 {
		t.Errorf("%v failovers: the dead node was not passed over", got)
	}
	none := newTestClient(t, Config{Nodes: at(t, deadAddress(t), deadAddress(t))})
	if _, err := forwarded(t.Context(), none, "/", "{}", 0); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrMaybeDone) {
		t.Errorf("got %v", err)
	}
}

// A node that took the request and then failed may have done it: nobody else is asked.
func TestForwardOnce(t *testing.T) {
	t.Parallel()
	part := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "abc")
		_ = http.NewResponseController(w).Flush()
	}
	for name, handle := range map[string]func(w http.ResponseWriter, release chan struct{}){
		"hangs":  func(_ http.ResponseWriter, release chan struct{}) { <-release },
		"closes": func(http.ResponseWriter, chan struct{}) { panic(http.ErrAbortHandler) },
		"cuts the body": func(w http.ResponseWriter, _ chan struct{}) {
			part(w)
			panic(http.ErrAbortHandler)
		},
		"hangs in the body": func(w http.ResponseWriter, release chan struct{}) {
			part(w)
			<-release
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			n := newRawNode(t, func(w http.ResponseWriter, _ string) { handle(w, release) })
			t.Cleanup(func() { close(release) })
			other := newRawNode(t, func(http.ResponseWriter, string) {})
			c := newTestClient(t, Config{Nodes: at(t, n.URL, other.URL), Timeout: 200 * time.Millisecond})
			_, err := forwarded(t.Context(), c, "/", "{}", 0)
			if !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrMaybeDone) {
				t.Errorf("got %v", err)
			}
			if n.requests.Load() != 1 || other.requests.Load() != 0 {
				t.Errorf("sent %d times to the first node, %d to the second", n.requests.Load(), other.requests.Load())
			}
			if (*c.nodes.Load())[0].paused(time.Now()) {
				t.Error("a request's fault counts against the node")
			}
		})
	}
}

func TestForwardLimit(t *testing.T) {
	t.Parallel()
	n := newRawNode(t, func(w http.ResponseWriter, body string) {
		if body == "chunked" {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	})
	c := newTestClient(t, Config{Nodes: at(t, n.URL), MaxBody: 2000})
	for _, body := range []string{"sized", "chunked"} {
		for _, tc := range []struct {
			limit int
			ok    bool
		}{{999, false}, {1000, true}, {1 << 40, true}, {0, true}} {
			a, err := c.Forward(t.Context(), "/", []byte(body), tc.limit)
			got := a.Body
			if tc.ok && (err != nil || len(got) != 1000) || !tc.ok && !errors.Is(err, ErrBadAnswer) {
				t.Errorf("%s, limit %d: got %d bytes, %v", body, tc.limit, len(got), err)
			}
		}
	}
	small := newTestClient(t, Config{Nodes: at(t, n.URL), MaxBody: 500})
	if _, err := forwarded(t.Context(), small, "/", "chunked", 1000); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("above MaxBody: %v", err)
	}
}

// The end of the caller takes effect at once; Close waits for what is under way.
func TestForwardEnds(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	n := newRawNode(t, func(w http.ResponseWriter, body string) {
		arrived <- struct{}{}
		<-release
	})
	c := newTestClient(t, Config{Nodes: at(t, n.URL), MaxConns: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("caller has gone")
	errs := make(chan error, 1)
	body := []byte("first")
	go func() {
		_, err := c.Forward(ctx, "/", body, 0)
		errs <- err
	}()
	<-arrived
	// Half of the two connections is taken: the next waits, and gives up.
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	if _, err := forwarded(ended, c, "/", "second", 0); !errors.Is(err, why) || errors.Is(err, ErrMaybeDone) {
		t.Errorf("in front of the bound: %v", err)
	}
	cancel(why)
	if err := <-errs; !errors.Is(err, why) || !errors.Is(err, ErrMaybeDone) {
		t.Errorf("got %v, want the cause", err)
	}
	copy(body, "other") // the caller's again

	c.Close() // ends what the node has not answered
	close(release)
	if _, err := forwarded(t.Context(), c, "/", "third", 0); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if len(c.forwarding) != 0 || n.requests.Load() != 1 {
		t.Errorf("%d tokens held, %d requests", len(c.forwarding), n.requests.Load())
	}
}

// The time is that of the context, also above Config.Timeout.
func TestForwardDeadline(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	n := newRawNode(t, func(w http.ResponseWriter, body string) {
		<-release
		_, _ = io.WriteString(w, "late")
	})
	c := newTestClient(t, Config{Nodes: at(t, n.URL), Timeout: 10 * time.Millisecond})
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := forwarded(short, c, "/", "{}", 0); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if _, err := forwarded(t.Context(), c, "/", "{}", 0); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	long, cancelLong := context.WithTimeout(t.Context(), time.Minute)
	defer cancelLong()
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	if got, err := forwarded(long, c, "/", "{}", 0); err != nil || !strings.HasSuffix(got, "late") {
		t.Errorf("got %q, %v", got, err)
	}
}

// A node that does not take a request has not answered it: the next one is asked,
// and a node that lacks a path is not asked first for it again.
func TestForwardRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308, 401, 402, 403, 404, 407, 429, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			refuses := newRawNode(t, func(w http.ResponseWriter, _ string) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(status)
			})
			answers := newRawNode(t, func(w http.ResponseWriter, body string) { _, _ = io.WriteString(w, "got "+body) })
			c := newTestClient(t, Config{Nodes: at(t, refuses.URL, answers.URL)})
			for range 3 {
				if got, err := forwarded(t.Context(), c, "/ext/bc/x/rpc", "{}", 0); err != nil || !strings.HasSuffix(got, " got {}") {
					t.Errorf("got %q, %v", got, err)
				}
			}
			want := int64(3)
			if status == http.StatusNotFound {
				want = 1
			}
			if n := refuses.requests.Load(); n != want || answers.requests.Load() != 3 {
				t.Errorf("asked %d times, want %d; the other %d", n, want, answers.requests.Load())
			}
			if _, err := forwarded(t.Context(), c, "/ext/bc/y/rpc", "{}", 0); err != nil || refuses.requests.Load() != want+1 {
				t.Errorf("another path: %v, asked %d times", err, refuses.requests.Load())
			}
			alone := newTestClient(t, Config{Nodes: at(t, refuses.URL)})
			_, err := forwarded(t.Context(), alone, "/", "{}", 0)
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Status != status || errors.Is(err, ErrMaybeDone) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// That a node lacks a path says less than that another cannot be asked.
func TestForwardGraver(t *testing.T) {
	t.Parallel()
	lacks := newRawNode(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusNotFound) })
	busy := newRawNode(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusServiceUnavailable) })
	for _, urls := range [][]string{{lacks.URL, busy.URL}, {busy.URL, lacks.URL}} {
		c := newTestClient(t, Config{Nodes: at(t, urls...)})
		_, err := forwarded(t.Context(), c, "/", "{}", 0)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
			t.Errorf("got %v", err)
		}
	}
	for _, urls := range [][]string{{lacks.URL, deadAddress(t)}, {deadAddress(t), lacks.URL}} {
		c := newTestClient(t, Config{Nodes: at(t, urls...)})
		if _, err := forwarded(t.Context(), c, "/", "{}", 0); !errors.Is(err, ErrUnreachable) {
			t.Errorf("got %v", err)
		}
	}
}

// A WebSocket is opened at the first node that has it.
func TestDial(t *testing.T) {
	t.Parallel()
	lacks := newRawNode(t, func(http.ResponseWriter, string) {})
	lacks.Config.Handler = http.NotFoundHandler()
	has := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err == nil {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(r.URL.Path))
			_ = conn.CloseNow()
		}
	}))
	defer has.Close()
	c := newTestClient(t, Config{Nodes: at(t, deadAddress(t), lacks.URL, has.URL)})
	conn, err := c.Dial(t.Context(), "/ext/bc/x/ws")
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); string(got) != "/ext/bc/x/ws" {
		t.Errorf("%q, %v", got, err)
	}
	_ = conn.CloseNow()
	alone := newTestClient(t, Config{Nodes: at(t, lacks.URL)})
	_, err = alone.Dial(t.Context(), "/ext/bc/x/ws")
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("got %v", err)
	}
}
