package engine

import (
	"context"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/network"
)

// ByName returns the aggregator of the network called mainnet, fuji or testnet.
// Before the nodes have told their networks it gives one that says so.
func (e *Engine) ByName(name string) (Aggregator, bool) {
	if !isName(name) {
		return nil, false
	}
	return e.find(rankOf(name))
}

// isName reports whether networks go by a name in paths.
func isName(name string) bool { return name == "mainnet" || name == "fuji" || name == "testnet" }

// rankOf returns how well a network fits to a name, 0 if it does not.
func rankOf(name string) func(id uint32) int {
	return func(id uint32) int {
		switch {
		case (name == "mainnet") != (id == chain.MainnetID):
			return 0
		case id == chain.FujiID:
			return 2
		}
		return 1
	}
}

// ByID returns the aggregator of the network with that ID.
func (e *Engine) ByID(networkID uint32) (Aggregator, bool) {
	return e.find(func(id uint32) int {
		if id == networkID {
			return 1
		}
		return 0
	})
}

// find returns the network with the highest rank above 0.
func (e *Engine) find(rank func(id uint32) int) (Aggregator, bool) {
	if best := e.best(rank); best != nil {
		return best.Aggregator(), true
	}
	if e.networks.Load() == nil || !e.allKnown() { // a node that is silent yet may be of that network
		return starting{}, true
	}
	return nil, false
}

// best returns the network with the highest rank above 0, or nil.
func (e *Engine) best(rank func(id uint32) int) (best *network.Network) {
	nets := e.networks.Load()
	if nets == nil {
		return nil
	}
	top := 0
	for _, n := range *nets {
		if r := rank(n.ID()); r > top {
			best, top = n, r
		}
	}
	return best
}

// Aggregator has messages of one network signed.
type Aggregator interface {
	Aggregate(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error)
	Validators(ctx context.Context, req *aggregator.Request) (*valset.Set, error)
}

// starting answers while it is not known yet which networks there are.
type starting struct{}

func (starting) Aggregate(context.Context, *aggregator.Request) (*aggregator.Result, error) {
	return nil, errNetworkStarts
}

func (starting) Validators(context.Context, *aggregator.Request) (*valset.Set, error) {
	return nil, errNetworkStarts
}

var errNetworkStarts = &aggregator.Error{
	Kind: aggregator.NodeFailed, Msg: "the server is starting: the node it follows has not answered yet", RetryAfter: time.Second,
}
