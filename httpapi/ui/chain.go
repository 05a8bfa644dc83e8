package ui

import (
	"errors"

	"quorate/httpapi/shape"
)

// Rows of lists: those on the page of a chain, and those of pages that are lists.
const (
	fewRows = 10
	allRows = 25
)

func (s *Site) chainPages() []Page {
	return []Page{
		{Pattern: "/chain", Units: 1, Serve: func(r *Request) error { return r.Redirect("/") }}, // it lists the chains
		{Pattern: "/chain/{chain}", Units: 10, Serve: serveChain},
		{Pattern: "/chain/{chain}/blocks", Units: 20, Serve: serveBlocks},
		{Pattern: "/chain/{chain}/txs", Units: 20, Serve: serveTxs},
	}
}

// chainPage is what the page of a chain shows.
type chainPage struct {
	Chain         *evmChain
	Blocks        []shape.EVMBlock
	BlocksRefused *Error
	// Indexed and Height are how far the index and the chain are, while the index is
	// behind; else empty.
	Indexed, Height string
	Txs             []evmTx
	TxsRefused      *Error
	Figures         []windowed
	Activity        *metricPlot
}

// Latest returns the last block that is indexed, nil if there is none.
func (p *chainPage) Latest() *shape.EVMBlock {
	if len(p.Blocks) == 0 {
		return nil
	}
	return &p.Blocks[0]
}

// windowed is a metric over windows of time.
type windowed struct {
	metricInfo
	Windows shape.Windows
	Refused *Error
}

func serveChain(r *Request) error {
	if name := r.Param("chain"); name == "P" || name == "X" {
		return r.Redirect("/primary") // its chains have pages of their own
	}
	c, err := r.chain()
	if err != nil {
		return err
	}
	data, err := r.site.chains.of(string(c.ChainID)).get(func() (*chainPage, error) { return chainOf(r.forAll(), c) })
	if err != nil {
		return err
	}
	p := *data
	p.Chain = c
	return r.Render("chain", c.Title(), &p)
}

// chainOf asks for all that the page of a chain shows.
func chainOf(r *Request, c *evmChain) (*chainPage, error) {
	p := &chainPage{}
	var blocks shape.EVMBlocks
	path := r.listed(c.chainPath("blocks"), fewRows)
	said := r.Ask(path)
	p.Indexed, p.Height = said.Indexed, said.Height
	if err := said.decode(path, &blocks); err != nil && !errors.As(err, &p.BlocksRefused) {
		return nil, err
	}
	var txs struct{ Transactions []evmTx }
	var err error
	if p.TxsRefused, err = r.part(r.listed(c.chainPath("transactions"), fewRows), &txs); err != nil {
		return nil, err
	}
	p.Blocks, p.Txs = blocks.Blocks, txs.Transactions
	for _, name := range []string{"txCount", "activeAddresses"} {
		w, err := r.windows(c, name)
		if err != nil {
			return nil, err
		}
		p.Figures = append(p.Figures, w)
	}
	p.Activity, err = r.metricPlot(c, metricOf("txCount"), span{Interval: "day", Points: 60})
	return p, err
}

// listPage is a list of a chain's blocks or transactions.
type listPage struct {
	Chain  *evmChain
	Blocks []shape.EVMBlock
	Txs    []evmTx
	Status string
	pager
}

func serveBlocks(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	var list shape.EVMBlocks
	path := r.listed(c.chainPath("blocks"), allRows)
	if err := r.Get(path, &list); err != nil {
		return err
	}
	return r.Render("blocks", "Blocks of "+c.Title(), &listPage{Chain: c, Blocks: list.Blocks, pager: r.pager(path, list.NextPageToken)})
}

func serveTxs(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	p := listPage{Chain: c, Status: r.Query("status")}
	if p.Status != "failed" && p.Status != "success" {
		p.Status = ""
	}
	var list txList
	path := r.listed(c.chainPath("transactions"), allRows, "status", p.Status)
	if err := r.Get(path, &list); err != nil {
		return err
	}
	p.Txs, p.pager = list.Transactions, r.pager(path, list.NextPageToken, "status")
	return r.Render("txs", "Transactions of "+c.Title(), &p)
}

// txList is a page of transactions.
type txList struct {
	Transactions []evmTx
	shape.Page
}
