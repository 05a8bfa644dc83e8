package evm

import (
	"context"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// call is one request to a route of this room.
type call struct {
	Request
	q query
	// The pattern's second parameter.
	addr    evm.Address
	hash    evm.Hash
	third   []byte // its third parameter, which aliases the request
	hasHash bool
	number  uint64
}

// Forget implements [reply.Call].
func (c *call) Forget() { *c = call{Request: c.Emptied(), q: c.q.emptied()} }

// onChain makes the handler of a route that reads one chain. item reads the
// pattern's second parameter; nil if there is none. run writes the body.
func (m *Room) onChain(item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return m.calls.Make(func(c *call) *door.Failure { return c.serve(item, run) })
}

// serve checks the request and writes the body.
func (c *call) serve(item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) *door.Failure {
	if f := c.Parse(); f != nil {
		return f
	}
	if f := c.q.check(); f != nil {
		return f
	}
	p := &c.Params
	if f := c.Find(p.Values[0]); f != nil {
		return f
	}
	c.third = p.Values[2]
	if item != nil {
		if f := item(c, p.Values[1]); f != nil {
			return f
		}
	}
	if f := c.openPage(); f != nil {
		return f
	}
	if f := c.AwaitKnown(c.number); f != nil { // of a block; 0 for all else
		return f
	}
	if c.q.atBlock {
		c.At = &c.q.block
	}
	return c.Read(func() *door.Failure { return run(c) })
}

// openPage reads the page token, if there is one.
func (c *call) openPage() *door.Failure {
	b := append(c.Scratch[:0], c.Info.BlockchainID...)
	b = append(append(b, '/'), c.Info.ChainID...)
	b = append(b, c.addr[:]...)
	b = append(b, c.hash[:]...)
	b = strconv.AppendUint(append(b, door.Bit(c.hasHash)), c.number, 10)
	return c.ReadToken(c.Q.Canonical(b))
}

// page says which rows to read. Data routes without bounds of heights take the
// defaults, which are none.
func (c *call) page() index.Page {
	return index.Page{After: c.After, Limit: c.Q.PageSize, Ascending: c.Q.Ascending, From: c.q.start, To: c.q.end}
}

// native returns the balance of an address at the view's height, from the index or
// else from the node.
func (c *call) native() (uint256.Int, *door.Failure) {
	wei, known, err := c.V.NativeBalance(c.addr)
	if err != nil {
		return wei, c.Unreadable(err)
	}
	if known {
		return wei, nil
	}
	if err := c.Chain.Down(); err != nil {
		return wei, c.down(err)
	}
	ctx, cancel := context.WithTimeout(c.Work, c.EVM.NodeTimeout)
	defer cancel()
	got, err := c.Chain.Balance(ctx, c.addr, &c.Tip)
	if err != nil && !c.q.atBlock {
		// A node that keeps no old states may have dropped that of the view's height.
		got, err = c.Chain.Balance(ctx, c.addr, nil)
	}
	if err != nil {
		c.Log.Debug("a chain's node does not give a balance", "chain", c.Info.ChainID, "err", err)
		return wei, door.Unavailable("chain " + c.Info.ChainID + " cannot answer this now: the balance at block " +
			strconv.FormatUint(c.Tip, 10) + " is not indexed and its node does not give it")
	}
	return *got, nil
}
