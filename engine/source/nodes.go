package source

import (
	"context"
	"crypto/sha256"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// SetNodes replaces the nodes that are asked from now on, best first; at least
// one. Those that stay keep their connections and what is known of their health.
func (c *Client) SetNodes(list []Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.nodes.Load()
	next := make([]*node, 0, len(list))
	for _, e := range list {
		i := slices.IndexFunc(old, func(n *node) bool { return n.at.Same(e) })
		if i >= 0 {
			next = append(next, old[i])
			continue
		}
		next = append(next, newNode(e, &c.cfg, &c.conns))
	}
	c.nodes.Store(&next)
	for _, n := range old {
		if !slices.Contains(next, n) {
			n.http.CloseIdleConnections()
		}
	}
}

// Fingerprint is a hash of the address, by which it can be known again without
// keeping the credentials in it.
func (e Endpoint) Fingerprint() [sha256.Size]byte { return sha256.Sum256([]byte(e.target(""))) }

// conns are the open connections of a client. A node that accepts and never
// answers, or sends a byte now and then, must not keep a client from its end.
type conns struct {
	ctx context.Context // of dials
	end context.CancelFunc

	mu   sync.Mutex // guards what follows
	cut  bool
	open map[*line]struct{}
}

func (c *conns) init() {
	c.ctx, c.end = context.WithCancel(context.Background())
	c.open = make(map[*line]struct{})
}

func (c *conns) dial(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: conn, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = conn.Close() // nothing was sent
		return nil, ErrClosed
	}
	c.open[l] = struct{}{}
	return l, nil
}

// closeAll closes all connections, and makes further dials fail.
func (c *conns) closeAll() {
	c.end()
	c.mu.Lock()
	c.cut = true
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, l := range open {
		_ = l.Conn.Close() // its user hears of it
	}
}

// line is a connection that is removed from the open ones when it is closed.
type line struct {
	net.Conn
	of *conns
}

// Close implements [net.Conn].
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}
