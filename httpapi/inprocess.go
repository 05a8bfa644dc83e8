package httpapi

import (
	"bytes"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/shape"
	"quorate/httpapi/ui"
)

// inProcess answers pages from the server's own routes. Nothing is packed or counted as a
// request; the page charges its client.
type inProcess struct{ s *Server }

// nowhere is the connection of a request that came by none.
type nowhere struct{ net.Conn }

func (nowhere) RemoteAddr() net.Addr { return &net.TCPAddr{} }
func (nowhere) LocalAddr() net.Addr  { return &net.TCPAddr{} }

var ownRequests = sync.Pool{New: func() any { return &fasthttp.RequestCtx{} }}

// Get implements [ui.API].
func (a inProcess) Get(path string, operator bool) ui.Answer {
	ctx := ownRequests.Get().(*fasthttp.RequestCtx)
	defer func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.ResetUserValues()
		ownRequests.Put(ctx)
	}()
	ctx.Init2(nowhere{}, nil, false)
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.SetHost("localhost")
	units := a.answer(ctx, operator)
	h := &ctx.Response.Header
	return ui.Answer{
		Units: units, Status: ctx.Response.StatusCode(), Body: bytes.Clone(ctx.Response.Body()),
		Indexed: string(h.Peek(headerIndexedHeight)), Height: string(h.Peek(headerChainHeight)), Gaps: string(h.Peek(headerGaps)),
	}
}

// answer answers a request and returns its price.
func (a inProcess) answer(ctx *fasthttp.RequestCtx, operator bool) (units int) {
	path := ctx.URI().PathOriginal()
	rt, p := a.s.router.Find(path)
	var e *door.Endpoint
	if rt != nil {
		e = rt.Method([]byte(fasthttp.MethodGet))
	}
	if e == nil || !forPages(e.Route) {
		a.s.noRoute(ctx, path, false)
		return door.UnitsFree
	}
	if p.Scope = door.ForClients; operator {
		p.Scope = door.ForOperators
	}
	e.Handle(ctx, p)
	return e.Units
}

// forPages reports whether pages may ask for what a route answers: data, all of it at
// once, and nobody's own.
func forPages(r *door.Route) bool {
	return !r.Node && !r.Owned && r.Method == fasthttp.MethodGet && !r.Page && r.Answer != shape.Binary
}

// own reports whether a request is one that the server makes itself.
func own(ctx *fasthttp.RequestCtx) bool {
	_, is := ctx.Conn().(nowhere)
	return is
}

// timeOf returns when a request came.
func timeOf(ctx *fasthttp.RequestCtx) time.Time {
	if t := ctx.Time(); !t.IsZero() {
		return t
	}
	return time.Now() // one of our own
}
