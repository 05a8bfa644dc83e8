package primary

import (
	"encoding/binary"
	"errors"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/kept"
	"quorate/httpapi/view"
)

var (
	// pagesOfSubnets is that of endpoint 5.
	pagesOfSubnets = door.PageSize{Min: 1, Max: 10000, Def: 100}
	// pagesOf1024 is that of outputs of the addresses in a body.
	pagesOf1024 = door.PageSize{Min: 1, Max: 1024, Def: 10}
)

// The chains that routes of the primary network read.
var (
	onPlatform = []primary.Kind{primary.PChain}
	onExchange = []primary.Kind{primary.XChain}
	onVertices = []primary.Kind{primary.XVertices}
	onAny      = []primary.Kind{primary.PChain, primary.XChain, primary.CChain}
)

const (
	// maxGenesis bounds the genesis data in bytes that a page is made of, maxRowGenesis
	// those of one subnet, which may have any number of chains. What is beyond that is
	// left out of a subnet; a page ends early.
	maxGenesis    = 16 << 20
	maxRowGenesis = 4 << 20
)

// ErrKind means that a chain has the rows of another kind of chain.
var ErrKind = errors.New("rows of another kind of chain")

// platformOf returns the rows of the P-Chain.
func platformOf(c *call) (PlatformView, *door.Failure) {
	rows, ok := c.rows.(PlatformView)
	if !ok {
		return nil, c.unreadable(ErrKind)
	}
	return rows, nil
}

// fits makes of what writes a row what takes rows as long as there is room for them.
func fits[T any](c *call, write func(*T)) func(*T) bool {
	return func(row *T) bool {
		if !c.Room() {
			return false
		}
		write(row)
		return true
	}
}

// listSubnets is endpoint 5.
func listSubnets(c *call) *door.Failure {
	c.List("subnets")
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	next, err := rows.Subnets(c.page(), func(s *primary.Subnet) bool {
		if !c.Room() || c.genesis >= maxGenesis {
			return false
		}
		before := c.genesis
		c.W.Subnet(s, func() bool { return c.genesis-before < maxRowGenesis })
		return true
	})
	return c.finish(next, err, nil)
}

// someone demands addresses or nodes.
func someone(c *call) *door.Failure {
	if len(c.own.nodes) == 0 && len(c.own.addresses) == 0 {
		return door.BadRequest("addresses or nodeIds is required")
	}
	return nil
}

// historicalRewards is endpoint 9.
func historicalRewards(c *call) *door.Failure {
	c.List("historicalRewards")
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	of := primary.RewardFilter{Addresses: c.own.addresses, Nodes: c.own.nodes}
	next, err := rows.Rewards(&of, c.page(), fits(c, c.W.HistoricalReward))
	return c.finish(next, err, nil)
}

// listDelegators is endpoint 13.
func listDelegators(c *call) *door.Failure {
	c.List("delegators")
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	of := primary.StakerFilter{
		Subnet: &chain.PrimaryNetworkID, Nodes: c.own.nodes, Owners: c.own.addresses,
		Status: c.own.status, Delegators: true,
	}
	next, err := rows.Stakers(&of, c.page(), fits(c, c.W.Delegator))
	return c.finish(next, err, nil)
}

// verticesAt is endpoint 14.
func verticesAt(c *call) *door.Failure { return c.vertices(&c.own.height) }

func (c *call) vertices(height *uint64) *door.Failure {
	c.List("vertices")
	rows, ok := c.rows.(VertexView)
	if !ok {
		return c.unreadable(ErrKind)
	}
	next, err := rows.Vertices(height, c.page(), fits(c, c.W.Vertex))
	return c.finish(next, err, c.chainInfo)
}

// latestBlocks is endpoint 16.
func latestBlocks(c *call) *door.Failure { return c.blocks(nil) }

func (c *call) blocks(proposer *chain.NodeID) *door.Failure {
	c.List("blocks")
	times, ok := c.frame()
	if !ok {
		return c.finish(nil, nil, c.chainInfo)
	}
	f := primary.BlockFilter{TimeRange: times, Proposer: proposer}
	next, err := c.rows.Blocks(&f, c.page(), fits(c, c.W.PrimaryBlock))
	return c.finish(next, err, c.chainInfo)
}

func (c *call) chainInfo() { c.W.PrimaryChain(aliasKind(c.kind)) }

const (
	// genesisBytes bounds what is kept of the genesis data of chains, genesisSlots
	// their number.
	genesisBytes = 8 << 20
	genesisSlots = 1 << 12
	// genesisOverhead is about what one takes besides its text.
	genesisOverhead = 128
)

// keptGenesis is what was made of the genesis data of a chain, which never change.
type keptGenesis struct {
	view.Genesis
	chain chain.ID
	raw   int // length of what it was made of
}

func newGenesisCache() *kept.Cache[keptGenesis] {
	return kept.New[keptGenesis](genesisBytes, genesisSlots)
}

// chainGenesis implements the look-up of [view.Primary].
func (c *call) chainGenesis(id *chain.ID) *view.Genesis {
	hash := slotOf(id)
	g := c.room.geneses.Get(hash)
	if g == nil || g.chain != *id {
		rows, f := platformOf(c)
		if f != nil {
			return &view.Genesis{}
		}
		raw, err := rows.Genesis(*id)
		if err != nil {
			c.Note(err)
			return &view.Genesis{}
		}
		g = &keptGenesis{Genesis: view.ParseGenesis(raw), chain: *id, raw: len(raw)}
		c.room.geneses.Put(hash, g, len(g.JSON)+genesisOverhead)
	}
	c.genesis += g.raw
	return &g.Genesis
}

// slotOf hashes the ID of a chain, which is a hash.
func slotOf(id *chain.ID) uint64 { return binary.LittleEndian.Uint64(id[:]) }
