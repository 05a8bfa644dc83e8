// Package primary answers about the P-, X- and C-Chain as those of the primary network.
package primary

import (
	"slices"

	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/kept"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// Room answers about the primary network. The zero value only has routes.
type Room struct {
	Finder
	// EVM finds the chain whose fees the supply of AVAX needs; nil: there is none.
	EVM evm.Chains

	calls   reply.Calls[call, *call]
	geneses *kept.Cache[keptGenesis]
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk) {
	m.geneses = newGenesisCache()
	m.calls.Desk, m.calls.New = desk, func() *call {
		c := &call{room: m, texts: &view.Texts{}}
		c.Q.Own = &c.own
		return c
	}
}

// Routes are all that is served of the primary network.
func (m *Room) Routes() []door.Route {
	list := slices.Concat(m.contractRoutes(), m.platformRoutes(), m.fundsRoutes(), m.stakingRoutes(), m.feeRoutes(), []door.Route{m.supplyRoute()})
	for i := range list {
		list[i].Off, list[i].PathParams = m.Networks == nil, pathParams
	}
	return list
}

// pathParams are those that mean something else here than on EVM chains.
var pathParams = []door.PathParam{
	{Name: "txHash", Doc: "a transaction", Schema: door.IDLike(), Names: false},
	{Name: "blockId", Doc: "a block, by height or ID", Schema: door.TextLike("^([0-9]{1,19}|[1-9A-HJ-NP-Za-km-z]{33,51}|0x[0-9a-fA-F]{64})$", "1"), Names: false},
}

// on makes the handler of a route. kinds are the chains that its blockchainId may name; of a
// pattern without one, the chain that it reads. check looks at the parameters once the
// network is known; nil if there is nothing to look at. run writes the body.
func (m *Room) on(kinds []primary.Kind, check, run func(c *call) *door.Failure) door.Maker {
	return m.calls.Make(func(c *call) *door.Failure { return c.serve(kinds, check, run) })
}
