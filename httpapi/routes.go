package httpapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/probe"
	"quorate/httpapi/service"
	"quorate/httpapi/shape"
)

// Routes returns the table: all that a server can serve, in the order of the patterns.
// What is not configured is not served.
func Routes() []door.Route { return routes(new(Server)) }

// OpenAPI returns the description of everything that a server can serve, as OpenAPI 3.0.3.
// What a server does serve is at /openapi.json.
func OpenAPI() ([]byte, error) { return service.Document(Routes(), "/") }

func routes(s *Server) []door.Route {
	list := s.sign.Routes()
	list = append(list, s.evm.Routes()...)
	list = append(list, s.icm.Routes()...)
	list = append(list, exportsOf(s).Routes()...)
	list = append(list, etherscanOf(s).Routes()...)
	list = append(list, s.stream.Routes()...)
	list = append(list, s.hooks.Routes()...)
	list = append(list, s.primary.Routes()...)
	list = append(list, s.metrics.Routes()...)
	list = append(list, s.service.Routes()...)
	list = append(list, extRoutes(s)...)
	slices.SortFunc(list, func(a, b door.Route) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method, b.Method))
	})
	return list
}

// extRoutes are what [Config.Ext] serves, and probes.
func extRoutes(s *Server) []door.Route {
	return append(probe.Room{Health: s.cfg.Health, Ready: s.cfg.Ready}.Routes(), []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/metrics", Units: door.UnitsLarge, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Text, Make: door.Plain(metricsAlias(s)),
		},
		{
			Pattern: "/ext/bc/{chain}/*", Units: door.UnitsFree, Chain: "chain",
			Doc:   "passes calls on to a chain's RPC",
			Needs: door.NeedsNode, Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/P/*", Units: door.UnitsFree,
			Doc:   "passes calls on to the P-Chain's RPC, where avalanchego's client asks for it",
			Needs: door.NeedsNode, Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/info", Units: door.UnitsFree,
			Doc:   "passes calls on to the info API of a followed node",
			Needs: door.NeedsNode, Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/health/*", Units: door.UnitsFree, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns what the health checks found",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: metricsPath, Units: door.UnitsLarge, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Text, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/*", Units: door.UnitsFree, Key: door.KeyNever, Access: door.Operator,
			Doc: "answers the rest of a node's RPC, and the names that it gave to parts of it",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
	}...)
}

// exportsOf returns what answers about exports.
func exportsOf(s *Server) *exports.Room {
	x := &exports.Room{
		Operations: s.cfg.Operations, PublicURL: s.cfg.PublicURL, DownloadTime: s.cfg.DownloadTime, Keys: s.cfg.FileKeys,
		WriteTimeout: s.cfg.WriteTimeout, Owe: s.desk.Owe, Work: s.work, Log: s.log,
	}
	if s.conns != nil {
		x.Stopped, x.LastWrites = s.conns.stopped, func() time.Time { return s.conns.lastWrites }
	}
	if chains := s.cfg.Chains; chains != nil {
		x.Chain = func(name string) (number string, id chain.ID, ok bool) {
			c, ok := chains.Chain(name)
			if !ok {
				return "", id, false
			}
			return c.Info.ChainID, c.ID(), true
		}
	}
	return x
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
