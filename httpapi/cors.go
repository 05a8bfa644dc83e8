package httpapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/reply"
	"quorate/httpapi/sign"
)

// What pages of other origins may send, read, and for how long they may remember
// it, in seconds (browsers cut it to two hours or to a day).
const (
	corsRequestHeaders = "Accept, Accept-Language, Content-Type, Cache-Control, User-Agent, X-Requested-With, " +
		"Last-Event-ID, X-Service-Api-Key, X-Glacier-Api-Key, X-App-Component, " + headerRequestID
	corsExposed = "Retry-After, Content-Length, Content-Range, Content-Disposition, Etag, Vary, Node-Id, " + reply.HeaderRatePolicy + ", " + reply.HeaderRateLimit + ", " + reply.HeaderRateRemaining + ", " + reply.HeaderRateReset + ", " +
		reply.HeaderIndexedHeight + ", " + reply.HeaderChainHeight + ", " + reply.HeaderGaps + ", " + evmapi.HeaderSettled + ", " + door.HeaderIgnored + ", " + sign.HeaderQuorumNote + ", " + sign.HeaderPChainHeight + ", " + headerRequestID
	corsMaxAge = "86400"
	// maxAskedHeaders bounds the list of headers that a browser asks for, in bytes.
	maxAskedHeaders = 1 << 10
)

// origins are the origins whose pages may use the public routes. Nothing is
// answered to one that depends on cookies or on where a browser is: keys are sent
// in headers, by pages that know them.
type origins struct {
	all  bool
	list []string
}

func newOrigins(list []string) origins {
	return origins{all: slices.Contains(list, "*"), list: list}
}

// allow lets the page that a request comes from read the answer.
func (o *origins) allow(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Response.Header
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	switch {
	case len(o.list) == 0:
		return false
	case o.all && len(origin) > 0:
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	case o.all:
		return false
	default:
		// Also without an origin: a cache must not give that answer to a page.
		h.Set(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
		if len(origin) == 0 || !o.has(string(origin)) {
			return false
		}
		h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	}
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, corsExposed)
	return true
}

// has reports whether an origin is listed. Schemes and hosts have no case.
func (o *origins) has(origin string) bool {
	return slices.ContainsFunc(o.list, func(s string) bool { return strings.EqualFold(s, origin) })
}

// preflight answers a browser's question before a request that is not simple, and
// reports whether the request was one. methods are those of the route.
func (o *origins) preflight(ctx *fasthttp.RequestCtx, methods string) bool {
	allowed := o.allow(ctx)
	if !ctx.IsOptions() || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) == 0 {
		return false
	}
	if allowed {
		h := &ctx.Response.Header
		h.Set(fasthttp.HeaderAccessControlAllowMethods, methods)
		h.Set(fasthttp.HeaderAccessControlAllowHeaders, corsRequestHeaders)
		// A header that is not read does no harm: tracing adds its own.
		if asked := ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders); len(asked) > 0 && len(asked) <= maxAskedHeaders && headerNames(asked) {
			h.Set(fasthttp.HeaderAccessControlAllowHeaders, corsRequestHeaders+", "+string(asked))
		}
		vary := fasthttp.HeaderAccessControlRequestHeaders
		if !o.all {
			vary = fasthttp.HeaderOrigin + ", " + vary
		}
		h.Set(fasthttp.HeaderVary, vary)
		h.Set(fasthttp.HeaderAccessControlMaxAge, corsMaxAge)
	}
	options(ctx, methods)
	return true
}

// headerNames reports whether v is a list of names of headers (RFC 9110, 5.6.2).
func headerNames(v []byte) bool {
	for _, c := range v {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', bytes.IndexByte([]byte("!#$%&'*+-.^_`|~, "), c) >= 0:
		default:
			return false
		}
	}
	return true
}
