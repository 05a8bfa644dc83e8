package evm

import (
	"encoding/binary"
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
func (m *Room) allChainsRoutes() []door.Route {
	txs := func(id uint8, pattern string) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsMedium,
			Doc: "lists the latest transactions of all chains",
			ID:  id, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamNetwork, paramStatus}, Size: reply.PagesOf100,
			Answer: shape.NativeTransactions{}, Make: m.onChains(nil, allTxs),
		}
	}
	chains := func(pattern string) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern, Units: door.UnitsMedium,
			Doc:    "lists the chains that an address has transactions on",
			Answer: shape.AddressChains{}, Make: m.onChains((*call).itemAddress, addressChains),
		}
	}
	return []door.Route{
		txs(67, "/v1/transactions"), txs(68, "/v1/chains/allTransactions"),
		chains("/v1/address/{address}/chains"), chains("/v1/chains/address/{address}"),
	}
}

// onChains makes the handler of a route that reads all chains. item reads the
// pattern's parameter; nil if there is none. run writes the body.
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

// eachChain opens one chain of the network that is asked for after the other. Chains
// without a block are passed over; skipped takes them.
func (c *call) eachChain(skipped func(*Chain), run func() *door.Failure) *door.Failure {
	for _, chain := range c.EVM.Chains.Chains() {
		if !c.Wanted(chain.Info) {
			continue
		}
		o, ok, f := c.OpenAt(chain)
		if f != nil {
			return f
		}
		if !ok {
			skipped(chain)
			continue
		}
		c.Enter(&o)
		c.Tip = o.V.Tip().Number
		f = run()
		o.V.Close()
		if f != nil {
			return f
		}
	}
	return nil
}

// addressChains lists the chains that an address has transactions on. Which chains
// those are whose index has no block yet is not known: they are named apart.
func addressChains(c *call) *door.Failure {
	var unknown []string
	c.List("indexedChains")
	f := c.eachChain(func(chain *Chain) {
		unknown = append(unknown, chain.Info.ChainID)
	}, func() *door.Failure {
		_, found, err := c.V.Newest(index.ListTxs, c.addr)
		if err != nil {
			return c.Unreadable(err)
		}
		if found {
			c.chainItem(c.Chain)
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

// merged are the rows of all chains, each written apart from the others.
type merged struct {
	after *Place // of the last row of the page before; nil on the first page
	rows  []mergedRow
}

type mergedRow struct {
	Place
	from, to int // in the writer's bytes
}

// allTxs lists the latest transactions of all chains.
func allTxs(c *call) *door.Failure {
	var failed *bool
	if c.q.status != anyStatus {
		only := c.q.status == onlyFailed
		failed = &only
	}
	m := merged{}
	if f := c.openMerged(&m); f != nil {
		return f
	}
	f := c.eachChain(func(*Chain) {}, func() *door.Failure { return c.mergeTxs(&m, failed) })
	if f != nil {
		return f
	}
	return c.endMerged("transactions", &m)
}

// openMerged reads the page token, if there is one.
func (c *call) openMerged(m *merged) (f *door.Failure) {
	m.after, f = c.ReadPlace(c.Q.Canonical(append(append(c.Scratch[:0], c.Q.Network...), '/')))
	return f
}

// mergeTxs writes as many transactions of the open chain as the page can need.
func (c *call) mergeTxs(m *merged, failed *bool) *door.Failure {
	id := c.Chain.ID()
	chain := binary.BigEndian.Uint64(id[:])
	height, idx, err := c.Behind(m.after, chain)
	if err != nil {
		return c.Unreadable(err)
	}
	n := 0
	// One row more than the page has, which says that there is a next page; the rows
	// of the last page's block that it had already are passed over.
	p := index.Page{Limit: math.MaxInt, To: height}
	_, err = c.V.LatestTxs(p, failed, func(tx *index.Tx) bool {
		if height != math.MaxUint64 && tx.Block.Number == height-1 && tx.Index >= idx {
			return true
		}
		from := len(c.W.B)
		c.W.NativeTx(tx)
		m.rows = append(m.rows, mergedRow{
			Place: Place{tx.Block.TimeMilli / 1000, chain, tx.Block.Number, tx.Index}, from: from, to: len(c.W.B),
		})
		n++
		return n <= c.Q.PageSize
	})
	if err != nil {
		return c.Unreadable(err)
	}
	return nil
}

// endMerged writes the page out of the rows of all chains.
func (c *call) endMerged(name string, m *merged) *door.Failure {
	slices.SortFunc(m.rows, func(a, b mergedRow) int { return a.Compare(b.Place) })
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
		next = page[len(page)-1].Append(nil)
	}
	return c.End(next, nil)
}
