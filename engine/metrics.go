package engine

import "quorate/engine/metric"

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
