package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

const (
	// lingerTime and lingerBytes bound what is read of a client that still sends
	// when it has been answered: closing at once would reset the connection, and
	// the answer could be lost.
	lingerTime  = time.Second
	lingerBytes = 8 << 20
	// refuseTime bounds the writing of an answer to a connection too many.
	refuseTime = 100 * time.Millisecond
	// acceptBackoff is the wait after the system could not give a connection.
	acceptBackoff = 50 * time.Millisecond
)

// operatorConns bounds the connections to listeners for operators. They are counted
// apart, so that no flood of clients keeps an operator out.
const operatorConns = 64

// evictSample is how many connections are looked at to find one to close. It is
// enough to find one of the oldest, and a scan of all would be the flood's profit.
const evictSample = 64

// lastWrite bounds what downloads and streams still send when the server stops: all of
// it, not each piece, or a client that takes a little now and then would hold the stop up.
const lastWrite = time.Second

// connections counts and remembers the open connections.
type connections struct {
	max, maxPerClient int
	uncapped          []netip.Prefix
	slack             time.Duration // how much earlier than wanted a deadline may be
	full, crowded     []byte        // answers to a connection too many

	refused, evicted func() // each counts one

	mu   sync.Mutex
	open map[*conn]struct{}
	// clients and operators count the open ones by kind of listener, byClient those
	// of each client that is capped.
	clients, operators int
	byClient           map[netip.Addr]int
	stopped            chan struct{} // closed at shutdown
	lastWrites         time.Time     // until when streams and downloads write after that; set before
	none               chan struct{} // closed when, after that, the last one is gone
}

func newConnections(cfg *Config, refused, evicted func()) *connections {
	return &connections{
		max: cfg.MaxConns, maxPerClient: cfg.MaxConnsPerClient, uncapped: cfg.Uncapped,
		slack: min(maxSlack, min(cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout)/16),
		full:  refusal("too many connections"), crowded: refusal("too many connections from one address"),
		refused: refused, evicted: evicted,
		open: make(map[*conn]struct{}), byClient: make(map[netip.Addr]int),
		stopped: make(chan struct{}), none: make(chan struct{}),
	}
}

// refusal is a complete answer to a request that is not read.
func refusal(message string) []byte {
	status := fasthttp.StatusServiceUnavailable
	body := door.AppendError(nil, status, message)
	b := []byte("HTTP/1.1 503 " + fasthttp.StatusMessage(status) + "\r\nContent-Type: " + door.ContentJSON +
		"\r\nRetry-After: " + door.RetrySeconds(time.Second) + "\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n")
	return append(b, body...)
}

func (t *connections) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// add takes a connection in, or returns the answer that it gets instead. When there
// are too many, the one that has kept its place longest without a request goes:
// a client that holds all of them must not lock out the others.
func (t *connections) add(c *conn) (answer []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isStopped() {
		return t.full
	}
	if c.scope == door.ForOperators {
		if t.operators >= operatorConns && !t.evict(door.ForOperators) {
			return t.full
		}
		t.operators++
		t.open[c] = struct{}{}
		return nil
	}
	c.client = t.capped(c.Conn)
	if c.client.IsValid() && t.byClient[c.client] >= t.maxPerClient {
		return t.crowded
	}
	if t.clients >= t.max && !t.evict(door.All) {
		return t.full
	}
	t.clients++
	if c.client.IsValid() {
		t.byClient[c.client]++
	}
	t.open[c] = struct{}{}
	return nil
}

// capped returns the client that a connection counts for, the zero address if it
// counts for none: of IPv6 the /64, as for rates.
func (t *connections) capped(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range t.uncapped {
		if p.Contains(a) {
			return netip.Addr{}
		}
	}
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 bits are in every IPv6 address
		a = p.Addr()
	}
	return a
}

// evict closes one of the connections that wait longest for their client: idle
// ones, and those of requests that do not arrive. One whose request is being
// answered stays. It is called with mu held.
func (t *connections) evict(kind door.Scope) bool {
	var oldest *conn
	looked := 0
	for c := range t.open { // in a random order
		if (c.scope == door.ForOperators) != (kind == door.ForOperators) || c.busy.Load() {
			continue
		}
		if oldest == nil || c.since.Load() < oldest.since.Load() {
			oldest = c
		}
		if looked++; looked == evictSample {
			break
		}
	}
	if oldest == nil {
		return false
	}
	t.evicted()
	t.drop(oldest)
	oldest.cut()
	return true
}

// drop takes a connection out of the counts. It is called with mu held.
func (t *connections) drop(c *conn) {
	delete(t.open, c)
	if c.scope == door.ForOperators {
		t.operators--
		return
	}
	t.clients--
	if !c.client.IsValid() {
		return
	}
	if t.byClient[c.client]--; t.byClient[c.client] == 0 {
		delete(t.byClient, c.client)
	}
}

func (t *connections) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.open[c]; !ok {
		return
	}
	t.drop(c)
	if len(t.open) == 0 && t.isStopped() {
		close(t.none)
	}
}

// isStopped is asked with mu held.
func (t *connections) isStopped() bool {
	select {
	case <-t.stopped:
		return true
	default:
		return false
	}
}

// stop ends the waits of Accept and closes the connections on which no request
// has begun, so that a shutdown need not wait for them.
func (t *connections) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isStopped() {
		t.lastWrites = time.Now().Add(lastWrite)
		close(t.stopped)
		if len(t.open) == 0 {
			close(t.none)
		}
	}
	t.closeLocked(func(c *conn) bool { return !c.used.Load() })
}

// closeAll cuts every connection.
func (t *connections) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLocked(func(*conn) bool { return true })
}

func (t *connections) closeLocked(which func(*conn) bool) {
	for c := range t.open {
		if which(c) {
			c.cut()
		}
	}
}

// listener returns connections that are counted.
type listener struct {
	net.Listener
	scope door.Scope
	conns *connections
}

// Accept waits for a connection. It outlasts the shortages of the system that
// pass, such as too many open files.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			if !passes(err) {
				return nil, err
			}
			select {
			case <-l.conns.stopped:
				return nil, net.ErrClosed
			case <-time.After(acceptBackoff):
				continue
			}
		}
		c := &conn{Conn: nc, conns: l.conns, scope: l.scope}
		if secure, ok := nc.(interface{ NetConn() net.Conn }); ok {
			c.below = secure.NetConn()
		}
		c.since.Store(time.Now().UnixNano())
		answer := l.conns.add(c)
		if answer == nil {
			return c, nil
		}
		l.conns.refuse(nc, answer)
	}
}

func (t *connections) refuse(c net.Conn, answer []byte) {
	t.refused()
	if _, ok := c.(interface{ Handshake() error }); ok {
		_ = c.Close() // no answer without a handshake, which a flood would have us pay for
		return
	}
	// A new connection's send buffer is empty, so this does not wait. Whether the
	// client still takes the answer is its own matter.
	_ = c.SetWriteDeadline(time.Now().Add(refuseTime))
	_, _ = c.Write(answer)
	_ = c.Close()
}

func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// conn is a counted connection.
type conn struct {
	net.Conn
	below  net.Conn // what carries Conn if that is TLS, otherwise nil
	conns  *connections
	scope  door.Scope
	client netip.Addr // that it counts for; the zero address for none

	busy   atomic.Bool  // a request is being answered
	since  atomic.Int64 // when the last request came or the connection began, Unix ns
	used   atomic.Bool  // something was received
	linger atomic.Bool  // closed while the client may still be sending

	// hijacked is set once the connection is no longer HTTP's. It stays busy.
	hijacked bool
	// unasked: the next thing written is that the client may send its body, which it has
	// not asked.
	unasked bool
	// first is when the first byte arrived since the last answer, zero if none
	// did. The connection's goroutine owns it.
	first time.Time

	gather    gather
	deadlines deadlines
}

func (c *conn) Read(b []byte) (int, error) {
	if c.busy.Load() && !c.hijacked {
		c.busy.Store(false)
	}
	if err := c.waitUntil(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if n > 0 {
		if c.first.IsZero() {
			c.first = time.Now()
		}
		if !c.used.Load() {
			c.used.Store(true)
		}
	}
	return n, err
}

// goOn is what fasthttp writes to a client that may send its body.
var goOn = []byte("HTTP/1.1 100 Continue\r\n\r\n")

func (c *conn) Write(b []byte) (int, error) {
	if c.unasked {
		c.unasked = false
		answers, ok := bytes.CutSuffix(b, goOn)
		switch {
		case ok && len(answers) == 0:
			return len(b), nil
		case ok: // answers to what came before on the connection
			_, err := c.gather.write(c.Conn, answers)
			return len(b), err
		}
	}
	c.first = time.Time{}
	return c.gather.write(c.Conn, b)
}

// cut closes the connection without a word, at once. Its server notices and closes it
// for good. The close of TLS would wait for the client to take its goodbye.
func (c *conn) cut() {
	if c.below != nil {
		_ = c.below.Close()
		return
	}
	_ = c.Conn.Close()
}

// connOf returns the connection of a request, nil if it came by none.
func connOf(ctx *fasthttp.RequestCtx) net.Conn {
	if c, ok := ctx.Conn().(*conn); ok {
		return c
	}
	return nil
}

// received returns when the first byte of a request arrived. Of several requests
// that came at once, the later ones count from the answer to the one before.
func received(ctx *fasthttp.RequestCtx) time.Time {
	if c, ok := ctx.Conn().(*conn); ok && !c.first.IsZero() {
		return c.first
	}
	return ctx.Time()
}

// Close closes the connection, lingering when that is called for.
func (c *conn) Close() error {
	defer c.conns.remove(c)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Swap(false) {
		// Errors mean that the client is gone; the close below says so.
		if half.CloseWrite() == nil && c.setRead(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
