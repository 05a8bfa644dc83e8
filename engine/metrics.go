package engine

import (
	"quorate/engine/folder"
	"quorate/engine/metric"
)

// NetworkMetrics returns the metrics of every network, each series labelled with
// its network's ID.
func (e *Engine) NetworkMetrics() []*metric.Set {
	nets := e.networks.Load()
	if nets == nil {
		return nil
	}
	sets := make([]*metric.Set, len(*nets))
	for i, n := range *nets {
		sets[i] = n.Metrics()
	}
	return sets
}

// diskMetrics adds what is left of the volume with the data.
func (e *Engine) diskMetrics() {
	e.cfg.Metrics.Gauges("quorate_disk_free_bytes", "Free space of the data folder's volume.", nil, func(emit func(float64, ...string)) {
		if free, _, err := folder.Space(e.cfg.DataDir); err == nil {
			emit(float64(free))
		}
	})
}
