package httpapi

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/valyala/fasthttp"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// allChainsRoutes are what is served of all EVM chains together. Both SDKs know each
// of them by two paths.
func allChainsRoutes(s *Server) []door.Route {
	txs := func(id uint8, pattern string) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsMedium,
			Doc: "lists the latest transactions of all chains",
			ID:  id, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamNetwork, door.ParamStatus}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.NativeTransactions{}, Make: onChains(s, nil, (*call).allTxs),
		}
	}
	chains := func(pattern string) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsMedium,
			Doc: "lists the chains that an address has transactions on",
			Off: s.cfg.Chains == nil, Answer: shape.AddressChains{}, Make: onChains(s, (*call).itemAddress, (*call).addressChains),
		}
	}
	return []door.Route{
		txs(67, "/v1/transactions"), txs(68, "/v1/chains/allTransactions"),
		chains("/v1/address/{address}/chains"), chains("/v1/chains/address/{address}"),
	}
}

// onChains makes the handler of a route that reads all chains. item reads the
// pattern's parameter; nil if there is none. run writes the body.
func onChains(s *Server, item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return s.calls.Make(func(c *call) *door.Failure {
		c.W.Source = c
		f := c.Parse()
		if f == nil && item != nil {
			f = item(c, c.Params.Values[0])
		}
		if f == nil {
			f = run(c)
		}
		if f == nil && c.Err != nil {
			f = c.readFailure(c.Err)
		}
		return f
	})
}

// eachChain opens one chain of the network that is asked for after the other. Chains
// without a block are passed over; skipped takes them.
func (c *call) eachChain(skipped func(Chain), run func() *door.Failure) *door.Failure {
	for _, chain := range c.s.cfg.Chains.Chains() {
		info := chain.Info()
		if !c.wanted(info) {
			continue
		}
		c.tokens = chain.TokenVersion()
		v, err := chain.View(nil)
		if errors.Is(err, index.ErrEmpty) {
			skipped(chain)
			continue
		}
		c.chain, c.info = chain, info
		if err != nil {
			return c.readFailure(err)
		}
		c.v, c.Tip, c.W.Chain = v, v.Tip().Number, info
		c.Mark(reply.Mark{Chain: chain, Tip: v.Tip().Hash})
		f := run()
		v.Close()
		if f != nil {
			return f
		}
	}
	return nil
}

// addressChains lists the chains that an address has transactions on. Which chains
// those are whose index has no block yet is not known: they are named apart.
func (c *call) addressChains() *door.Failure {
	var unknown []string
	c.List("indexedChains")
	f := c.eachChain(func(chain Chain) {
		unknown = append(unknown, chain.Info().ChainID)
	}, func() *door.Failure {
		_, found, err := c.v.Newest(index.ListTxs, c.addr)
		if err != nil {
			return c.readFailure(err)
		}
		if found {
			c.chainItem(c.chain)
		}
		return nil
	})
	if f != nil {
		return f
	}
	c.W.Raw("]")
	c.W.Strings("unindexedChains", unknown)
	c.W.Raw("}")
	return nil
}

// place is where a row stands among those of all chains: the newest come first, by the
// second of the block, then by the chain, then by the place on the chain.
type place struct {
	second, chain, height uint64
	index                 uint32
}

const placeLen = 8 + 8 + 8 + 4

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.second, p.second), cmp.Compare(q.chain, p.chain), cmp.Compare(q.height, p.height),
		cmp.Compare(q.index, p.index))
}

func (p place) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, p.second)
	b = binary.BigEndian.AppendUint64(b, p.chain)
	b = binary.BigEndian.AppendUint64(b, p.height)
	return binary.BigEndian.AppendUint32(b, p.index)
}

func readPlace(b []byte) (p place, ok bool) {
	if len(b) != placeLen {
		return p, false
	}
	return place{
		second: binary.BigEndian.Uint64(b), chain: binary.BigEndian.Uint64(b[8:]), height: binary.BigEndian.Uint64(b[16:]),
		index: binary.BigEndian.Uint32(b[24:]),
	}, true
}

// merged are the rows of all chains, each written apart from the others.
type merged struct {
	after *place // of the last row of the page before; nil on the first page
	rows  []mergedRow
}

type mergedRow struct {
	place
	from, to int // in the writer's bytes
}

// allTxs lists the latest transactions of all chains.
func (c *call) allTxs() *door.Failure {
	var failed *bool
	if c.Q.Status != door.AnyStatus {
		only := c.Q.Status == door.OnlyFailed
		failed = &only
	}
	m := merged{}
	if f := c.openMerged(&m); f != nil {
		return f
	}
	f := c.eachChain(func(Chain) {}, func() *door.Failure { return c.mergeTxs(&m, failed) })
	if f != nil {
		return f
	}
	return c.endMerged("transactions", &m)
}

// openMerged reads the page token, if there is one.
func (c *call) openMerged(m *merged) *door.Failure {
	return c.openPlace(m, c.Q.Canonical(append(append(c.Scratch[:0], c.Q.Network...), '/')))
}

// openPlace is openMerged for a list that more selects.
func (c *call) openPlace(m *merged, list []byte) *door.Failure {
	if f := c.ReadToken(list); f != nil || c.After == nil {
		return f
	}
	after, ok := readPlace(c.After)
	if !ok {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	m.after = &after
	return nil
}

// behind returns the height that bounds the rows of the open chain which come after a
// row, and the index that bounds those at the height below it.
func (c *call) behind(after *place, chain uint64) (height uint64, index uint32, err error) {
	switch {
	case after == nil:
		return math.MaxUint64, math.MaxUint32, nil
	case chain == after.chain:
		return after.height + 1, after.index, nil
	case chain < after.chain: // in the same second these come later
		height, err = c.v.BlocksBefore((after.second + 1) * 1000)
	default:
		height, err = c.v.BlocksBefore(after.second * 1000)
	}
	return height, math.MaxUint32, err
}

// mergeTxs writes as many transactions of the open chain as the page can need.
func (c *call) mergeTxs(m *merged, failed *bool) *door.Failure {
	id := c.chain.ID()
	chain := binary.BigEndian.Uint64(id[:])
	height, idx, err := c.behind(m.after, chain)
	if err != nil {
		return c.readFailure(err)
	}
	n := 0
	// One row more than the page has, which says that there is a next page; the rows
	// of the last page's block that it had already are passed over.
	p := index.Page{Limit: math.MaxInt, To: height}
	_, err = c.v.LatestTxs(p, failed, func(tx *index.Tx) bool {
		if height != math.MaxUint64 && tx.Block.Number == height-1 && tx.Index >= idx {
			return true
		}
		from := len(c.W.B)
		c.W.NativeTx(tx)
		m.rows = append(m.rows, mergedRow{
			place: place{tx.Block.TimeMilli / 1000, chain, tx.Block.Number, tx.Index}, from: from, to: len(c.W.B),
		})
		n++
		return n <= c.Q.PageSize
	})
	if err != nil {
		return c.readFailure(err)
	}
	return nil
}

// endMerged writes the page out of the rows of all chains.
func (c *call) endMerged(name string, m *merged) *door.Failure {
	slices.SortFunc(m.rows, func(a, b mergedRow) int { return a.compare(b.place) })
	all := c.W.B
	c.W.B = append(c.Spare[:0], '{')
	c.Rows(name)
	page := m.rows[:min(len(m.rows), c.Q.PageSize)]
	for i := range page {
		c.W.Comma()
		row := all[page[i].from:page[i].to]
		if row[0] == ',' {
			row = row[1:]
		}
		c.W.B = append(c.W.B, row...)
	}
	c.Spare = all
	var next []byte
	if len(page) < len(m.rows) {
		next = page[len(page)-1].append(nil)
	}
	return c.end(next, nil)
}
