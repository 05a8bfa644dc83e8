package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/network"
	"quorate/engine/source"
)

// Forward posts body to path below a chain, at a followed node that runs it, and
// returns the node's answer as it is, to be released. The error is [source.ErrNotYet] or that of
// the source: no node answered as it should.
func (e *Engine) Forward(ctx context.Context, id chain.ID, path string, body []byte) (a source.Passed, err error) {
	n, err := e.networkOf(id)
	if err != nil {
		return a, err
	}
	return n.Forward(ctx, id, path, body)
}

// Info posts body to the info API of a followed node and returns the node's answer as it is,
// to be released. Of several networks it is that whose P-Chain [Engine.Forward] asks.
func (e *Engine) Info(ctx context.Context, body []byte) (a source.Passed, err error) {
	n, err := e.networkOf(chain.PlatformChainID)
	if err != nil {
		return a, err
	}
	return n.Info(ctx, body)
}

// Dial opens the WebSocket at path below a chain, at a followed node that runs it.
func (e *Engine) Dial(ctx context.Context, id chain.ID, path string) (*websocket.Conn, error) {
	n, err := e.networkOf(id)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx, id, path)
}

// Swap returns when nodes replace an EVM chain's API, the zero time if that is not known or
// never.
func (e *Engine) Swap(id chain.ID) (at time.Time) {
	if n, err := e.networkOf(id); err == nil {
		at = n.SwapOf(id)
	}
	return at
}

// networkOf returns the network that has a chain.
func (e *Engine) networkOf(id chain.ID) (*network.Network, error) {
	nets := e.networks.Load()
	if nets == nil {
		return nil, source.ErrNotYet
	}
	for _, n := range *nets {
		if n.Has(id) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("chain %s: %w", id, source.ErrNotYet)
}

// Learning reports whether a followed node has yet to tell which chains there are:
// until then a name that is not known may be that of a chain.
func (e *Engine) Learning() bool {
	nets := e.networks.Load()
	if nets == nil {
		return true
	}
	for _, n := range *nets {
		if !n.Learned() {
			return true
		}
	}
	return false
}

// Head returns the height of an EVM chain that is indexed, as far as it is known.
func (e *Engine) Head(id chain.ID) (height uint64, ok bool) {
	list := e.EVMs()
	i := slices.IndexFunc(list, func(c *follow.EVM) bool { return c.ID() == id })
	if i < 0 {
		return 0, false
	}
	if target, behind := list[i].Syncing(); behind {
		return target, true
	}
	hub, ok := e.Hub(id)
	if !ok {
		return 0, false
	}
	_, tip, err := hub.Tip()
	return tip.Number, err == nil
}

// Later reports whether an EVM chain is known to execute blocks after it accepted them.
func (e *Engine) Later(id chain.ID) bool {
	n, err := e.networkOf(id)
	return err == nil && n.Later(id)
}
