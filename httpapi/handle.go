package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/forward"
	"quorate/httpapi/service"
)

// handle is the entry of every request whose header could be read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	to, public := s.other, false
	var page *door.Params      // of a request for a page
	c, _ := ctx.Conn().(*conn) // nil in tests without a network
	begun, waiting := ctx.Time(), ctx.Request.MayContinue()
	if waiting { // fasthttp has the time of the request before
		begun = time.Now()
	}
	defer func() {
		if v := recover(); v != nil {
			s.panicked(ctx, v)
			if public {
				s.origins.allow(ctx)
			}
			if page != nil {
				s.pages.failed(ctx, *page)
			}
		}
		if waiting && ctx.UserValue(admitted{}) != nil {
			return // the body is still to come
		}
		leaveBody(ctx)
		s.forms.apply(ctx)
		s.answered(ctx, to.Route)
		to.Observe(ctx.Response.StatusCode(), time.Since(begun))
		if c != nil && c.below == nil && !c.hijacked { // TLS has no write of several pieces
			c.gather.expect(ctx)
		}
	}()
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	var scope door.Scope
	if c != nil {
		scope = c.scope
		c.since.Store(begun.UnixNano())
	}
	path := dialectPath(ctx, ctx.URI().PathOriginal())
	rt, p := s.router.Find(path)
	scope, p.Forwarded = s.cfg.Fleet.Sent(ctx, scope)
	if rt == nil || !scope.Serves(rt.Access) {
		s.noRoute(ctx, path, rt == nil && scope != door.ForOperators)
		s.pages.refused(ctx, door.Params{Scope: scope})
		return
	}
	to, p.Scope, p.Waiting = rt.Stats, scope, waiting
	if public = rt.Access == door.Public && scope != door.ForOperators && showsPages(rt, ctx); public && s.origins.preflight(ctx, rt.Allow) {
		return
	}
	e := rt.Method(ctx.Method())
	if e != nil && !p.Forwarded && s.misdirected(ctx, e, scope) {
		door.Fail(ctx, notOurName(ctx))
		if e.Page {
			s.pages.refused(ctx, door.Params{Scope: scope})
		}
		return
	}
	switch {
	case e != nil && e.Page:
		page = &door.Params{Scope: scope}
		s.serve(ctx, c, e, p)
		s.pages.refused(ctx, *page)
	case e != nil:
		s.serve(ctx, c, e, p)
	case ctx.IsOptions():
		options(ctx, rt.Allow)
	default:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, rt.Allow)
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusMethodNotAllowed,
			Message: "method " + door.Excerpt(ctx.Method()) + " is not allowed here; allowed are " + rt.Allow})
	}
}

// serve charges a request, reads its body, charges what only that shows, and has it answered. Only then does it
// count as in flight: a client that is slow to send costs none of these places.
func (s *Server) serve(ctx *fasthttp.RequestCtx, c *conn, e *door.Endpoint, p door.Params) {
	size := ctx.Request.Header.ContentLength()
	var body *body
	var f *door.Failure
	defer func() { s.bodies.put(body) }()
	// The key may be in a form: one that is short has arrived.
	early := e.KeyParam != "" && size > 0 && size <= prefetched && !p.Waiting
	if early {
		body, f = s.readBody(ctx, e.Route)
	}
	if before, ok := ctx.UserValue(admitted{}).(door.Params); ok {
		p, p.Waiting = before, false
	} else {
		units := e.Units
		if e.Page {
			units, p.Kept = s.pages.price(ctx, e, p)
		}
		if size <= s.cfg.bodyLimit(e.Route) { // one that is longer is not read
			units += bodyUnits(size)
		}
		// Who has no units for the body is answered before any of it is read.
		if !s.admit(ctx, e.Route, &p, units) {
			return
		}
	}
	if !early {
		body, f = s.readBody(ctx, e.Route)
	}
	if size < 0 && body != nil && !s.chargeMore(ctx, &p, bodyUnits(len(body.b))) { // it had not said how long it is
		s.cfg.Limits.Owe(p.Client, bodyUnits(len(body.b)))
		return
	}
	if f == nil && p.Forwarded {
		f = forward.CheckBody(ctx)
	}
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	if p.Waiting {
		ctx.SetUserValue(admitted{}, p)
		return
	}
	if e.Access == door.Public && e.Node && s.cfg.ExtCost != nil {
		cost := s.cfg.ExtCost(ctx)
		if cost.Operator && !p.Scope.Serves(door.Operator) {
			s.noRoute(ctx, ctx.URI().PathOriginal(), false)
			return
		}
		if !s.chargeMore(ctx, &p, cost.Units-e.Units) {
			return
		}
	}
	n := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	if n > int64(s.cfg.MaxInFlight) && !e.Probe {
		s.stats.Rejected("in_flight").Inc()
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusServiceUnavailable, Message: "too many requests are being answered", RetryAfter: time.Second})
		return
	}
	if c != nil {
		c.busy.Store(true)
	}
	if s.cfg.OnRequest != nil {
		s.cfg.OnRequest()
	}
	if s.cfg.Fleet == nil || !s.cfg.Fleet.Answer(s.work, ctx, e.Route, p, s.desk.Owe) {
		e.Handle(ctx, p)
	}
	if !e.Page { // pages pay for what they ask for, and are kept by whoever shows them
		s.desk.Owe(ctx, &p, sentUnits(ctx, e.Route, p.Paid))
	}
	if c != nil && ctx.Hijacked() {
		c.hijacked = true
	}
}

// noRoute answers that there is nothing. Pages may see that, unless there is
// something for operators.
func (s *Server) noRoute(ctx *fasthttp.RequestCtx, path []byte, toPages bool) {
	if ctx.IsOptions() && string(path) == "*" {
		options(ctx, anyMethod)
		return
	}
	if toPages && s.origins.preflight(ctx, anyMethod) {
		return
	}
	message := "nothing is served at " + door.Excerpt(path)
	if reason := service.WhyLeftOut(path); reason != "" {
		message += ": " + reason
	}
	door.Fail(ctx, door.NotFound(message+"; what is served, and what is left out, is listed at "+service.ListPath))
}

const anyMethod = "GET, HEAD, POST, OPTIONS"

func options(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	ctx.Response.SetStatusCode(fasthttp.StatusNoContent)
}

// panicked turns a defect into one failed request: the others go on.
func (s *Server) panicked(ctx *fasthttp.RequestCtx, v any) {
	s.stats.Rejected("panic").Inc()
	s.log.Error("request failed by a defect", "method", string(ctx.Method()), "path", door.Excerpt(ctx.Path()),
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	door.Fail(ctx, door.Internal())
}

// fastLogger takes what fasthttp has to say, mostly of clients that went away.
type fastLogger struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l fastLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("connection ended", "cause", fmt.Sprintf(format, args...))
	}
}
