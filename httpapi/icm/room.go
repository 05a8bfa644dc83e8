// Package icm answers about interchain messages of all chains together: messages by message,
// and how many there were.
package icm

import (
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// Room answers about interchain messages. The zero value only has routes.
type Room struct {
	// EVM has the chains.
	EVM *evmapi.Room
	// Signed reports whether the warp message with an ID is signed, as far as this server
	// knows. Nil: of none.
	Signed func(id chain.ID) bool

	calls reply.Calls[call, *call]
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk) {
	m.calls.Desk = desk
	m.calls.New = func() *call {
		c := &call{Request: evmapi.Request{EVM: m.EVM}, signed: m.Signed}
		c.Q.Own = &c.q
		return c
	}
}

// Routes are all that is served of interchain messages.
func (m *Room) Routes() []door.Route {
	list := append(m.listRoutes(), m.countRoutes()...)
	for i := range list {
		list[i].Off = m.EVM == nil || m.EVM.Chains == nil
		list[i].Own = func() any { return &query{} }
	}
	return list
}

// oldPrefix is where the deprecated calls are.
const oldPrefix = "/v1/teleporter"

// listRoutes are the interchain messages of all chains together. The SDKs know them by
// two names, the older of which is deprecated.
func (m *Room) listRoutes() []door.Route {
	routes := func(id uint8, prefix string) []door.Route {
		return []door.Route{
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/messages", Units: door.UnitsMedium,
				Doc: "lists interchain messages, the newest first",
				ID:  id, Size: reply.PagesOf100,
				Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramSourceChain, paramDestinationChain, paramEitherChain, paramTo, paramFrom, door.ParamNetwork},
				Answer: shape.ICMMessages{}, Make: m.onChains(nil, (*call).messages),
			},
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/messages/{messageId}", Units: door.UnitsMedium,
				Doc:    "returns one interchain message",
				Answer: shape.ICMMessage{}, Refused: []int{fasthttp.StatusNotFound}, Make: m.onChains((*call).itemMessage, (*call).message),
			},
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/addresses/{address}/messages", Units: door.UnitsMedium,
				Doc: "lists the interchain messages that an address sent, or that are for it",
				ID:  id + 1, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamNetwork}, Size: reply.PagesOf100,
				Answer: shape.ICMMessages{}, Make: m.onChains((*call).itemAddress, (*call).messages),
			},
		}
	}
	return append(routes(110, "/v1/icm"), routes(112, oldPrefix)...)
}

// countRoutes are the numbers of interchain messages.
func (m *Room) countRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/icm/summary", Units: door.UnitsMedium, Key: door.KeyNever,
			Doc: "returns how many interchain messages there were lately, and in all",
			ID:  114, Query: []door.Param{paramSrc, paramDest, paramGroupBy, door.ParamNetwork},
			Answer: shape.ICMSummary{}, Make: m.onChains(nil, (*call).summary),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/icm/timeseries", Units: door.UnitsMedium, Key: door.KeyNever,
			Doc: "lists how many interchain messages there were in each interval, the newest first",
			ID:  115, Size: reply.PagesOfPoints,
			Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamTimeInterval, paramSrc,
				paramDest, paramGroupBy, door.ParamNetwork},
			Answer: shape.ICMPoints{}, Make: m.onChains(nil, (*call).series),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/teleporterMetrics/{metric}", Units: door.UnitsMedium, Key: door.KeyNever, Chain: "chainId",
			Doc: "returns how many interchain messages a chain has sent, received or both",
			ID:  116, Choices: teleporterMetrics, Answer: shape.ICMNumber{}, Make: m.calls.Make((*call).teleporterMetric),
		},
	}
}

// call is one request about interchain messages.
type call struct {
	evmapi.Request
	q      query
	signed func(id chain.ID) bool // reports whether the message with an ID is; nil: of none
	hash   evm.Hash
	addr   evm.Address
}

// Forget implements [reply.Call].
func (c *call) Forget() { *c = call{Request: c.Emptied(), signed: c.signed} }

// onChains makes the handler of a route that reads all chains. item reads the pattern's
// parameter; nil if there is none. run writes the body.
func (m *Room) onChains(item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return m.calls.Make(func(c *call) *door.Failure {
		f := c.Parse()
		if f == nil && item != nil {
			f = item(c, c.Params.Values[0])
		}
		if f == nil {
			f = c.ReadAll(func() *door.Failure { return run(c) })
		}
		return f
	})
}
