package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	"quorate/httpapi"
	"quorate/httpapi/view"
)

// primaries is the HTTP server's view of the primary networks.
type primaries struct {
	eng *engine.Engine
	// known has a *primaryChain for each *follow.Primary that was asked for.
	known *sync.Map
}

func newPrimaries(eng *engine.Engine) primaries { return primaries{eng, &sync.Map{}} }

// Primary implements [httpapi.PrimaryNetworks].
func (p primaries) Primary(name string) (httpapi.PrimaryNetwork, bool) {
	n, ok := p.eng.PrimaryNetwork(name)
	return primaryNetwork{n, p.known}, ok
}

type primaryNetwork struct {
	engine.PrimaryNetwork
	known *sync.Map
}

// NetworkID implements [httpapi.PrimaryNetwork].
func (n primaryNetwork) NetworkID() uint32 { return n.ID() }

// Chain implements [httpapi.PrimaryNetwork].
func (n primaryNetwork) Chain(k primary.Kind) (httpapi.PrimaryChain, bool) {
	f := n.PrimaryNetwork.Chain(k)
	if f == nil {
		return nil, false
	}
	c, ok := n.known.Load(f)
	if !ok {
		c, _ = n.known.LoadOrStore(f, &primaryChain{Primary: f, network: n.PrimaryNetwork})
	}
	return c.(*primaryChain), true
}

// primaryChain is one chain of a primary network.
type primaryChain struct {
	*follow.Primary
	network engine.PrimaryNetwork
	sync    atomic.Pointer[syncState] // as that of an evmChain
}

// Syncing implements [httpapi.PrimaryChain].
func (c *primaryChain) Syncing() (uint64, bool) {
	s := c.state()
	return s.height, s.behind
}

// Gaps implements [httpapi.PrimaryChain].
func (c *primaryChain) Gaps() ([]view.Gap, string) {
	s := c.state()
	return s.gaps, s.header
}

func (c *primaryChain) state() *syncState {
	now := time.Now()
	_, _, begun := c.Cursor()
	if s := c.sync.Load(); s.holds(now, begun) {
		return s
	}
	s := &syncState{at: now, begun: begun}
	s.height, s.behind = c.Primary.Syncing()
	s.setGaps(c.Primary.Gaps(), c.Primary.Unreadable())
	c.sync.Store(s)
	return s
}

// View implements [httpapi.PrimaryChain].
func (c *primaryChain) View() (httpapi.PrimaryView, error) {
	switch rows := c.Rows().(type) {
	case *pchain.Chain:
		v, err := rows.View()
		if err != nil {
			return nil, err // a nil *pchain.View is not a nil PrimaryView
		}
		return v, nil
	case *primary.Chain:
		switch c.Kind() {
		case primary.XChain:
			return c.exchange(rows, c.network.Chain(primary.XVertices))
		case primary.XVertices:
			return c.vertices(rows)
		case primary.PChain, primary.CChain:
		}
		v, err := rows.View(c.Kind())
		if err != nil {
			return nil, err
		}
		return v, nil
	}
	return nil, fmt.Errorf("no rows of the %s are kept", c.Kind())
}

// exchange opens the blocks of the X-Chain with the vertices before them.
func (c *primaryChain) exchange(blocks *primary.Chain, before *follow.Primary) (*exchangeRows, error) {
	var vertices *primary.Chain
	if before != nil {
		vertices, _ = before.Rows().(*primary.Chain)
	}
	v, err := xchain.Open(blocks, vertices)
	if err != nil {
		return nil, err
	}
	rows := &exchangeRows{View: v, tip: v.Tip()}
	rows.blocks, _ = v.Blocks()
	return rows, nil
}

// vertices opens the X-Chain with the vertices as what it is read for. A chain that has
// none, because it never had any, is read all the same.
func (c *primaryChain) vertices(rows *primary.Chain) (*exchangeRows, error) {
	tip, ok := rows.Cursor()
	if !ok && !c.Settled() {
		return nil, primary.ErrEmpty
	}
	after := c.network.Chain(primary.XChain)
	if after == nil {
		return nil, primary.ErrEmpty
	}
	blocks, ok := after.Rows().(*primary.Chain)
	if !ok {
		return nil, primary.ErrEmpty
	}
	v, err := c.exchange(blocks, c.Primary)
	if err == nil {
		v.tip = tip
	}
	return v, err
}

// exchangeRows are the rows of the X-Chain: those of its blocks and of its vertices.
type exchangeRows struct {
	*xchain.View
	blocks *primary.View // nil: there are none yet
	tip    chain.Head
}

// Tip implements [httpapi.PrimaryView].
func (r *exchangeRows) Tip() chain.Head { return r.tip }

// First implements [httpapi.PrimaryView].
func (r *exchangeRows) First() uint64 {
	if r.blocks == nil {
		return 0
	}
	return r.blocks.First()
}

// Block implements [httpapi.PrimaryView].
func (r *exchangeRows) Block(id chain.ID) (*primary.BlockInfo, bool, error) {
	if r.blocks == nil {
		return nil, false, nil
	}
	return r.blocks.Block(id)
}

// BlockAt implements [httpapi.PrimaryView].
func (r *exchangeRows) BlockAt(height uint64) (*primary.BlockInfo, bool, error) {
	if r.blocks == nil {
		return nil, false, nil
	}
	return r.blocks.BlockAt(height)
}

// Blocks implements [httpapi.PrimaryView].
func (r *exchangeRows) Blocks(f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error) {
	if r.blocks == nil {
		return nil, nil
	}
	return r.blocks.Blocks(f, p, take)
}
