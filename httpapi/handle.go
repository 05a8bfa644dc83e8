package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"
)

// handle is the entry of every request whose header could be read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	to, public := s.other, false
	var page *params           // of a request for a page
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
		s.answered(ctx, to.route)
		to.observe(ctx.Response.StatusCode(), time.Since(begun))
		if c != nil && c.below == nil && !c.hijacked { // TLS has no write of several pieces
			c.gather.expect(ctx)
		}
	}()
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	var scope Scope
	if c != nil {
		scope = c.scope
		c.since.Store(begun.UnixNano())
	}
	path := ctx.URI().PathOriginal()
	rt, p := s.router.find(path)
	if rt == nil || !scope.serves(rt.access) {
		s.noRoute(ctx, path, rt == nil && scope != ForOperators)
		s.pages.refused(ctx, params{scope: scope})
		return
	}
	to, p.scope, p.waiting = rt.stats, scope, waiting
	if public = rt.access == Public && scope != ForOperators && showsPages(rt, ctx); public && s.origins.preflight(ctx, rt.allow) {
		return
	}
	e := rt.method(ctx.Method())
	if e != nil && s.misdirected(ctx, e, scope) {
		fail(ctx, notOurName(ctx))
		if e.page {
			s.pages.refused(ctx, params{scope: scope})
		}
		return
	}
	switch {
	case e != nil && e.page:
		page = &params{scope: scope}
		s.serve(ctx, c, e, p)
		s.pages.refused(ctx, *page)
	case e != nil:
		s.serve(ctx, c, e, p)
	case ctx.IsOptions():
		options(ctx, rt.allow)
	default:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, rt.allow)
		fail(ctx, &failure{status: fasthttp.StatusMethodNotAllowed,
			message: "method " + excerpt(ctx.Method()) + " is not allowed here; allowed are " + rt.allow})
	}
}

// serve charges a request, reads its body, charges what only that shows, and has it answered. Only then does it
// count as in flight: a client that is slow to send costs none of these places.
func (s *Server) serve(ctx *fasthttp.RequestCtx, c *conn, e *endpoint, p params) {
	size := ctx.Request.Header.ContentLength()
	if before, ok := ctx.UserValue(admitted{}).(params); ok {
		p, p.waiting = before, false
	} else {
		units := e.Units
		if e.page {
			units, p.kept = s.pages.price(ctx, e, p)
		}
		if size <= s.cfg.bodyLimit(e.Route) { // one that is longer is not read
			units += bodyUnits(size)
		}
		// Who has no units for the body is answered before any of it is read.
		if !s.admit(ctx, e.Route, &p, units) {
			return
		}
	}
	body, f := s.readBody(ctx, e.Route)
	defer s.bodies.put(body)
	if size < 0 && body != nil && !s.chargeMore(ctx, &p, bodyUnits(len(body.b))) { // it had not said how long it is
		s.cfg.Limits.Owe(p.client, bodyUnits(len(body.b)))
		return
	}
	if f != nil {
		fail(ctx, f)
		return
	}
	if p.waiting {
		ctx.SetUserValue(admitted{}, p)
		return
	}
	if e.Access == Public && e.node && s.cfg.ExtCost != nil {
		cost := s.cfg.ExtCost(ctx)
		if cost.Operator && !p.scope.serves(Operator) {
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
		s.stats.rejected("in_flight").Inc()
		fail(ctx, &failure{fasthttp.StatusServiceUnavailable, "too many requests are being answered", time.Second})
		return
	}
	if c != nil {
		c.busy.Store(true)
	}
	if s.cfg.OnRequest != nil {
		s.cfg.OnRequest()
	}
	e.handle(ctx, p)
	if !e.page { // pages pay for what they ask for, and are kept by whoever shows them
		s.owe(ctx, &p, sentUnits(ctx, e.Route, p.paid))
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
	message := "nothing is served at " + excerpt(path)
	if reason := isLeftOut(path); reason != "" {
		message += ": " + reason
	}
	fail(ctx, &failure{status: fasthttp.StatusNotFound, message: message + "; what is served, and what is left out, is listed at " + listPath})
}

const anyMethod = "GET, HEAD, POST, OPTIONS"

func options(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	ctx.Response.SetStatusCode(fasthttp.StatusNoContent)
}

// panicked turns a defect into one failed request: the others go on.
func (s *Server) panicked(ctx *fasthttp.RequestCtx, v any) {
	s.stats.rejected("panic").Inc()
	s.log.Error("request failed by a defect", "method", string(ctx.Method()), "path", excerpt(ctx.Path()),
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	fail(ctx, &failure{status: fasthttp.StatusInternalServerError, message: "internal error"})
}

// fastLogger takes what fasthttp has to say, mostly of clients that went away.
type fastLogger struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l fastLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("connection ended", "cause", fmt.Sprintf(format, args...))
	}
}
