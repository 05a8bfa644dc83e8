package source

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// ErrNotYet is returned by those who choose nodes while no node has told which
// chains there are.
var ErrNotYet = errors.New("no followed node has listed its chains yet")

// RefusedError says that a node would not take a request at all. Nothing was done,
// and another node may take it.
type RefusedError struct {
	Node   string
	Status int // of the HTTP answer
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("node %s refuses with HTTP %d", e.Node, e.Status)
}

// Busy reports whether the node may take the request later.
func (e *RefusedError) Busy() bool { return busy(e.Status) }

// refusal reports whether a status means that a node did not take a request: it
// does not have the path, wants other credentials, sends elsewhere, or cannot serve
// the chain now.
func refusal(status int) bool {
	switch status {
	case fasthttp.StatusNotFound, fasthttp.StatusUnauthorized, fasthttp.StatusForbidden, fasthttp.StatusPaymentRequired,
		fasthttp.StatusProxyAuthRequired:
		return true
	}
	return busy(status) || status >= 300 && status < 400
}

// Graver returns the error that says more: that a node does not have the path says
// the least.
func Graver(have, next error) error {
	var lacks *RefusedError
	if have == nil || errors.As(have, &lacks) && lacks.Status == fasthttp.StatusNotFound {
		return next
	}
	return have
}

const (
	// lackTime is how long a node without a path is asked for it after all others.
	lackTime = 10 * time.Second
	// maxLacks bounds what is remembered of it.
	maxLacks = 1024
)

// lacks remembers which nodes do not have which paths: of several nodes one may run
// a chain alone.
type lacks struct {
	mu    sync.Mutex
	until map[lack]time.Time
}

type lack struct {
	node *node
	path string
}

func (l *lacks) note(n *node, path string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil || len(l.until) >= maxLacks {
		l.until = make(map[lack]time.Time)
	}
	l.until[lack{n, path}] = until
}

func (l *lacks) forget(n *node, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.until, lack{n, path})
}

func (l *lacks) has(n *node, path string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until[lack{n, path}])
}

// orderFor returns the nodes in the order in which to try them for path: those that
// lack it last.
func (c *Client) orderFor(path string, now time.Time) []*node {
	nodes := c.order(now)
	order, last := make([]*node, 0, len(nodes)), []*node(nil)
	for _, n := range nodes {
		if c.lacks.has(n, path, now) {
			last = append(last, n)
			continue
		}
		order = append(order, n)
	}
	return append(order, last...)
}

func (c *Client) refused(n *node, path string, status int) {
	if status == fasthttp.StatusNotFound {
		c.lacks.note(n, path, time.Now().Add(lackTime))
	}
}
