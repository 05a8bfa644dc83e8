package httpapi

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// serviceRoutes are what both SDKs ask about the service itself, on the hosts of data
// and of metrics.
func serviceRoutes(s *Server) []Route {
	var list []Route
	for _, version := range []string{"/v1", "/v2"} {
		list = append(list,
			Route{
				Method: fasthttp.MethodGet, Pattern: version + "/health-check", Units: unitsFree, Key: KeyNever, Probe: true,
				Doc: "says whether the server can do its work, in the form that the SDKs know",
				off: s.cfg.Health == nil, answer: shape.Alive{}, make: plain(s.healthCheck),
			},
			Route{
				Method: fasthttp.MethodGet, Pattern: version + "/live-check", Units: unitsFree, Key: KeyNever, Probe: true,
				Doc:    "says that the server runs",
				answer: shape.Alive{}, make: plain(s.liveCheck),
			})
	}
	return append(list,
		Route{
			Method: fasthttp.MethodGet, Pattern: openAPIPath, Units: unitsFree, Key: KeyNever,
			Doc:    "returns this description of the API, in the form of OpenAPI",
			answer: shape.Described{}, make: plain(describeRoutes(s)),
		},
		Route{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains", Units: unitsFree, Key: KeyNever,
			Doc:   "lists the chains that have metrics",
			query: []param{paramNoPageToken, paramNetwork, paramFeature}, off: s.cfg.Chains == nil, answer: shape.MetricChains{}, make: with(s, metricChains),
		},
		Route{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}", Units: unitsFree, Key: KeyNever, Chain: "chainId",
			Doc: "returns one of them",
			off: s.cfg.Chains == nil, answer: shape.MetricChain{}, make: chainItself(s, (*call).metricChain),
		})
}

// aliveBody is what the SDKs know of a service that is well. It names no checks: any
// page may read it, and /health has them for operators.
const aliveBody = `{"status":"ok","info":{},"error":{},"details":{}}`

// healthCheck answers yes, or the documented error.
func (s *Server) healthCheck(ctx *fasthttp.RequestCtx, p params) {
	if !s.cfg.Health.Health(nil).Healthy {
		ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
		fail(ctx, &failure{status: fasthttp.StatusServiceUnavailable, retryAfter: defaultRetry,
			message: "the server cannot do its work; its operator sees at /health why"})
		return
	}
	s.liveCheck(ctx, p)
}

// liveCheck: whoever can answer lives.
func (s *Server) liveCheck(ctx *fasthttp.RequestCtx, _ params) {
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.SetBodyString(aliveBody)
}

// metricChains makes the handler of the list of chains on the host of metrics.
func metricChains(s *Server, r *Route) handler {
	return func(ctx *fasthttp.RequestCtx, _ params) {
		c := s.calls.get(s, ctx, r)
		defer s.calls.put(c)
		if f := c.q.parse(ctx.URI().QueryString(), r.query, r.size); f != nil {
			fail(ctx, f)
			return
		}
		c.w.B = ctx.Response.SwapBody(nil)[:0]
		c.list("chains")
		for _, chain := range c.s.cfg.Chains.Chains() {
			if info := chain.Info(); c.wanted(info) {
				c.w.MetricChain(info)
			}
		}
		c.w.Raw("]}")
		s.answer(ctx, c)
	}
}

// metricChain writes a chain for the host of metrics.
func (c *call) metricChain(chain Chain) { c.w.MetricChain(chain.Info()) }

// wanted reports whether a chain is of the network, and has the feature, that is
// asked for.
func (c *call) wanted(info *view.ChainInfo) bool {
	return (c.q.network == "" || info.IsTestnet == (c.q.network != "mainnet")) && (c.q.feature == "" || info.Has(c.q.feature))
}

// leftOut is a call that the SDKs know and that is not served. Its pattern is like that
// of a [Route].
type leftOut struct{ pattern, reason string }

// leftOuts returns the calls that are about the vendor's own accounts and coins.
func leftOuts() []leftOut {
	const accounts = "it is about the accounts of the public service's customers, which are not here"
	return []leftOut{
		{"/v1/apiLogs", accounts},
		{"/v1/apiUsageMetrics", accounts},
		{"/v1/rpcUsageMetrics", accounts},
		{"/v1/subnetRpcUsageMetrics", accounts},
		{"/v2/lookingGlass/compositeQuery", "it is a search over data of the public service alone"},
		{"/v2/chains/43114/btcb/bridged:getAddresses", "it is about a bridge that the public service keeps a list of"},
	}
}

// isLeftOut returns why a path is not served, empty if it is none of those left out.
func isLeftOut(path []byte) string {
	for _, l := range leftOuts() {
		if l.has(path) {
			return l.reason
		}
	}
	return ""
}

// has reports whether a path is one of the pattern.
func (l *leftOut) has(path []byte) bool {
	for seg := range strings.SplitSeq(l.pattern, "/") {
		if path == nil {
			return false
		}
		var got []byte
		got, path, _ = bytes.Cut(path, slash) // path is nil after the last
		if param := strings.HasPrefix(seg, "{"); param && len(got) == 0 || !param && string(got) != seg {
			return false
		}
	}
	return path == nil
}

// appendLeftOut appends the list of what is left out.
func appendLeftOut(dst []byte) []byte {
	dst = append(dst, '[')
	for i, l := range leftOuts() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = view.AppendString(append(dst, `{"path":`...), l.pattern)
		dst = view.AppendString(append(dst, `,"reason":`...), l.reason)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
