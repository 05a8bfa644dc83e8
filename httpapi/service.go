package httpapi

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// serviceRoutes are what both SDKs ask about the service itself, on the hosts of data
// and of metrics.
func serviceRoutes(s *Server) []door.Route {
	var list []door.Route
	for _, version := range []string{"/v1", "/v2"} {
		list = append(list,
			door.Route{
				Method: fasthttp.MethodGet, Pattern: version + "/health-check", Units: door.UnitsFree, Key: door.KeyNever, Probe: true,
				Doc: "says whether the server can do its work, in the form that the SDKs know",
				Off: s.cfg.Health == nil, Answer: shape.Alive{}, Make: door.Plain(s.healthCheck),
			},
			door.Route{
				Method: fasthttp.MethodGet, Pattern: version + "/live-check", Units: door.UnitsFree, Key: door.KeyNever, Probe: true,
				Doc:    "says that the server runs",
				Answer: shape.Alive{}, Make: door.Plain(s.liveCheck),
			})
	}
	return append(list,
		door.Route{
			Method: fasthttp.MethodGet, Pattern: listPath, Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere,
			Doc:    "lists what is served",
			Answer: shape.Endpoints{}, Make: door.Plain(listRoutes(s)),
		},
		door.Route{
			Method: fasthttp.MethodGet, Pattern: openAPIPath, Units: door.UnitsFree, Key: door.KeyNever,
			Doc:    "returns this description of the API, in the form of OpenAPI",
			Answer: shape.Described{}, Make: door.Plain(describeRoutes(s, openAPIPath)),
		},
		door.Route{
			Method: fasthttp.MethodGet, Pattern: llmsPath, Units: door.UnitsFree, Key: door.KeyNever,
			Doc:    "returns the same as a page for language models, in the form of llms.txt",
			Answer: shape.Text, Make: door.Plain(describeRoutes(s, llmsPath)),
		})
}

// aliveBody is what the SDKs know of a service that is well. It names no checks: any
// page may read it, and /health has them for operators.
const aliveBody = `{"status":"ok","info":{},"error":{},"details":{}}`

// healthCheck answers yes, or the documented error.
func (s *Server) healthCheck(ctx *fasthttp.RequestCtx, p door.Params) {
	if !s.cfg.Health.Health(nil).Healthy {
		ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
		door.Fail(ctx, door.Unavailable("the server cannot do its work; its operator sees at /health why"))
		return
	}
	s.liveCheck(ctx, p)
}

// liveCheck: whoever can answer lives.
func (s *Server) liveCheck(ctx *fasthttp.RequestCtx, _ door.Params) {
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.SetBodyString(aliveBody)
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
		got, path, _ = bytes.Cut(path, door.Slash) // path is nil after the last
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
