// Package stream sends what happens on the chains, and to the server, as it happens: Server-Sent
// Events that a client can continue where it was.
package stream

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/events"
	"quorate/engine/metric"
	"quorate/engine/yield"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/limit"
	"quorate/httpapi/primary"
	"quorate/httpapi/probe"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/sign"
)

// Events knows what happens on the chains that are followed.
type Events interface {
	// Hub returns the events of a chain, false if it is not followed.
	Hub(id chain.ID) (*events.Hub, bool)
}

// Room streams events. The zero value only has routes.
type Room struct {
	// Events knows what happens; nil serves no streams.
	Events Events
	// EVM are the chains that streams are about; nil serves none.
	EVM *evm.Room
	// Primary finds the network whose validators are watched.
	Primary primary.Finder
	// Sign has messages signed before they are sent.
	Sign *sign.Room
	// Health is what the health of the server is seen by; nil: it is not known.
	Health probe.Health
	Limits *limit.Limiter
	// Spare is the processors' time that requests leave: history waits for it. Nil: it does not.
	Spare *yield.Time
	// Most bounds the open streams, PerClient those of one API key, or address without one, and
	// Operators those at operators' listeners.
	Most, PerClient, Operators int
	// Conn returns the connection of a request, nil in tests without a network.
	Conn func(ctx *fasthttp.RequestCtx) net.Conn
	// Stopped is closed when the server stops; what writes then ends at LastWrites.
	Stopped    <-chan struct{}
	LastWrites func() time.Time
	// Heartbeat is how long nothing may be sent; the client's end is noticed by it. SlowAfter is
	// how long a client may take for one piece.
	Heartbeat, SlowAfter time.Duration

	desk    *reply.Desk
	streams streams
	states  states
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk, set *metric.Set) {
	m.desk, m.Heartbeat, m.SlowAfter = desk, heartbeat, slowAfter
	m.streams.init(set)
}

// Stop bounds what clients still take. The connections were stopped before.
func (m *Room) Stop() { m.streams.stop() }

// Open returns how many streams are open.
func (m *Room) Open() int { return m.streams.len() }

// Routes are that of streams.
func (m *Room) Routes() []door.Route {
	return []door.Route{{
		Method: fasthttp.MethodGet, Pattern: "/v1/events", Units: door.UnitsLarge, Cookie: true,
		Doc: "streams events of chains and of the server as Server-Sent Events",
		ID:  120, Query: []door.Param{
			paramTopics, paramEventChains, paramEventAddresses, paramEventTokens, paramDestinations, paramEventQuorum,
			paramEventStart, paramLastEventID, door.ParamNetwork,
		},
		Off: m.Events == nil || m.EVM == nil || m.EVM.Chains == nil, Owned: true, Answer: shape.Events, Refused: []int{fasthttp.StatusNotFound}, Make: m.streamEvents,
	}}
}
