package evm

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// blockRoutes are the blocks of EVM chains, of one and of all. Both SDKs know the
// latter by two paths.
func (m *Room) blockRoutes() []door.Route {
	all := func(id uint8, pattern string) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsMedium,
			Doc: "lists the latest blocks of all chains",
			ID:  id, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamNetwork}, Size: reply.PagesOf100,
			Answer: shape.EVMBlocks{}, Make: m.onChains(nil, allBlocks),
		}
	}
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the latest blocks",
			ID:  90, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Answer: shape.EVMBlocks{}, Make: m.onChain(nil, latestBlocks),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks/{blockId}", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns one block, by number or hash",
			ID:  91, Answer: shape.EVMBlock{}, Make: m.onChain((*call).itemBlock, singleBlock),
		},
		all(92, "/v1/blocks"), all(93, "/v1/chains/allBlocks"),
	}
}

// latestBlocks lists the blocks of the chain, the newest first.
func latestBlocks(c *call) *door.Failure {
	c.List("blocks")
	next, err := c.V.Blocks(c.page(), func(b *index.Block) bool {
		c.W.Block(b)
		return c.Room()
	})
	return c.End(next, err)
}

func singleBlock(c *call) *door.Failure {
	if f := c.findBlock(); f != nil {
		return f
	}
	b, found, err := c.V.BlockAt(c.number)
	if err != nil {
		return c.Unreadable(err)
	}
	if !found {
		return c.Absent("block " + strconv.FormatUint(c.number, 10) + " does not exist or is not indexed yet")
	}
	c.only(0)
	c.W.Block(&b)
	return nil
}

// allBlocks lists the latest blocks of all chains.
func allBlocks(c *call) *door.Failure {
	m := merged{}
	if f := c.openMerged(&m); f != nil {
		return f
	}
	if f := c.eachChain(func(*Chain) {}, func() *door.Failure { return c.mergeBlocks(&m) }); f != nil {
		return f
	}
	return c.endMerged("blocks", &m)
}

// mergeBlocks writes as many blocks of the open chain as the page can need, and one more.
func (c *call) mergeBlocks(m *merged) *door.Failure {
	id := c.Chain.ID()
	chain := binary.BigEndian.Uint64(id[:])
	height, _, err := c.Behind(m.after, chain)
	if err != nil {
		return c.Unreadable(err)
	}
	if m.after != nil && chain == m.after.Chain {
		height = m.after.Height // a block is one row
	}
	n := 0
	_, err = c.V.Blocks(index.Page{Limit: math.MaxInt, To: height}, func(b *index.Block) bool {
		from := len(c.W.B)
		c.W.Block(b)
		m.rows = append(m.rows, mergedRow{
			Place: Place{Second: b.TimeMilli / 1000, Chain: chain, Height: b.Number}, from: from, to: len(c.W.B),
		})
		n++
		return n <= c.Q.PageSize
	})
	if err != nil {
		return c.Unreadable(err)
	}
	return nil
}
