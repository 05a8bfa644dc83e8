package httpapi

import (
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/health"
	"quorate/httpapi/door"
	"quorate/httpapi/view"
)

// Health is what the health checks found last. No method runs a check.
type Health interface {
	Health(tags []string) health.Report
}

// health answers GET /health with 200 or 503, in the form of the relayer's own
// aggregator: {"status":"up"}. Operators are also told of each check; clients of a
// public listener learn no more than yes or no.
func (s *Server) health(ctx *fasthttp.RequestCtx, p door.Params) {
	report := s.cfg.Health.Health(nil)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.SetStatusCode(fasthttp.StatusOK)
	if !report.Healthy {
		ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	body := append(ctx.Response.SwapBody(nil)[:0], `{"status":`...)
	body = appendUp(body, report.Healthy)
	if p.Scope != door.ForClients {
		body = appendChecks(append(body, `,"details":`...), report.Checks)
	}
	ctx.Response.SwapBody(append(body, '}'))
}

func appendUp(dst []byte, up bool) []byte {
	if up {
		return append(dst, `"up"`...)
	}
	return append(dst, `"down"`...)
}

func appendChecks(dst []byte, checks map[string]health.Result) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(checks)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		c := checks[name]
		dst = append(view.AppendString(dst, name), `:{"status":`...)
		dst = appendUp(dst, c.Error == "")
		if !c.Timestamp.IsZero() {
			dst = append(dst, `,"timestamp":"`...)
			dst = append(c.Timestamp.UTC().AppendFormat(dst, time.RFC3339), '"')
		}
		if c.Error != "" {
			dst = view.AppendString(append(dst, `,"error":`...), c.Error)
		}
		if text := warningOf(c.Message); text != "" {
			dst = view.AppendString(append(dst, `,"warning":`...), text)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// warningOf returns what a check that may pass warns of, as its message says.
func warningOf(message json.RawMessage) string {
	var m struct{ Warning string }
	if json.Unmarshal(message, &m) != nil {
		return "" // a message may have any form
	}
	return m.Warning
}

// metricsAlias makes the handler of /metrics, where the relayer's own aggregator
// has them.
func metricsAlias(s *Server) door.Handler {
	pass := passOn(s)
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		ctx.Request.SetRequestURI(metricsPath)
		pass(ctx, p)
	}
}

// metricsPath is where [Config.Ext] serves metrics.
const metricsPath = "/ext/metrics"
