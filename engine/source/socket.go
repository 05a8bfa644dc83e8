package source

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Dial opens the WebSocket at path, at the first node that has it. The error is as
// that of [Client.Forward].
func (c *Client) Dial(ctx context.Context, path string) (*websocket.Conn, error) {
	order := c.orderFor(path, time.Now())
	var failed error
	for i, n := range order {
		if i > 0 {
			c.failovers.Inc()
		}
		conn, err := c.dialNode(ctx, n, len(order)-i, path)
		if err == nil {
			c.lacks.forget(n, path)
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.failures.Inc()
		var refused *RefusedError
		if errors.As(err, &refused) {
			c.refused(n, path, refused.Status)
		}
		failed = Graver(failed, err)
	}
	return nil, failed
}

// dialNode gives a node its share of the time that is left, as one of several.
func (c *Client) dialNode(ctx context.Context, n *node, several int, path string) (*websocket.Conn, error) {
	timeout := c.cfg.Timeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(end)/time.Duration(several))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return DialWebSocket(ctx, n.at.At(path))
}

// DialWebSocket opens the WebSocket at e. A redirect is not followed: credentials
// go to no other host. No error holds them.
func DialWebSocket(ctx context.Context, e Endpoint) (*websocket.Conn, error) {
	transport := &http.Transport{DisableKeepAlives: true} // no proxy
	target, header := e.dialTarget()
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPHeader: header,
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, &RefusedError{Node: e.String(), Status: resp.StatusCode}
	}
	return nil, errors.Join(ErrUnreachable, e.Clean(err))
}
