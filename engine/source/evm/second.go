package evm

import (
	"context"
	"fmt"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/source"
)

// Teller is a node whose word is taken for what no hash covers: calls and balances.
type Teller = source.Node

// Tracer returns the node that traced a block; false if that is not known (any more).
func (c *Client) Tracer(height uint64) (Teller, bool) { return c.pool.tracer(height) }

// Tellers returns the nodes that can trace a block and have not lied of late, best
// first.
func (c *Client) Tellers(height uint64) []Teller {
	nodes := c.cfg.Node.Fit(source.Choice{Rank: c.pool.forTrace(height)})
	return slices.DeleteFunc(nodes, c.pool.lies)
}

// Nodes returns the nodes that may have a block, best first.
func (c *Client) Nodes(height uint64) []Teller {
	return c.cfg.Node.Fit(source.Choice{Rank: c.pool.forBlocks(height)})
}

// Giver returns the node that gave a block, while that is known.
func (c *Client) Giver(height uint64) (Teller, bool) { return c.pool.giver(height) }

// FetchOf is [Client.Fetch] of one node, which must have the receipts of whole blocks.
func (c *Client) FetchOf(ctx context.Context, n Teller, from, to uint64) ([]*evm.Block, error) {
	blocks := make([]*evm.Block, to-from+1)
	for i := range blocks {
		size := 0
		calls := []source.BatchCall{c.blockCall(&blocks[i], from+uint64(i), &size), c.receiptsCall(&blocks[i], from+uint64(i), &size)}
		err := c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, only(n))
		if err == nil {
			err = firstRefusal(calls)
		}
		if err == nil && blocks[i] == nil {
			err = ErrNotFound
		}
		if err != nil {
			return nil, outward(&blockError{from + uint64(i), err})
		}
	}
	return blocks, nil
}

// Lies reports whether a node has told a false trace of late.
func (c *Client) Lies(n Teller) bool { return c.pool.lies(n) }

// BlameTeller has a node asked for traces after all others for a while: it told a
// false one.
func (c *Client) BlameTeller(n Teller) { c.pool.blameTracer(n) }

// Retrace returns a block as a node traces it now. b stays as it is.
func (c *Client) Retrace(ctx context.Context, n Teller, b *evm.Block) (*evm.Block, error) {
	again := *b
	again.Traced, again.Balances = false, nil
	again.Txs = slices.Clone(b.Txs)
	for i := range again.Txs {
		again.Txs[i].Calls = nil
	}
	if err := c.traceAt(ctx, n, &again); err != nil {
		return nil, outward(err)
	}
	return &again, nil
}

// Difference says in which way two traces of a block differ first; empty: in none.
func Difference(a, b *evm.Block) string {
	if len(a.Txs) != len(b.Txs) {
		return fmt.Sprintf("%d transactions, and %d", len(a.Txs), len(b.Txs))
	}
	for i := range a.Txs {
		x, y := a.Txs[i].Calls, b.Txs[i].Calls
		for k := range min(len(x), len(y)) {
			if x[k] != y[k] {
				return fmt.Sprintf("call %d of transaction %s: %s, and %s", k, a.Txs[i].Hash, describe(&x[k]), describe(&y[k]))
			}
		}
		if len(x) != len(y) {
			return fmt.Sprintf("transaction %s: %d calls, and %d", a.Txs[i].Hash, len(x), len(y))
		}
	}
	x, y := a.Balances, b.Balances
	for k := range min(len(x), len(y)) {
		if x[k] != y[k] {
			return fmt.Sprintf("balance: %s from %s to %s, and %s from %s to %s",
				x[k].Address, x[k].Before.Dec(), x[k].Wei.Dec(), y[k].Address, y[k].Before.Dec(), y[k].Wei.Dec())
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d balances that changed, and %d", len(x), len(y))
	}
	return ""
}

func describe(c *evm.Call) string {
	s := fmt.Sprintf("%s from %s to %s at depth %d, value %s, gas %d of %d", c.Type, c.From, c.To, c.Depth, c.Value.Dec(), c.GasUsed, c.Gas)
	if c.Reverted {
		s += ", reverted"
	}
	return s
}

// maxDisputed bounds the accounts that are proven to decide between traces of a block.
const maxDisputed = 64

// Disputes returns what is to be proven to decide between traces of a block: for each
// account on which they do not agree one doubt about each of them. With one trace these
// are all accounts that it has. parent is the block before; without its header, or where
// headers have the roots of other blocks' states, nothing can be proven.
func Disputes(parent *evm.Block, traces ...*evm.Block) [][]Doubt {
	var before, after consensus.Header
	list := make([][]Doubt, len(traces))
	if len(parent.Header) == 0 || before.Parse(parent.Header) != nil || len(traces[0].Header) == 0 || after.Parse(traces[0].Header) != nil {
		return list
	}
	if before.Settles() || after.Settles() {
		return list
	}
	seen := make(map[evm.Address]bool)
	dispute := func(a evm.Address) {
		if seen[a] || len(seen) >= maxDisputed {
			return
		}
		each, same := make([]Doubt, len(traces)), len(traces) > 1
		for i, t := range traces {
			each[i] = doubtOf([]*evm.Block{t}, a, before.StateRoot, after.StateRoot)
			same = same && each[i].agrees(&each[0])
		}
		if same {
			return
		}
		seen[a] = true
		for i := range each {
			list[i] = append(list[i], each[i])
		}
	}
	for _, t := range traces {
		for i := range t.Balances {
			dispute(t.Balances[i].Address)
		}
		eachMove(t, func(a evm.Address, _ bool, _ *uint256.Int) { dispute(a) })
	}
	return list
}

// agrees reports whether two traces say the same of an account.
func (d *Doubt) agrees(e *Doubt) bool {
	same := d.told == nil && e.told == nil || d.told != nil && e.told != nil && *d.told == *e.told
	return same && d.in == e.in && d.out == e.out && d.explained == e.explained
}
