package engine

import (
	"cmp"
	"slices"

	"quorate/aggregator/valset"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// maxSubnetSeries bounds the subnets that have metrics of their own, largest stake
// first: which subnets are in use is up to clients.
const maxSubnetSeries = 256

// NetworkMetrics returns the metrics of every network, each series labelled with
// its network's ID.
func (e *Engine) NetworkMetrics() []*metric.Set {
	nets := e.networks.Load()
	if nets == nil {
		return nil
	}
	sets := make([]*metric.Set, len(*nets))
	for i, n := range *nets {
		sets[i] = n.metrics
	}
	return sets
}

// addMetrics adds what is read from several parts of a network.
func (n *network) addMetrics() {
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
	n.metrics.Gauges("quorate_source_node_up", "Whether the last call to a node was answered, as far as it was called.", []string{"node"}, n.nodesUp)
}

// largest returns the sets that have metrics.
func largest(sets []*valset.Set) []*valset.Set {
	slices.SortFunc(sets, func(a, b *valset.Set) int { return cmp.Compare(b.TotalWeight, a.TotalWeight) })
	return sets[:min(len(sets), maxSubnetSeries)]
}

// nodesUp tells of the nodes by their addresses without credentials. One that does
// not answer to any of those who call it is down.
func (n *network) nodesUp(emit func(value float64, labels ...string)) {
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
	for name, up := range all {
		value := 0.0
		if up {
			value = 1
		}
		emit(value, name)
	}
}

// diskMetrics adds what is left of the volume with the data.
func (e *Engine) diskMetrics() {
	e.cfg.Metrics.Gauges("quorate_disk_free_bytes", "Free space of the data folder's volume.", nil, func(emit func(float64, ...string)) {
		if free, _, err := freeSpace(e.cfg.DataDir); err == nil {
			emit(float64(free))
		}
	})
}
