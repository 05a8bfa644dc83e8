package etherscan

import (
	"bytes"
	"math"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

const (
	// maxWindow is where pages by offset end.
	maxWindow = 10_000
	// maxPassed bounds the rows that are passed over for an answer, and perRest about how
	// many a list has passed over that ends a page early.
	maxPassed = 200_000
	perRest   = 5_000
)

// window is the part of a list that is asked for.
type window struct {
	skip, size int
	page       index.Page
}

// window reads which part of a list is asked for. Without an offset it is all of it, as far
// as pages go.
func (c *call) window() (w window, err error) {
	page, err := c.number("page", 1)
	if err != nil {
		return w, err
	}
	offset, err := c.number("offset", maxWindow)
	if err != nil {
		return w, err
	}
	if page == 0 {
		page = 1
	}
	if offset == 0 {
		offset = maxWindow
	}
	if offset > maxWindow || page > maxWindow/offset {
		return w, refusal("Result window is too large, PageNo x Offset size must be less than or equal to 10000")
	}
	w.skip, w.size = int((page-1)*offset), int(offset)
	w.page = index.Page{Limit: math.MaxInt, Ascending: true}
	switch c.arg("sort") {
	case "", "asc":
	case "desc":
		w.page.Ascending = false
	default:
		return w, refusal("Invalid sort: must be asc or desc")
	}
	return w, c.heights(&w.page, "startblock", "endblock")
}

// heights reads the bounds of heights, which both belong to a list.
func (c *call) heights(p *index.Page, from, to string) (err error) {
	if p.From, err = c.block(from, 0); err != nil {
		return err
	}
	last, err := c.block(to, math.MaxInt64)
	if err != nil {
		return err
	}
	if p.From == math.MaxInt64 {
		p.From = c.v.Tip().Number
	}
	p.To = last + 1
	return nil
}

// row is a row of a list before its transaction is read.
type row struct {
	tx       index.TxRef
	transfer index.Transfer
	nth      int // among the calls of the transaction that concern the address
}

// takeRow takes a row and reports whether there is room for more.
type takeRow func(r row) (more bool)

// collect reads the part of a list that is asked for.
func (c *call) collect(w window, list func(p index.Page, take takeRow) ([]byte, error)) (rows []row, err error) {
	for {
		next, err := list(w.page, func(r row) bool {
			c.passed++
			if w.skip > 0 {
				w.skip--
				return true
			}
			rows = append(rows, r)
			return len(rows) < w.size
		})
		if err != nil || next == nil || len(rows) == w.size {
			return rows, err
		}
		if c.passed += perRest; c.passed > maxPassed {
			return nil, refusal("The list has too many other rows, please select fewer blocks")
		}
		if err := c.work.Err(); err != nil {
			return nil, err
		}
		w.page.After = bytes.Clone(next)
	}
}

// list writes the rows of a list.
func (c *call) list(rows []row, empty none, write func(r *row) error) error {
	if len(rows) == 0 {
		return empty
	}
	c.w.Raw("[")
	for i := range rows {
		if err := c.room(); err != nil {
			return err
		}
		c.w.open()
		if err := write(&rows[i]); err != nil {
			return err
		}
		c.w.Raw("}")
	}
	c.w.Raw("]")
	return nil
}

func refTo(tx *index.Tx) index.TxRef {
	return index.TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}
}

// confirmations returns how many blocks a transaction has behind it, its own among them.
func (c *call) confirmations(number uint64) uint64 { return c.v.Tip().Number - number + 1 }

func concerns(t *index.Transfer, token *evm.Address) bool { return token == nil || t.Token == *token }
