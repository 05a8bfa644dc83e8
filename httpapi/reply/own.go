package reply

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Nowhere is the connection of a request that came by none: the server makes it itself.
type Nowhere struct{ net.Conn }

// RemoteAddr implements [net.Conn].
func (Nowhere) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// LocalAddr implements [net.Conn].
func (Nowhere) LocalAddr() net.Addr { return &net.TCPAddr{} }

// Own reports whether a request is one that the server makes itself.
func Own(ctx *fasthttp.RequestCtx) bool {
	_, is := ctx.Conn().(Nowhere)
	return is
}

// timeOf returns when a request came.
func timeOf(ctx *fasthttp.RequestCtx) time.Time {
	if t := ctx.Time(); !t.IsZero() {
		return t
	}
	return time.Now() // one of our own
}
