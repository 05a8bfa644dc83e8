package httpapi

import (
	"net/netip"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/forward"
	"quorate/httpapi/limit"
	"quorate/httpapi/reply"
)

// admit charges a request and finds out who sent it, or else answers it. All else
// that it goes by is in the line of the table of routes.
func (s *Server) admit(ctx *fasthttp.RequestCtx, r *door.Route, p *door.Params, units int) bool {
	if p.Forwarded { // and charged there
		return forward.Client(ctx, s.cfg.Limits, p)
	}
	owned := r.Key == door.KeyAlways && !s.cfg.WebhooksKeyless
	if s.cfg.Limits == nil {
		if owned {
			door.Fail(ctx, &door.Failure{Status: fasthttp.StatusUnauthorized, Message: limit.NeedsKey})
			return false
		}
		p.Client = limit.ClientAt(remoteAddr(ctx))
		return s.mayOwn(ctx, r, p)
	}
	d := s.cfg.Limits.Admit(
		func(name string) []byte {
			value := limit.Header(&ctx.Request.Header, name)
			switch {
			case len(value) > 0 || name != limit.HeaderKeySDK:
				return value
			case r.Cookie:
				return ctx.Request.Header.Cookie(keyCookie)
			case r.KeyParam != "":
				return keyOf(s, ctx, r)
			}
			return nil
		},
		remoteAddr(ctx),
		limit.Route{
			// An operator's browser has no key; who reaches that listener needs none.
			Pattern: r.Pattern, Owned: owned, Public: r.Key == door.KeyNever || r.Cookie && p.Scope == door.ForOperators, Probe: r.Probe,
			Chain: func() string { return s.chainNumber(r, p) },
		}, units)
	if f := reply.Decided(ctx, &d); f != nil {
		door.Fail(ctx, f)
		return false
	}
	p.Client, p.Paid = d.Client, units
	return s.mayOwn(ctx, r, p)
}

// chargeMore takes what a request that was admitted costs beyond its first price, once that is
// known, or else answers it.
func (s *Server) chargeMore(ctx *fasthttp.RequestCtx, p *door.Params, units int) bool {
	f := s.desk.More(ctx, p, units)
	if f != nil {
		door.Fail(ctx, f)
	}
	return f == nil
}

// sentPerUnit is how many bytes of an answer a unit is good for: many times what most
// routes send for one. packedPerUnit is that of a compressed one: what is paid for is
// making it, and JSON shrinks to a sixth. passedPerUnit is that of what a node has
// answered, which only has to be copied.
const (
	sentPerUnit   = 8 << 10
	packedPerUnit = sentPerUnit / 6
	passedPerUnit = 32 << 10
)

// sentUnits returns what an answer costs beyond what was paid for it, by its size. Streams of
// this server's own are paid for as they go on.
func sentUnits(ctx *fasthttp.RequestCtx, r *door.Route, paid int) int {
	if ctx.Response.IsBodyStream() {
		if !r.Node {
			return 0
		}
		return max(0, ctx.Response.Header.ContentLength()/passedPerUnit-paid)
	}
	per := sentPerUnit
	if len(ctx.Response.Header.ContentEncoding()) > 0 {
		per = packedPerUnit
	}
	return max(0, len(ctx.Response.Body())/per-paid)
}

// perUnit is how many bytes of a body, or of what a WebSocket sends, cost a unit. Reading and
// parsing them takes what a unit of other requests takes, a few times over.
const perUnit = 2 << 10

// bodyUnits returns what a body costs beside its route. An ordinary one costs nothing.
func bodyUnits(size int) int { return max(size, 0) / perUnit }

// remoteAddr returns the address of a connection's peer. An unknown one is a
// client of its own.
func remoteAddr(ctx *fasthttp.RequestCtx) netip.Addr {
	a, _ := netip.AddrFromSlice(ctx.RemoteIP())
	return a.Unmap()
}

// chainNumber returns the EVM chain number that a request names, empty for none.
// The limiter asks for it only where a key is good for certain chains. What it
// returns aliases the request.
func (s *Server) chainNumber(r *door.Route, p *door.Params) string {
	name := p.Get(r.Chain)
	if len(name) == 0 {
		return ""
	}
	text := unsafe.String(unsafe.SliceData(name), len(name))
	if s.cfg.Chains != nil {
		if c, ok := s.cfg.Chains.Chain(text); ok {
			return c.Info.ChainID
		}
	}
	return text
}

// passOn makes the handler of what [Config.Ext] serves.
func passOn(s *Server) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		client := p.Client
		s.cfg.Ext(ctx, func(units int) (time.Duration, bool) {
			if int64(units) > s.cfg.Limits.Most(client) {
				return 0, false
			}
			return s.cfg.Limits.Charge(client, units)
		})
	}
}

// keyOf returns the API key in a request's parameters. Tools send some word where they have
// no key, so that one which is not known counts only where keys are asked for.
func keyOf(s *Server, ctx *fasthttp.RequestCtx, r *door.Route) []byte {
	key := ctx.QueryArgs().Peek(r.KeyParam)
	if len(key) == 0 && ctx.IsPost() && !ctx.Request.IsBodyStream() {
		key = ctx.PostArgs().Peek(r.KeyParam)
	}
	if !s.cfg.Limits.RequiresKey() && !s.cfg.Limits.Knows(string(key)) {
		return nil
	}
	return key
}
