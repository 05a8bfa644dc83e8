package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"
)

// Forward posts body to path as it is and returns the node's answer as it is.
// Unlike [Client.Call] it sends a body to a second node only when the first has
// certainly not done what it asks for, since that may not bear repeating: when
// nothing was sent to it, or when it would not take the request at all. A node
// that does not have the path, redirects, wants other credentials or has no time
// has not answered, see [RefusedError]. Answers of more than limit bytes are
// refused; limit 0 stands for Config.MaxBody, which is also the most.
//
// The deadline is that of ctx, or Config.Timeout from now if it has none. All
// forwarded requests together use at most half of the connections, so that they
// never hold up the client's own calls: the others wait.
//
// The error wraps [ErrUnreachable], [ErrBadAnswer], [ErrClosed], the cause of
// ctx's end or, when all nodes that could be reached refused, a [RefusedError]. It
// says whether the node may have done what was asked.
func (c *Client) Forward(ctx context.Context, path string, body []byte, limit int) (Passed, error) {
	r, err := c.relay(ctx, path, body, limit)
	if err != nil {
		return Passed{}, fmt.Errorf("forward: %w", err)
	}
	return Passed{r.status, r.contentType, r.body, r.room}, nil
}

// Passed is the answer to a forwarded request. Release must be called when its body is
// not needed any more: in Config.Passed it counts for so long.
type Passed struct {
	Status      int
	ContentType string
	Body        []byte
	room        *hold
}

// Release returns the room of the answer. It may be called again.
func (p *Passed) Release() { p.room.end() }

func (c *Client) relay(ctx context.Context, path string, body []byte, limit int) (reply, error) {
	if limit <= 0 || limit > c.cfg.MaxBody {
		limit = c.cfg.MaxBody
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.cfg.Timeout)
	}
	select {
	case c.forwarding <- struct{}{}:
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
	body = bytes.Clone(body) // what is being sent outlives a call that gives up
	done := make(chan reply)
	err := c.start(func() {
		r := c.forward(ctx, path, body, limit, deadline)
		<-c.forwarding
		hand(ctx, done, r)
	})
	if err != nil {
		<-c.forwarding
		return reply{}, err
	}
	select {
	case r := <-done:
		return r, r.err
	case <-ctx.Done():
		return reply{}, fmt.Errorf("%w; %w", context.Cause(ctx), ErrMaybeDone)
	}
}

// ErrMaybeDone is wrapped by errors of requests whose fate is not known: they must
// not be sent again.
var ErrMaybeDone = errors.New("the node may have done what was asked")

// forward tries the nodes in turn until one takes the request.
func (c *Client) forward(ctx context.Context, path string, body []byte, limit int, deadline time.Time) (r reply) {
	c.forwards.Inc()
	var failed error // the first that says more than that a node lacks the path
	for i, n := range c.orderFor(path, time.Now()) {
		if ctx.Err() != nil {
			return reply{err: context.Cause(ctx)}
		}
		if i > 0 {
			c.failovers.Inc()
		}
		var sent bool
		r, sent = n.forward(ctx, path, body, limit, deadline)
		if r.err == nil && !refusal(r.status) {
			c.lacks.forget(n, path)
			return r
		}
		c.failures.Inc()
		r.room.end()
		if r.err == nil {
			c.refused(n, path, r.status)
			r = reply{err: &RefusedError{Node: n.at.String(), Status: r.status}}
			failed = Graver(failed, r.err)
			continue
		}
		r.err = fmt.Errorf("node %s: %w", n.at, n.at.Clean(r.err))
		if sent {
			// A slow or broken answer may be the request's fault: it does not count
			// against the node, which others would then pass over.
			r.err = fmt.Errorf("%w; %w", r.err, ErrMaybeDone)
			return r
		}
		failed = Graver(failed, r.err)
		if !errors.Is(r.err, fasthttp.ErrNoFreeConns) && n.down(time.Now(), c.cfg.Pause) {
			c.cfg.Logger.Warn("node cannot be reached", "node", n.at.String(), "err", r.err)
		}
	}
	return reply{err: failed}
}

// forward reports whether anything of the request may have been sent.
func (n *node) forward(ctx context.Context, path string, body []byte, limit int, deadline time.Time) (r reply, sent bool) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	n.prepare(req, path)
	// The HTTP client sends a stream at most once, and reads it only when it has
	// a connection to send it on.
	stream := &onceReader{rest: body}
	req.SetBodyStream(stream, len(body))
	resp.StreamBody = true
	if err := n.http.DoDeadline(req, resp, deadline); err != nil {
		return reply{err: classify(err)}, stream.started
	}
	r = reply{status: resp.StatusCode(), contentType: string(resp.Header.ContentType())}
	r.body, r.room, r.err = (&reading{resp, n.passed, n.at, limit, deadline}).body(ctx)
	least := minDataSecret
	if r.status != fasthttp.StatusOK {
		least = minSecret
	}
	r.body = n.at.scrub(r.body, least)
	return r, true
}

// onceReader is a body that knows whether any of it was read.
type onceReader struct {
	rest    []byte
	started bool
}

// Read implements io.Reader.
func (r *onceReader) Read(p []byte) (int, error) {
	r.started = true
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
