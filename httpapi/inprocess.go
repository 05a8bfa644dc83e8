package httpapi

import (
	"bytes"
	"sync"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/ui"
)

// inProcess answers pages from the server's own routes. Nothing is packed or counted as a
// request; the page charges its client.
type inProcess struct{ s *Server }

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
	ctx.Init2(reply.Nowhere{}, nil, false)
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.SetHost("localhost")
	units := a.answer(ctx, operator)
	h := &ctx.Response.Header
	return ui.Answer{
		Units: units, Status: ctx.Response.StatusCode(), Body: bytes.Clone(ctx.Response.Body()),
		Indexed: string(h.Peek(reply.HeaderIndexedHeight)), Height: string(h.Peek(reply.HeaderChainHeight)), Gaps: string(h.Peek(reply.HeaderGaps)),
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
