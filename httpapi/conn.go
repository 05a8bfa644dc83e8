package httpapi

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
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

// connections counts and remembers the open connections.
type connections struct {
	max  int
	full []byte // answer to a connection too many

	refused func() // counts one

	mu      sync.Mutex
	open    map[*conn]struct{}
	stopped chan struct{} // closed at shutdown
	none    chan struct{} // closed when, after that, the last one is gone
}

func newConnections(limit int, refused func()) *connections {
	return &connections{
		max: limit, full: fullAnswer(), refused: refused,
		open: make(map[*conn]struct{}), stopped: make(chan struct{}), none: make(chan struct{}),
	}
}

// fullAnswer is a complete answer to a request that is not read.
func fullAnswer() []byte {
	status := fasthttp.StatusServiceUnavailable
	body := appendError(nil, status, "too many connections")
	b := []byte("HTTP/1.1 503 " + fasthttp.StatusMessage(status) + "\r\nContent-Type: " + contentJSON +
		"\r\nRetry-After: " + retrySeconds(time.Second) + "\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n")
	return append(b, body...)
}

func (t *connections) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

func (t *connections) add(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= t.max || t.isStopped() {
		return false
	}
	t.open[c] = struct{}{}
	return true
}

func (t *connections) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.open[c]; !ok {
		return
	}
	delete(t.open, c)
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
			_ = c.Conn.Close() // its server notices and closes it for good
		}
	}
}

// listener gives connections that are counted, at most max of them.
type listener struct {
	net.Listener
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
		c := &conn{Conn: nc, conns: l.conns}
		if l.conns.add(c) {
			return c, nil
		}
		l.conns.refuse(nc)
	}
}

func (t *connections) refuse(c net.Conn) {
	t.refused()
	// A new connection's send buffer is empty, so this does not wait. Whether the
	// client still takes the answer is its own matter.
	_ = c.SetWriteDeadline(time.Now().Add(refuseTime))
	_, _ = c.Write(t.full)
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
	conns  *connections
	used   atomic.Bool // something was received
	linger atomic.Bool // closed while the client may still be sending

	// first is when the first byte arrived since the last answer, zero if none
	// did. The connection's goroutine owns it.
	first time.Time
}

func (c *conn) Read(b []byte) (int, error) {
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

func (c *conn) Write(b []byte) (int, error) {
	c.first = time.Time{}
	return c.Conn.Write(b)
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
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
