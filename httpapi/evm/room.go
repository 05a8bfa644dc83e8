package evm

import (
	"math"
	"slices"
	"time"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
)

// Facts know what is in no block. What a nil one would know is left out of answers.
type Facts struct {
	Prices      Prices
	NFTMetadata NFTMetadata
	// NFTs fetches the metadata of which NFTMetadata knows nothing.
	NFTs       NFTs
	Reputation Reputation
	Logos      Logos
	Methods    MethodNames
}

// Room answers about EVM chains. The zero value only has routes.
type Room struct {
	Facts
	// Chains are those that are followed; nil serves none.
	Chains Chains
	// NodeTimeout bounds the wait for a balance that only a chain's node knows.
	NodeTimeout time.Duration

	calls  reply.Calls[call, *call]
	tokens *tokenCache
	owners ownerCache
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk) {
	m.tokens = newTokenCache()
	m.calls.Desk = desk
	m.calls.New = func() *call {
		c := &call{Request: Request{EVM: m}, q: query{end: math.MaxUint64}}
		c.Q.Own = &c.q
		return c
	}
}

// Routes are all that is served of EVM chains.
func (m *Room) Routes() []door.Route {
	list := slices.Concat(m.chainRoutes(), m.addressRoutes(), m.blockRoutes(), m.partRoutes(), m.nftRoutes(), m.allChainsRoutes(), m.metricRoutes())
	for i := range list {
		list[i].Off = m.Chains == nil
		list[i].Own = func() any { return &query{end: math.MaxUint64} }
	}
	return list
}
