package rpc

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"
)

// hosts are the names that requests may be sent to. IP addresses are always
// fine: an attacker's page that is same-origin with us comes by a name.
type hosts struct {
	any   bool
	names map[string]bool
}

func newHosts(allowed []string) hosts {
	h := hosts{names: map[string]bool{"localhost": true}}
	for _, name := range allowed {
		h.any = h.any || name == "*"
		if name != "" {
			h.names[strings.ToLower(name)] = true
		}
	}
	return h
}

// refuse says, beside a node's own words, what a host name is refused for.
func refuse(ctx *fasthttp.RequestCtx) {
	answerText(ctx, fasthttp.StatusForbidden, fmt.Sprintf("invalid host specified: %q is not a name of this server. Use an IP address or localhost, "+
		"or have the operator name it in --http-allowed-hosts.\n", excerpt(string(ctx.Host()))))
}

// allow reports whether requests for host, with or without port, are answered.
// Clients older than HTTP/1.1 send none; browsers always do.
func (h *hosts) allow(host []byte) bool {
	if h.any || len(host) == 0 {
		return true
	}
	name := string(host)
	if withoutPort, _, err := net.SplitHostPort(name); err == nil {
		name = withoutPort
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if h.names[strings.ToLower(name)] {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// OwnHost reports whether requests for host, with or without port, are answered.
func (s *Service) OwnHost(host []byte) bool { return s.hosts.allow(host) }

// sameOrigin reports whether a request comes from no web page, or from one that we
// served ourselves. The administration has no credentials, so any other page that
// an operator opens must not be able to drive it.
func sameOrigin(ctx *fasthttp.RequestCtx) bool {
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	if len(origin) == 0 {
		return true
	}
	scheme, authority, ok := bytes.Cut(origin, []byte("://"))
	port := map[string]string{"http": ":80", "https": ":443"}[string(scheme)]
	if !ok || port == "" {
		return false
	}
	bare := func(host []byte) []byte { return bytes.TrimSuffix(host, []byte(port)) }
	return bytes.EqualFold(bare(authority), bare(ctx.Host()))
}

// refused answers a foreign page's call of the administration.
func (s *Service) refused(ctx *fasthttp.RequestCtx) {
	s.count("admin", "foreign_origin").Inc()
	s.log.LogAttrs(s.work, slog.LevelWarn, "admin call refused: it comes from a web page of another origin",
		slog.String("remote", ctx.RemoteAddr().String()),
		slog.String("origin", excerpt(string(ctx.Request.Header.Peek(fasthttp.HeaderOrigin)))))
	answerText(ctx, fasthttp.StatusForbidden, "foreign origin refused\n")
}

// mayConnect reports whether a page may open a WebSocket, which browsers do not ask
// about. It may if it may read answers to calls, which the HTTP server has decided
// by then, or comes from us.
func mayConnect(ctx *fasthttp.RequestCtx) bool {
	return sameOrigin(ctx) || len(ctx.Response.Header.Peek(fasthttp.HeaderAccessControlAllowOrigin)) > 0
}
