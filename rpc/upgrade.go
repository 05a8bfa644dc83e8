package rpc

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"
)

// upgradeRequest copies what the WebSocket library needs to know of a request.
func upgradeRequest(ctx *fasthttp.RequestCtx) *http.Request {
	r := &http.Request{
		Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: string(ctx.Host()), Header: make(http.Header),
	}
	for key, value := range ctx.Request.Header.All() {
		r.Header.Add(string(key), string(value))
	}
	return r
}

// acceptSocket opens the client's WebSocket on a connection that the HTTP server
// has let go of. Pages of any origin may, as they may call chain RPC.
func acceptSocket(conn net.Conn, r *http.Request, m *meter) (*websocket.Conn, error) {
	if err := conn.SetDeadline(time.Time{}); err != nil { // the HTTP server's
		return nil, err
	}
	return websocket.Accept(&upgrade{conn: hijacked{conn, m}, header: make(http.Header)}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		OnPingReceived:     func(context.Context, []byte) bool { return m.frame() },
		OnPongReceived:     func(context.Context, []byte) { m.frame() },
	})
}

// hijacked is a connection that the HTTP server closes once its handler has
// returned, and no sooner: to close it is to end what waits for it.
type hijacked struct {
	net.Conn
	meter *meter
}

// Read implements net.Conn.
func (c hijacked) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.read.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (c hijacked) Close() error { return c.SetDeadline(time.Unix(1, 0)) }

// upgrade lets the WebSocket library write its answer to a connection that another
// HTTP server has accepted.
type upgrade struct {
	conn   net.Conn
	header http.Header
	err    error
}

// Header implements http.ResponseWriter.
func (u *upgrade) Header() http.Header { return u.header }

// WriteHeader implements http.ResponseWriter.
func (u *upgrade) WriteHeader(status int) {
	answer := http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: u.header}
	answer.Close = status != http.StatusSwitchingProtocols
	u.err = answer.Write(u.conn)
}

// Write implements http.ResponseWriter.
func (u *upgrade) Write(b []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	return u.conn.Write(b)
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if u.err != nil {
		return nil, nil, u.err
	}
	return u.conn, bufio.NewReadWriter(bufio.NewReader(u.conn), bufio.NewWriter(u.conn)), nil
}
