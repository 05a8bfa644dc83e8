// Package service answers about the service itself: what it serves, as a list and as a
// description for programs, and, in the form that the SDKs know, whether it does.
package service

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/probe"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// Room answers about the service.
type Room struct {
	// Health is what the health checks found; nil: there is no such path.
	Health probe.Health
	// Table returns all routes.
	Table func() []door.Route
	// PublicURL is the address of this server as clients know it.
	PublicURL string

	desk *reply.Desk
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk) { m.desk = desk }

// Routes are what both SDKs ask about the service itself, on the hosts of data
// and of metrics.
func (m *Room) Routes() []door.Route {
	var list []door.Route
	for _, version := range []string{"/v1", "/v2"} {
		list = append(list,
			door.Route{
				Method: fasthttp.MethodGet, Pattern: version + "/health-check", Units: door.UnitsFree, Key: door.KeyNever, Probe: true,
				Doc: "says whether the server can do its work, in the form that the SDKs know",
				Off: m.Health == nil, Answer: shape.Alive{}, Make: door.Plain(m.healthCheck),
			},
			door.Route{
				Method: fasthttp.MethodGet, Pattern: version + "/live-check", Units: door.UnitsFree, Key: door.KeyNever, Probe: true,
				Doc:    "says that the server runs",
				Answer: shape.Alive{}, Make: door.Plain(liveCheck),
			})
	}
	return append(list,
		door.Route{
			Method: fasthttp.MethodGet, Pattern: ListPath, Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere,
			Doc:    "lists what is served",
			Answer: shape.Endpoints{}, Make: door.Plain(m.listRoutes()),
		},
		door.Route{
			Method: fasthttp.MethodGet, Pattern: OpenAPIPath, Units: door.UnitsFree, Key: door.KeyNever,
			Doc:    "returns this description of the API, in the form of OpenAPI",
			Answer: shape.Described{}, Make: door.Plain(m.describeRoutes(OpenAPIPath)),
		},
		door.Route{
			Method: fasthttp.MethodGet, Pattern: LLMsPath, Units: door.UnitsFree, Key: door.KeyNever,
			Doc:    "returns the same as a page for language models, in the form of llms.txt",
			Answer: shape.Text, Make: door.Plain(m.describeRoutes(LLMsPath)),
		})
}

// AliveBody is what the SDKs know of a service that is well. It names no checks: any
// page may read it, and /health has them for operators.
const AliveBody = `{"status":"ok","info":{},"error":{},"details":{}}`

// healthCheck answers yes, or the documented error.
func (m *Room) healthCheck(ctx *fasthttp.RequestCtx, p door.Params) {
	if !m.Health.Health(nil).Healthy {
		ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
		door.Fail(ctx, door.Unavailable("the server cannot do its work; its operator sees at /health why"))
		return
	}
	liveCheck(ctx, p)
}

// liveCheck: whoever can answer lives.
func liveCheck(ctx *fasthttp.RequestCtx, _ door.Params) {
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.SetBodyString(AliveBody)
}

// LeftOut is a call that the SDKs know and that is not served. Its pattern is like that
// of a [door.Route].
type LeftOut struct{ Pattern, Reason string }

// LeftOuts returns the calls that are about the vendor's own accounts and coins.
func LeftOuts() []LeftOut {
	const accounts = "it is about the accounts of the public service's customers, which are not here"
	return []LeftOut{
		{"/v1/apiLogs", accounts},
		{"/v1/apiUsageMetrics", accounts},
		{"/v1/rpcUsageMetrics", accounts},
		{"/v1/subnetRpcUsageMetrics", accounts},
		{"/v2/lookingGlass/compositeQuery", "it is a search over data of the public service alone"},
		{"/v2/chains/43114/btcb/bridged:getAddresses", "it is about a bridge that the public service keeps a list of"},
	}
}

// WhyLeftOut returns why a path is not served, empty if it is none of those left out.
func WhyLeftOut(path []byte) string {
	for _, l := range LeftOuts() {
		if l.Has(path) {
			return l.Reason
		}
	}
	return ""
}

// Has reports whether a path is one of the pattern.
func (l *LeftOut) Has(path []byte) bool {
	for seg := range strings.SplitSeq(l.Pattern, "/") {
		if path == nil {
			return false
		}
		var got []byte
		got, path, _ = bytes.Cut(path, door.Slash) // Path is nil after the last
		if param := strings.HasPrefix(seg, "{"); param && len(got) == 0 || !param && string(got) != seg {
			return false
		}
	}
	return path == nil
}

// appendLeftOut appends the list of what is left out.
func appendLeftOut(dst []byte) []byte {
	dst = append(dst, '[')
	for i, l := range LeftOuts() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = view.AppendString(append(dst, `{"path":`...), l.Pattern)
		dst = view.AppendString(append(dst, `,"reason":`...), l.Reason)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
