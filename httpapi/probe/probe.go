// Package probe answers those who look how the server is: people, balancers, and what starts
// processes again.
package probe

import (
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/health"
	"quorate/httpapi/door"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// Health is what the health checks found last. No method runs a check.
type Health interface {
	Health(tags []string) health.Report
}

// Room answers probes.
type Room struct {
	// Health is what /health answers from; nil: there is no such path.
	Health Health
	// Ready returns why the process cannot answer what is read, or, with a network, have its
	// messages signed; nil: there is no /ready.
	Ready func(sign string) error
}

// Routes returns the routes, by the names that people and balancers know.
func (m Room) Routes() (list []door.Route) {
	add := func(doc string, off bool, query []door.Param, make door.Maker, patterns ...string) {
		for _, pattern := range patterns {
			list = append(list, door.Route{
				Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere, Probe: true,
				Doc: doc, Query: query, Off: off, Answer: shape.Health{}, Make: make,
			})
		}
	}
	add("says whether the server can do its work", m.Health == nil, nil, door.Plain(m.health), "/health", "/healthz")
	add("says whether this process can answer what is read, for balancers", m.Ready == nil, []door.Param{paramSign}, m.ready, "/ready", "/readyz")
	add("says that the process answers", false, nil, door.Plain(live), "/livez")
	return list
}

// health answers GET /health with 200 or 503, in the form of the relayer's own
// aggregator: {"status":"up"}. Operators are also told of each check; clients of a
// public listener learn no more than yes or no.
func (m Room) health(ctx *fasthttp.RequestCtx, p door.Params) {
	report := m.Health.Health(nil)
	probed(ctx, report.Healthy, func(body []byte) []byte {
		if p.Scope == door.ForClients {
			return body
		}
		return appendChecks(append(body, `,"details":`...), report.Checks)
	})
}

// ready answers GET /ready, in the form of health: whether this process can answer what is
// read, whatever nodes do.
func (m Room) ready(r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		var q door.Query
		if f := q.Parse(ctx.URI().QueryString(), r.Query, r.Size); f != nil {
			door.Fail(ctx, f)
			return
		}
		err := m.Ready(q.Network)
		probed(ctx, err == nil, func(body []byte) []byte {
			if err == nil || p.Scope == door.ForClients {
				return body
			}
			return view.AppendString(append(body, `,"error":`...), err.Error())
		})
	}
}

// live answers GET /livez: whoever can answer lives.
func live(ctx *fasthttp.RequestCtx, _ door.Params) {
	probed(ctx, true, func(body []byte) []byte { return body })
}

// paramSign is the network whose messages are to be signed.
var paramSign = door.Choice("sign", "also asks for so much connected stake that messages of this network can be signed", "",
	[]string{"mainnet", "fuji", "testnet"}, func(q *door.Query, word string) { q.Network = word })

// probed answers a probe with 200 or 503; more adds what else there is to say.
func probed(ctx *fasthttp.RequestCtx, up bool, more func(body []byte) []byte) {
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.SetStatusCode(fasthttp.StatusOK)
	if !up {
		ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	body := appendUp(append(ctx.Response.SwapBody(nil)[:0], `{"status":`...), up)
	ctx.Response.SwapBody(append(more(body), '}'))
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
