package ui

import (
	"math/big"
	"strconv"

	"quorate/httpapi/shape"
)

func (s *Site) blockPages() []Page {
	return []Page{{Pattern: "/chain/{chain}/block/{block}", Units: 40, Serve: serveBlock}}
}

// blockPage is what the page of a block shows.
type blockPage struct {
	Chain        *evmChain
	Block        shape.EVMBlock
	Older, Newer string // the neighbours by number, empty if there is none
	Txs          []evmTx
	TxsRefused   *Error
	pager
}

func serveBlock(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	p := blockPage{Chain: c}
	if err := r.Get(c.chainPath("blocks", r.Param("block")), &p.Block); err != nil {
		return err
	}
	var latest shape.EVMBlocks
	if err := r.Get(c.chainPath("blocks")+"?pageSize=1", &latest); err != nil {
		return err
	}
	if n, err := strconv.ParseUint(string(p.Block.BlockNumber), 10, 64); err == nil {
		if n > 0 {
			p.Older = strconv.FormatUint(n-1, 10)
		}
		if len(latest.Blocks) > 0 && above(latest.Blocks[0].BlockNumber, p.Block.BlockNumber) {
			p.Newer = strconv.FormatUint(n+1, 10)
		}
	}
	var txs txList
	// By hash: should the chain go back, the page does not mix two blocks.
	path := r.listed(c.chainPath("blocks", string(p.Block.BlockHash), "transactions"), allRows)
	if p.TxsRefused, err = r.part(path, &txs); err != nil {
		return err
	}
	p.Txs, p.pager = txs.Transactions, r.pager(path, txs.NextPageToken)
	return r.Render("block", "Block "+number(p.Block.BlockNumber)+" of "+c.Title(), &p)
}

// above reports whether a is the larger one of two whole numbers.
func above(a, b shape.Digits) bool {
	x, ok := new(big.Int).SetString(string(a), 10)
	y, also := new(big.Int).SetString(string(b), 10)
	return ok && also && x.Cmp(y) > 0
}
