package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/metric"
	"quorate/engine/source"
)

// socket is the node's WebSocket: serve runs for each subscription.
type socket struct {
	*httptest.Server
	mu    sync.Mutex
	dials int
}

func newSocket(t *testing.T, serve func(ctx context.Context, dial int, conn *websocket.Conn)) *socket {
	s := &socket{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		if _, text, err := conn.Read(r.Context()); err != nil || !strings.Contains(string(text), `"newHeads"`) {
			return
		}
		s.mu.Lock()
		s.dials++
		dial := s.dials
		s.mu.Unlock()
		serve(r.Context(), dial, conn)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *socket) url() string { return "ws" + strings.TrimPrefix(s.URL, "http") }

func say(ctx context.Context, conn *websocket.Conn, format string, args ...any) error {
	return conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...))
}

const (
	agreed = `{"jsonrpc":"2.0","id":1,"result":"0xab"}`
	head   = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%s","result":{"parentHash":"0x1","number":"%#x"}}}`
)

// watch runs Watch until want heights have come and gives them.
func watch(t *testing.T, c *Client, want int) []uint64 {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var got []uint64
	err := c.Watch(ctx, func(n uint64) {
		if got = append(got, n); len(got) == want {
			cancel(enough)
		}
	})
	if !errors.Is(err, enough) {
		t.Errorf("Watch ended with %v", err)
	}
	return got
}

func TestWatchSocket(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	next := make(chan struct{})
	s := newSocket(t, func(ctx context.Context, dial int, conn *websocket.Conn) {
		if say(ctx, conn, agreed) != nil {
			return
		}
		<-next // the present height is known
		_ = say(ctx, conn, head, "0xcd", 99)
		_ = say(ctx, conn, head, "0xab", 3)
		_ = say(ctx, conn, `{"jsonrpc":"2.0","method":"other"}`)
		_ = say(ctx, conn, head, "0xab", 4)
		<-next
		_ = say(ctx, conn, head, "0xab", 2) // goes back: not told
		_ = say(ctx, conn, head, "0xab", 6)
		_, _, _ = conn.Read(ctx) // until the client goes
	})
	c := n.client(t, func(cfg *Config, _ *source.Config) { cfg.WS, cfg.PollInterval = socketAt(t, s.url()), time.Hour })
	ctx, cancel := context.WithCancelCause(t.Context())
	var got []uint64
	_ = c.Watch(ctx, func(number uint64) {
		if got = append(got, number); len(got) == 3 {
			cancel(nil)
			return
		}
		next <- struct{}{}
	})
	if fmt.Sprint(got) != "[3 4 6]" {
		t.Errorf("heights %v", got)
	}
	if metric.Value(c.heads) == 0 {
		t.Error("heads are not counted")
	}
}

// Without a socket, and with one that is of no use, the node is polled.
func TestWatchPolls(t *testing.T) {
	t.Parallel()
	refused := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
		_ = say(ctx, conn, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"notifications not supported"}}`)
	})
	silent := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
		_ = say(ctx, conn, agreed)
		_, _, _ = conn.Read(ctx)
	})
	garbage := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
		_ = say(ctx, conn, agreed)
		_ = say(ctx, conn, `{"params":{"subscription":"0xab","result":{"number":"-1"`)
	})
	huge := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
		_ = say(ctx, conn, agreed)
		_ = say(ctx, conn, "%s", strings.Repeat(" ", 2*maxMessage))
		_, _, _ = conn.Read(ctx)
	})
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	moved := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer moved.Close()
	for name, url := range map[string]string{
		"none": "", "refused": refused.url(), "silent": silent.url(), "garbage": garbage.url(), "huge": huge.url(),
		"no socket": "ws" + strings.TrimPrefix(page.URL, "http"), "moved": "ws" + strings.TrimPrefix(moved.URL, "http"), "dead": "ws://127.0.0.1:1/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var socket source.Endpoint
			if url != "" {
				socket = socketAt(t, url)
			}
			n := newNode(t)
			height := 3
			n.edit = func(q question, r recorded) recorded {
				height++
				r.Result = fmt.Appendf(nil, `"%#x"`, height)
				return r
			}
			c := n.client(t, func(cfg *Config, _ *source.Config) { cfg.WS, cfg.PollInterval = socket, time.Millisecond })
			if got := watch(t, c, 5); fmt.Sprint(got) != "[4 5 6 7 8]" {
				t.Errorf("heights %v", got)
			}
		})
	}
}

// A socket that keeps telling of old heads, or of heads of a node that lags, does not
// hide what other nodes have.
func TestWatchLaggingSocket(t *testing.T) {
	t.Parallel()
	const far = 0x3e8
	for name, next := range map[string]func(last int) int{
		"stands still": func(last int) int { return last },
		"lags":         func(last int) int { return min(last+1, far/2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, other := newNode(t), newNode(t)
			s := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
				ctx = conn.CloseRead(ctx) // pings are answered
				err := say(ctx, conn, agreed)
				for told, height := 0, 3; err == nil; told, height = told+1, next(height) {
					if told >= 20 && other.count("eth_getBlockByNumber") > 0 { // all were asked once
						other.edits(func(_ question, r recorded) recorded {
							r.Result = bytes.Replace(r.Result, []byte(`"number":"0x3"`), fmt.Appendf(nil, `"number":"%#x"`, far), 1)
							return r
						})
					}
					err = say(ctx, conn, head, "0xab", height)
					select {
					case <-time.After(time.Millisecond):
					case <-ctx.Done():
						return
					}
				}
			})
			c := n.client(t, func(cfg *Config, below *source.Config) {
				cfg.WS, cfg.PollInterval = socketAt(t, s.url()), 200*time.Millisecond
				below.Nodes = append(below.Nodes, nodeAt(t, other.URL))
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			highest := uint64(0)
			_ = c.Watch(ctx, func(number uint64) {
				if highest = max(highest, number); highest == far {
					cancel()
				}
			})
			if highest != far {
				t.Errorf("the highest head is %d of %d", highest, far)
			}
		})
	}
}

// A socket that breaks is set up again.
func TestWatchReconnects(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	s := newSocket(t, func(ctx context.Context, dial int, conn *websocket.Conn) {
		_ = say(ctx, conn, agreed)
		_ = say(ctx, conn, head, "0xab", 10+dial)
		if dial > 2 {
			_, _, _ = conn.Read(ctx)
		}
	})
	c := n.client(t, func(cfg *Config, _ *source.Config) { cfg.WS, cfg.PollInterval = socketAt(t, s.url()), time.Hour })
	got := map[uint64]bool{}
	ctx, cancel := context.WithCancelCause(t.Context())
	_ = c.Watch(ctx, func(n uint64) {
		if got[n] = true; n == 13 {
			cancel(nil)
		}
	})
	if !got[13] || s.dials != 3 {
		t.Errorf("heights %v after %d dials", got, s.dials)
	}
}

func TestWatchNodeDown(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	c := n.client(t, func(cfg *Config, _ *source.Config) { cfg.PollInterval = time.Millisecond })
	why := errors.New("enough")
	go func() {
		for metric.Value(c.polls) < 3 {
			<-time.After(time.Millisecond)
		}
		cancel(why)
	}()
	if err := c.Watch(ctx, func(n uint64) { t.Errorf("height %d of no node", n) }); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(agreed))
	f.Add(fmt.Appendf(nil, head, "0xab", 7))
	f.Fuzz(func(t *testing.T, text []byte) {
		if id, err := subscribed(text); (err == nil) == (id == "") {
			t.Errorf("%q, %v", id, err)
		}
		if _, ok, err := newHead(text, "0xab"); ok && err != nil {
			t.Error("a head and an error")
		}
	})
}

// lineLog has the lines of a log.
type lineLog chan string

func (l lineLog) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// Nodes replace a chain's API when an upgrade comes, and hold up all requests as long as a
// WebSocket is open: ours is closed before, and opened again when a block of the new kind
// was seen. Meanwhile the node is polled.
//
// When that will be may be known only later: nodes are told by their operators.
func TestWatchSwap(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]int32{"known": 1, "known late": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watchSwap(t, known)
		})
	}
}

// watchSwap has a client watch a chain whose swap is known from a question on.
func watchSwap(t *testing.T, known int32) {
	n := newNode(t)
	closed, dials := make(chan error, 1), make(chan int, 2)
	s := newSocket(t, func(ctx context.Context, dial int, conn *websocket.Conn) {
		dials <- dial
		if say(ctx, conn, agreed) != nil {
			return
		}
		_, _, err := conn.Read(ctx)
		if dial == 1 {
			closed <- err
		}
	})
	swap := time.Now().Add(swapLead + 200*time.Millisecond)
	log := make(lineLog, 10)
	var asked atomic.Int32
	c := n.client(t, func(cfg *Config, _ *source.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		cfg.WS, cfg.PollInterval = socketAt(t, s.url()), 10*time.Millisecond
		cfg.Swap = func() (at time.Time) {
			if asked.Add(1) >= known {
				at = swap
			}
			return at
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Watch(ctx, func(uint64) {})
	}()
	defer func() {
		cancel()
		<-done
	}()
	if dial := <-dials; dial != 1 {
		t.Fatal(dial)
	}
	<-closed
	if left := time.Until(swap.Add(-swapLead)); left > 0 {
		t.Errorf("closed %s too early", left)
	}
	polled := n.count("eth_blockNumber")
	for n.count("eth_blockNumber") < polled+3 {
		select {
		case dial := <-dials:
			t.Fatalf("dial %d before a block of the new kind", dial)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if line := <-log; !strings.Contains(line, "level=INFO") || !strings.Contains(line, errSwap.Error()) {
		t.Errorf("the log does not say why the node is polled: %s", line)
	}
	c.pool.settles(c.cfg.Node.Nodes()[0])
	if dial := <-dials; dial != 2 {
		t.Fatal(dial)
	}
}
