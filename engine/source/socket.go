package source

import (
	"context"
	"errors"
	"net/http"

	"github.com/coder/websocket"
)

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
