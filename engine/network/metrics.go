package network

import (
	"cmp"
	"maps"
	"slices"

	"quorate/aggregator/valset"
	"quorate/engine/source"
)

// maxSubnetSeries bounds the subnets that have metrics of their own, largest stake
// first: which subnets are in use is up to clients.
const maxSubnetSeries = 256

// addMetrics adds what is read from several parts of a network.
func (n *Network) addMetrics() {
	stake := func(name, help string, of func(*valset.Set) float64) {
		n.metrics.Gauges(name, help, []string{"subnet"}, func(emit func(float64, ...string)) {
			for _, set := range largest(n.keeper.InUse()) {
				emit(of(set), set.SubnetID.String())
			}
		})
	}
	stake("quorate_stake_connected_ratio", "Share of a subnet's stake that is connected, of 1.", func(set *valset.Set) float64 {
		return float64(set.Weight(n.connected(set))) / float64(max(set.TotalWeight, 1))
	})
	stake("quorate_stake_validators", "Signing keys of a subnet.", func(set *valset.Set) float64 { return float64(len(set.Validators)) })
	n.metrics.GaugeFunc("quorate_rewards_differ", "1 while the supply or the expected rewards of the P-Chain's rows are not those of a followed node.", func() float64 {
		if n.RewardsTrouble() != nil {
			return 1
		}
		return 0
	})
	n.metrics.Gauges("quorate_source_node_up", "Whether the last call to a node was answered, as far as it was called.", []string{"node"}, n.nodesUp)
}

// largest returns the sets that have metrics.
func largest(sets []*valset.Set) []*valset.Set {
	slices.SortFunc(sets, func(a, b *valset.Set) int { return cmp.Compare(b.TotalWeight, a.TotalWeight) })
	return sets[:min(len(sets), maxSubnetSeries)]
}

// Node is a node that is followed, and whether it answers.
type Node struct {
	Address string // without credentials
	Up      bool
}

// Nodes returns the nodes by their addresses. One that does not answer to any of those
// who call it is down; one that was not called yet is not listed.
func (n *Network) Nodes() []Node {
	n.mu.Lock()
	clients := slices.Concat([]*source.Client{n.source}, n.shared, n.apart)
	n.mu.Unlock()
	all := make(map[string]bool)
	for _, c := range clients {
		c.Up(func(node source.Endpoint, up bool) {
			name := node.String()
			before, known := all[name]
			all[name] = up && (before || !known)
		})
	}
	out := make([]Node, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Node{name, all[name]})
	}
	return out
}

// nodesUp reports on the nodes.
func (n *Network) nodesUp(emit func(value float64, labels ...string)) {
	for _, node := range n.Nodes() {
		value := 0.0
		if node.Up {
			value = 1
		}
		emit(value, node.Address)
	}
}
