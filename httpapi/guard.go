package httpapi

import (
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
)

// showsPages reports whether pages of other origins may read what a public route answers.
// What belongs to a client is for pages that know its key: any other is in the browser of
// somebody with the same address.
func showsPages(r *door.Pattern, ctx *fasthttp.RequestCtx) bool {
	if r.Methods[0].Key != door.KeyAlways {
		return true
	}
	h := &ctx.Request.Header
	if !ctx.IsOptions() {
		return limit.HasKey(h)
	}
	for name := range strings.SplitSeq(string(h.Peek(fasthttp.HeaderAccessControlRequestHeaders)), ",") {
		if name = strings.TrimSpace(name); strings.EqualFold(name, limit.HeaderKey) || strings.EqualFold(name, limit.HeaderKeySDK) {
			return true
		}
	}
	return false
}

// mayOwn reports whether a client that was admitted may have what the route is about, and
// else answers it. A browser sends some requests without asking whether it may, so a client
// without a key must not be one that a page of another site speaks for.
func (s *Server) mayOwn(ctx *fasthttp.RequestCtx, r *door.Route, p *door.Params) bool {
	if r.Key != door.KeyAlways || p.Client.HasKey() || !s.fromOtherSite(ctx) {
		return true
	}
	door.Fail(ctx, &door.Failure{Status: fasthttp.StatusForbidden, Message: "a web page of another site cannot use webhooks without an API key in the header x-service-api-key"})
	return false
}

// fromOtherSite reports whether a browser sends the request for a page that is not of this
// server.
func (s *Server) fromOtherSite(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	// A proxy may have changed the host, but not what the browser says of the site.
	switch from, origin := string(h.Peek("Sec-Fetch-Site")), h.Peek(fasthttp.HeaderOrigin); from {
	case "":
		return len(origin) > 0 && string(origin) != s.address(ctx)
	case "same-origin", "none": // none: a person typed the address
		return false
	}
	return true
}

// misdirected reports whether a request is for a name that is not this server's. A page
// of that name would be of our own origin in a browser: somebody has had the name lead here.
// Not asked are clients whose names are known to be right: a proxy that is trusted has let
// the name in, with TLS the certificate has it, and names of a network of one's own are in
// no one else's power. Probes learn nothing but yes or no. Below /ext the answer
// is a node's.
func (s *Server) misdirected(ctx *fasthttp.RequestCtx, e *door.Endpoint, scope door.Scope) bool {
	if s.cfg.OwnHost == nil || e.Node || ctx.IsTLS() || s.cfg.OwnHost(ctx.Host()) {
		return false
	}
	if scope == door.ForClients && (e.Probe || isPrivateName(string(ctx.Host()))) {
		return false
	}
	return scope == door.ForOperators || !s.cfg.Limits.Trusts(remoteAddr(ctx))
}

// isPrivateName reports whether no name server of the internet can know a host: a name without
// a dot, as containers have them, or in a domain that is reserved for networks of one's own.
func isPrivateName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	i := strings.LastIndexByte(host, '.')
	if i < 0 {
		return true
	}
	switch strings.ToLower(host[i+1:]) {
	case "local", "internal", "localhost", "svc":
		return true
	}
	return false
}

func notOurName(ctx *fasthttp.RequestCtx) *door.Failure {
	return &door.Failure{Status: fasthttp.StatusForbidden, Message: door.Excerpt(ctx.Host()) + " is not a name of this server: use an IP address or localhost, " +
		"or have the operator name it in --public-url or --http-allowed-hosts, or the proxy in front in --trusted-proxies"}
}
