package engine

import (
	"context"
	"sync/atomic"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/engine/network"
)

// Networks are those that are followed, in the order in which their nodes were known.
type Networks struct {
	list atomic.Pointer[[]*network.Network] // nil until the network of a node is known; only grows
	// complete reports whether the network of every node is known.
	complete func() bool
}

// All returns the networks that are followed so far. The list must not be changed.
func (n *Networks) All() []*network.Network {
	if list := n.list.Load(); list != nil {
		return *list
	}
	return nil
}

// Metrics returns the metrics of every network, each series labelled with its network's ID.
func (n *Networks) Metrics() (sets []*metric.Set) {
	for _, one := range n.All() {
		sets = append(sets, one.Metrics())
	}
	return sets
}

// ByName returns the aggregator of the network called mainnet, fuji or testnet.
// Before the nodes have named their networks it returns one that says so.
func (n *Networks) ByName(name string) (Aggregator, bool) {
	if !isName(name) {
		return nil, false
	}
	return n.find(rankOf(name))
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
func (n *Networks) ByID(networkID uint32) (Aggregator, bool) {
	return n.find(numbered(networkID))
}

// find returns the network with the highest rank above 0.
func (n *Networks) find(rank func(id uint32) int) (Aggregator, bool) {
	if best := n.best(rank); best != nil {
		return best.Aggregator(), true
	}
	if len(n.All()) == 0 || !n.complete() { // a node that is silent yet may be of that network
		return starting{}, true
	}
	return nil, false
}

// best returns the network with the highest rank above 0, or nil.
func (n *Networks) best(rank func(id uint32) int) (best *network.Network) {
	top := 0
	for _, one := range n.All() {
		if r := rank(one.ID()); r > top {
			best, top = one, r
		}
	}
	return best
}

// Get returns the network with that ID, or nil.
func (n *Networks) Get(id uint32) *network.Network { return n.best(numbered(id)) }

func numbered(id uint32) func(uint32) int {
	return func(other uint32) int {
		if other == id {
			return 1
		}
		return 0
	}
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
