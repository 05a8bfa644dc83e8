// Package source reads Avalanche nodes: a JSON-RPC 2.0 client over pooled
// connections, for several nodes of one network that stand in for each other.
// Its calls only read, so one may be sent more than once; what others ask
// through [Client.Forward] is sent at most once.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
)

// Config says which nodes to read and within which bounds. Zero values take
// the defaults given with each field.
type Config struct {
	// Nodes are the base addresses of nodes of one network, best first, for
	// example http://127.0.0.1:9650. At least one.
	Nodes []Endpoint
	// MaxBody bounds an answer in bytes. Default 64 MiB.
	MaxBody int
	// Timeout bounds one call to one node. With several nodes each gets at most
	// its share of the time that the context leaves. Default 10 s.
	Timeout time.Duration
	// DialTimeout bounds the set-up of a connection. Default 3 s.
	DialTimeout time.Duration
	// MaxConns bounds connections to each node; further calls wait for one. Default 64.
	MaxConns int
	// None is said of a client without nodes: all its calls fail.
	None bool
	// Pool bounds what the answers of all clients hold that share it; nil: they are not
	// bounded together.
	Pool *Pool
	// Passed is the same for answers to [Client.Forward], which last until a client has
	// taken them.
	Passed *Pool
	// Pause is how long a node that failed is passed over while another one
	// answers; it doubles with each failure in a row up to 32 times. Default 1 s.
	Pause time.Duration

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if len(c.Nodes) == 0 && !c.None || slices.ContainsFunc(c.Nodes, Endpoint.Zero) {
		return errors.New("source: no node URL")
	}
	c.MaxBody = cmp.Or(c.MaxBody, 64<<20)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.DialTimeout = cmp.Or(c.DialTimeout, 3*time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 64)
	c.Pause = cmp.Or(c.Pause, time.Second)
	if c.MaxBody < 0 || c.Timeout < 0 || c.DialTimeout < 0 || c.MaxConns < 0 || c.Pause < 0 {
		return errors.New("source: bounds must not be negative")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// Client calls nodes. It is safe for concurrent use.
type Client struct {
	cfg   Config
	nodes atomic.Pointer[[]*node]
	conns conns
	id    atomic.Uint64

	calls, forwards, failures, failovers metric.Counter
	took                                 metric.Histogram

	forwarding chan struct{} // one token per forwarded request
	lacks      lacks

	mu     sync.Mutex // orders exchanges against Close
	closed bool
	wg     sync.WaitGroup
}

// New checks cfg and returns a client. It connects on demand; end it with Close.
func New(cfg Config) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Client{
		cfg:       cfg,
		calls:     cfg.Metrics.Counter("quorate_source_calls_total", "Calls to followed nodes."),
		forwards:  cfg.Metrics.Counter("quorate_source_forwards_total", "Chain RPC requests passed to followed nodes."),
		failures:  cfg.Metrics.Counter("quorate_source_failures_total", "Calls that no followed node answered."),
		took:      cfg.Metrics.Histogram("quorate_source_call_seconds", "Time that a followed node takes to answer a call or a batch of calls."),
		failovers: cfg.Metrics.Counter("quorate_source_failovers_total", "Calls repeated at another followed node."),

		forwarding: make(chan struct{}, max(1, cfg.MaxConns/2)),
	}
	c.conns.init()
	nodes := make([]*node, 0, len(cfg.Nodes))
	for _, e := range cfg.Nodes {
		nodes = append(nodes, newNode(e, &c.cfg, &c.conns))
	}
	c.nodes.Store(&nodes)
	return c, nil
}

// Open returns a client of the nodes at urls, within the default bounds.
func Open(urls ...string) (*Client, error) {
	nodes, err := ParseEndpoints(urls...)
	if err != nil {
		return nil, err
	}
	return New(Config{Nodes: nodes})
}

// Close makes calls fail with [ErrClosed], cuts those under way and waits for
// their end, which is near whatever the nodes do.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.conns.closeAll()
	c.wg.Wait()
	for _, n := range *c.nodes.Load() {
		n.http.CloseIdleConnections()
	}
}

// Up calls yield with each node and whether its last answer came, as far as it was asked.
func (c *Client) Up(yield func(node Endpoint, up bool)) {
	for _, n := range *c.nodes.Load() {
		n.mu.Lock()
		up := n.failures == 0
		n.mu.Unlock()
		yield(n.at, up)
	}
}

// Call asks for method with params at path (for example /ext/info) and decodes
// the result into result, a pointer, or discards it if nil. It asks the first
// node that is not known to be down, then the others, until one answers.
//
// The error is an [*RPCError] when a node answered with one, and otherwise
// wraps [ErrUnreachable], [ErrBadAnswer], [ErrClosed] or the cause of ctx's end.
func (c *Client) Call(ctx context.Context, path, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	id := c.id.Add(1)
	body, err := json.Marshal(request{Version: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("%s: encode parameters: %w", method, err)
	}
	c.calls.Inc()
	if err := c.ask(ctx, path, body, func(r reply) error { return decodeAnswer(r, id, result) }); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// order returns the nodes in the order in which to try them: those that are paused last.
func (c *Client) order(now time.Time) []*node {
	nodes := *c.nodes.Load()
	order, paused := make([]*node, 0, len(nodes)), []*node(nil)
	for _, n := range nodes {
		if n.paused(now) {
			paused = append(paused, n)
			continue
		}
		order = append(order, n)
	}
	return append(order, paused...)
}

// ask tries the nodes in turn until decode is content with an answer. Each gets
// its share of the time that ctx leaves, so that one that hangs does not use up
// all of it.
func (c *Client) ask(ctx context.Context, path string, body []byte, decode func(reply) error) error {
	order := c.order(time.Now())
	var last error
	for i, n := range order {
		if i > 0 {
			c.failovers.Inc()
		}
		timeout := c.cfg.Timeout
		if end, ok := ctx.Deadline(); ok {
			timeout = min(timeout, time.Until(end)/time.Duration(len(order)-i))
		}
		last = c.askNode(ctx, n, timeout, path, body, decode)
		switch {
		case last == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(last, ErrUnreachable) && !errors.Is(last, ErrBadAnswer):
			return last
		}
		c.failures.Inc()
	}
	return last
}

func (c *Client) askNode(ctx context.Context, n *node, timeout time.Duration, path string, body []byte, decode func(reply) error) error {
	started := time.Now()
	n.begin()
	answer, err := c.exchange(ctx, n, started.Add(timeout), path, body)
	took := time.Since(started)
	n.end(started.Add(took), took)
	c.took.Observe(took.Seconds())
	defer answer.room.end()
	if err == nil {
		err = decode(answer)
	}
	var rpc *RPCError
	var no *pass
	switch {
	case err == nil, errors.As(err, &rpc), errors.As(err, &no):
		if n.up() {
			c.cfg.Logger.Info("node answers again", "node", n.at.String())
		}
	case ctx.Err() == nil && !errors.Is(err, ErrClosed):
		err = fmt.Errorf("node %s: %w", n.at, n.at.Clean(err))
		// What lacks a path, of a chain that the node does not run, has the others.
		if answer.status != fasthttp.StatusNotFound && n.down(time.Now(), c.cfg.Pause) {
			c.cfg.Logger.Warn("node does not answer as it should", "node", n.at.String(), "err", err)
		}
	}
	return err
}

// reply is what one HTTP exchange gave.
type reply struct {
	from        Endpoint
	status      int
	contentType string // of forwarded requests
	body        []byte
	room        *hold // of body
	err         error
}

// exchange does one HTTP request. fasthttp knows deadlines but no cancellation:
// the request runs in a goroutine that Close waits for, and its result is
// dropped when ctx ends first.
func (c *Client) exchange(ctx context.Context, n *node, deadline time.Time, path string, body []byte) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, context.Cause(ctx)
	}
	done := make(chan reply)
	if err := c.start(func() {
		hand(ctx, done, n.post(ctx, path, body, c.cfg.MaxBody, deadline))
	}); err != nil {
		return reply{}, err
	}
	select {
	case r := <-done:
		return r, r.err
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// hand passes a reply to the one who waits for it until ctx ends.
func hand(ctx context.Context, to chan<- reply, r reply) {
	select {
	case to <- r:
	case <-ctx.Done():
		r.room.end()
	}
}

// start runs f in a goroutine that Close waits for.
func (c *Client) start(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.wg.Go(f)
	return nil
}

// node is one address with its connections and health.
type node struct {
	at   Endpoint
	http *fasthttp.HostClient

	pool, passed *Pool // of answers, and of those that are passed on

	mu       sync.Mutex // guards what follows
	failures int        // in a row
	until    time.Time  // passed over before
	returns  uint64     // answers after a failure
	took     float64    // mean time of an answer, in seconds
	timed    time.Time  // when that was measured last
	busy     int        // requests under way
}

func newNode(e Endpoint, cfg *Config, conns *conns) *node {
	return &node{
		at: e, pool: cfg.Pool, passed: cfg.Passed,
		http: &fasthttp.HostClient{
			Addr:                          e.address(),
			Name:                          "quorate",
			IsTLS:                         e.p.scheme == "https",
			MaxConns:                      cfg.MaxConns,
			MaxConnWaitTimeout:            cfg.Timeout,
			MaxResponseBodySize:           cfg.MaxBody,
			MaxIdemponentCallAttempts:     2,
			DisablePathNormalizing:        true,
			DisableHeaderNamesNormalizing: false,
			DialTimeout: func(addr string, timeout time.Duration) (net.Conn, error) {
				if timeout <= 0 || timeout > cfg.DialTimeout {
					timeout = cfg.DialTimeout
				}
				return conns.dial(addr, timeout)
			},
			// A pooled connection that the node has closed in the meantime is the one
			// failure that a second attempt at the same node mends.
			RetryIfErr: func(_ *fasthttp.Request, _ int, err error) (resetTimeout, retry bool) {
				return false, isStaleConn(err)
			},
		},
	}
}

// post sends body and returns the answer, of at most limit bytes.
func (n *node) post(ctx context.Context, path string, body []byte, limit int, deadline time.Time) (r reply) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	n.prepare(req, path)
	req.SetBodyRaw(body)
	resp.StreamBody = true
	if err := n.http.DoDeadline(req, resp, deadline); err != nil {
		return reply{err: classify(err)}
	}
	r = reply{from: n.at, status: resp.StatusCode()}
	r.body, r.room, r.err = (&reading{resp, n.pool, n.at, limit, deadline}).body(ctx)
	r.body = n.at.scrub(r.body, minDataSecret)
	return r
}

func (n *node) prepare(req *fasthttp.Request, path string) {
	req.SetRequestURI(n.at.target(path))
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	for _, h := range n.at.p.header {
		req.Header.Set(h.name, h.value)
	}
}

func (n *node) paused(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Before(n.until)
}

// up records an answer and reports whether the node was down before.
func (n *node) up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.failures > 0
	if was {
		n.returns++
	}
	n.failures, n.until = 0, time.Time{}
	return was
}

// down records a failure and reports whether it is the first in a row.
func (n *node) down(now time.Time, pause time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = now.Add(pause << min(n.failures, 5))
	n.failures++
	return n.failures == 1
}
