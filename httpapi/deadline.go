package httpapi

import (
	"errors"
	"sync"
	"time"
)

// maxSlack bounds how much earlier than wanted a connection's deadline may be.
const maxSlack = 250 * time.Millisecond

// deadlines are those of a connection. fasthttp moves them three times with every
// request, which costs as much as finding the answer to a small one. So they are moved
// only where that makes a difference: one that is up to the slack too early stays.
type deadlines struct {
	// Owned by the connection's goroutine: the read deadline that is wanted, and the one
	// that is set. It matters only when something is read: of a request that came in one
	// piece, that is when the next one is waited for.
	read, readSet time.Time

	mu       sync.Mutex // guards what follows: streams are ended by others
	writeSet time.Time
}

// holds reports whether a deadline that is set may stand for the one that is wanted.
func (t *connections) holds(set, want time.Time) bool {
	early := want.Sub(set)
	return early >= 0 && early <= t.slack
}

// direct reports whether deadlines are set at once: when the connection is no longer
// HTTP's, and under TLS, which reads and writes on its own account.
func (c *conn) direct() bool { return c.below != nil || c.hijacked }

// SetReadDeadline implements [net.Conn]. Only the connection's goroutine may call it.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.direct() {
		return c.setRead(t)
	}
	c.deadlines.read = t
	return nil
}

// setRead sets the read deadline at once. Under TLS it bounds also what reading has to
// write: a handshake, the answer to a new key. A client that does not read would hold
// its place with it.
func (c *conn) setRead(t time.Time) error {
	if c.below == nil || c.hijacked {
		return c.Conn.SetReadDeadline(t)
	}
	return c.Conn.SetDeadline(t)
}

// waitUntil sets the read deadline that is wanted.
func (c *conn) waitUntil() error {
	d := &c.deadlines
	if c.direct() || c.conns.holds(d.readSet, d.read) {
		return nil
	}
	d.readSet = d.read
	return c.setRead(d.read)
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	if c.direct() {
		return c.Conn.SetWriteDeadline(t)
	}
	d := &c.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.conns.holds(d.writeSet, t) {
		return nil
	}
	d.writeSet = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	if c.direct() {
		return c.Conn.SetDeadline(t)
	}
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
