package rpc

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

const (
	// maxSockets bounds the WebSockets that are open at a time. Those of one client
	// are bounded as its connections are.
	maxSockets = 1024
	// maxFrame bounds a message of a client, in bytes.
	maxFrame = 1 << 20
	// maxNodeFrame bounds a message of a node, in bytes. Messages are passed on
	// piece by piece.
	maxNodeFrame = 64 << 20
	// maxSubscriptions bounds those of one WebSocket.
	maxSubscriptions = 16
	// dialTimeout bounds the opening of the WebSocket at a node.
	dialTimeout = 5 * time.Second
	// socketWriteTimeout is how long one side may take no message of the other.
	socketWriteTimeout = 10 * time.Second
	// pingEvery is how often each side is asked whether it is still there, and
	// pongTimeout how long it may take to say so.
	pingEvery   = 30 * time.Second
	pongTimeout = 10 * time.Second
	// swapLead is how long before nodes replace a chain's API no WebSocket may be open:
	// they would hold up all requests for it. swapLook is how often it is looked whether
	// they are about to.
	swapLead = 15 * time.Second
	swapLook = 5 * time.Second
)

var (
	errStopping = errors.New("the server is stopping")
	errSwap     = errors.New("nodes replace the chain's API soon")
)

// sockets counts the open WebSockets and ends them.
type sockets struct {
	mu       sync.Mutex // guards what follows
	open     int
	stopping bool

	stop chan struct{} // closed with stopping
	none chan struct{} // closed when none is left after that
}

func (t *sockets) init() { t.stop, t.none = make(chan struct{}), make(chan struct{}) }

// enter takes a place.
func (t *sockets) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping || t.open == maxSockets {
		return false
	}
	t.open++
	return true
}

func (t *sockets) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open--; t.open == 0 && t.stopping {
		close(t.none)
	}
}

func (t *sockets) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// StopSockets closes all WebSockets in order and waits for that, until ctx ends.
// No further one is opened.
func (s *Service) StopSockets(ctx context.Context) error {
	t := &s.sockets
	t.mu.Lock()
	if !t.stopping {
		t.stopping = true
		close(t.stop)
		if t.open == 0 {
			close(t.none)
		}
	}
	t.mu.Unlock()
	select {
	case <-t.none:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// socket opens a WebSocket between the client and a node that runs the chain. The
// node's comes first: what goes wrong there the client is told by a status.
func (s *Service) socket(ctx *fasthttp.RequestCtx, e endpoint, charge Charge) {
	if !ctx.IsGet() || len(ctx.Request.Header.Peek("Sec-Websocket-Key")) == 0 {
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "websocket")
		answerText(ctx, fasthttp.StatusUpgradeRequired, "this is a WebSocket; calls by POST are answered at .../rpc\n")
		return
	}
	if !mayConnect(ctx) {
		answerText(ctx, fasthttp.StatusForbidden, "foreign origin refused\n")
		return
	}
	if s.untilSwap(e.chain) <= 0 {
		s.count("ws", "busy").Inc()
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(int(swapLead/time.Second)))
		answerFault(ctx, fasthttp.StatusServiceUnavailable, errSwap.Error(), nil)
		return
	}
	if !s.sockets.enter() {
		s.count("ws", "busy").Inc()
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		answerFault(ctx, fasthttp.StatusServiceUnavailable, "too many WebSockets are open", nil)
		return
	}
	dialing, cancel := context.WithTimeout(s.work, dialTimeout)
	defer cancel()
	node, err := s.cfg.Forward.Dial(dialing, e.chain, e.path())
	if err != nil {
		s.sockets.leave()
		s.notDialed(ctx, e.chain, err)
		return
	}
	s.count("ws", "ok").Inc()
	r := upgradeRequest(ctx)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(conn net.Conn) {
		defer s.sockets.leave()
		defer func() { _ = node.CloseNow() }() // whatever is left of it
		m := newMeter(charge)
		client, err := acceptSocket(conn, r, m)
		if err != nil {
			return // the client has its answer
		}
		defer func() { _ = client.CloseNow() }()
		newSession(s, client, node, e, m).run()
	})
}

// untilSwap returns for how long WebSockets of a chain may be open: it is over from swapLead
// before nodes replace the chain's API until they do.
func (s *Service) untilSwap(id chain.ID) time.Duration {
	left := time.Until(s.cfg.Forward.Swap(id))
	if left <= 0 {
		return math.MaxInt64
	}
	return left - swapLead
}

func (s *Service) notDialed(ctx *fasthttp.RequestCtx, id chain.ID, err error) {
	s.count("ws", "error").Inc()
	s.warned.Log(s.work, s.log, slog.LevelWarn, "the WebSocket of a chain cannot be opened at a followed node",
		slog.String("chain", id.String()), slog.String("error", excerpt(err.Error())))
	status, message := s.unanswered(err)
	if status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	answerFault(ctx, status, message, nil)
}

// session is one WebSocket of a client and the one at the node that stands behind it.
type session struct {
	service      *Service
	client, node *websocket.Conn
	at           endpoint
	meter        *meter

	subs subscribed
}

func newSession(s *Service, client, node *websocket.Conn, e endpoint, m *meter) *session {
	client.SetReadLimit(maxFrame)
	node.SetReadLimit(maxNodeFrame)
	return &session{service: s, client: client, node: node, at: e, meter: m, subs: newSubscribed()}
}

// run passes messages both ways until one side ends, or the server stops.
func (c *session) run() {
	ctx, cancel := context.WithCancel(c.service.work)
	defer cancel()
	ended := make(chan closing, 5)
	var all sync.WaitGroup
	all.Go(func() { ended <- c.fromClient(ctx) })
	all.Go(func() { ended <- c.fromNode(ctx) })
	all.Go(func() {
		ended <- closing{code: websocket.StatusPolicyViolation, reason: ping(ctx, c.client, "the client")}
	})
	all.Go(func() { ended <- closing{code: websocket.StatusServiceRestart, reason: ping(ctx, c.node, "the node")} })
	all.Go(func() { ended <- closing{code: websocket.StatusServiceRestart, reason: c.awaitSwap(ctx)} })
	var why closing
	select {
	case why = <-ended:
	case <-c.meter.over:
		c.service.count("ws", "limited").Inc()
		why = c.meter.why
	case <-c.service.sockets.stop:
		why = closing{websocket.StatusGoingAway, errStopping.Error()}
	}
	_ = c.node.CloseNow() // it may be closed
	// The close frame first: the readers that end with ctx would cut the connection.
	if why.code != 0 {
		_ = c.client.Close(why.code, why.reason) // the client may be gone
	}
	cancel()
	_ = c.client.CloseNow() // likewise
	all.Wait()
}

// closing is why a session ends: the code and reason that the client is told. Code
// 0 means that it is the client that went.
type closing struct {
	code   websocket.StatusCode
	reason string
}

// awaitSwap waits until nodes are about to replace the chain's API.
func (c *session) awaitSwap(ctx context.Context) string {
	for {
		left := c.service.untilSwap(c.at.chain)
		if left <= 0 {
			return errSwap.Error()
		}
		select {
		case <-time.After(min(left, swapLook)):
		case <-ctx.Done():
			return ""
		}
	}
}

// ping asks the other side now and then whether it is there, until it is not.
func ping(ctx context.Context, conn *websocket.Conn, who string) string {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
		wait, cancel := context.WithTimeout(ctx, pongTimeout)
		err := conn.Ping(wait)
		cancel()
		if err != nil {
			return who + " does not answer a ping"
		}
	}
}
