package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/chain"
	"quorate/engine/network"
	"quorate/engine/source"
)

// Forward posts body to path below a chain, at a followed node that runs it, and
// returns the node's answer as it is, to be released. The error is [source.ErrNotYet] or that of
// the source: no node answered as it should.
func (n *Networks) Forward(ctx context.Context, id chain.ID, path string, body []byte) (a source.Passed, err error) {
	of, err := n.of(id)
	if err != nil {
		return a, err
	}
	return of.Forward(ctx, id, path, body)
}

// Info posts body to the info API of a followed node and returns the node's answer as it is,
// to be released. Of several networks it is that whose P-Chain [Networks.Forward] asks.
func (n *Networks) Info(ctx context.Context, body []byte) (a source.Passed, err error) {
	of, err := n.of(chain.PlatformChainID)
	if err != nil {
		return a, err
	}
	return of.Info(ctx, body)
}

// Dial opens the WebSocket at path below a chain, at a followed node that runs it.
func (n *Networks) Dial(ctx context.Context, id chain.ID, path string) (*websocket.Conn, error) {
	of, err := n.of(id)
	if err != nil {
		return nil, err
	}
	return of.Dial(ctx, id, path)
}

// Swap returns when nodes replace an EVM chain's API, the zero time if that is not known or
// never.
func (n *Networks) Swap(id chain.ID) (at time.Time) {
	if of, err := n.of(id); err == nil {
		at = of.SwapOf(id)
	}
	return at
}

// of returns the network that has a chain.
func (n *Networks) of(id chain.ID) (*network.Network, error) {
	for _, one := range n.All() {
		if one.Has(id) {
			return one, nil
		}
	}
	return nil, fmt.Errorf("chain %s: %w", id, source.ErrNotYet)
}

// Learning reports whether a followed node has yet to tell which chains there are:
// until then a name that is not known may be that of a chain.
func (n *Networks) Learning() bool {
	all := n.All()
	return len(all) == 0 || slices.ContainsFunc(all, func(one *network.Network) bool { return !one.Learned() })
}

// Later reports whether an EVM chain is known to execute blocks after it accepted them.
func (n *Networks) Later(id chain.ID) bool {
	of, err := n.of(id)
	return err == nil && of.Later(id)
}
