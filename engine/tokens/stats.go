package tokens

import (
	"quorate/engine/index"
	"quorate/engine/metric"
)

// stats are the lane's metrics.
type stats struct {
	visits, calls, dropped, late, unaudited metric.Counter
	queued                                  metric.Gauge
}

func newStats(set *metric.Set, c *index.Chain) stats {
	set.GaugeFunc("quorate_tokens_uneven", "Tokens whose events do not add up to what their contracts say.",
		func() float64 { return float64(c.UnevenTokens()) })
	return stats{
		visits:    set.Counter("quorate_tokens_visits_total", "Tokens that were asked for their facts."),
		calls:     set.Counter("quorate_tokens_calls_total", "Reads of contracts."),
		dropped:   set.Counter("quorate_tokens_dropped_total", "URIs and balances that were not read: above a token's bounds, or of a block whose state no node has."),
		late:      set.Counter("quorate_tokens_late_total", "Blocks with new tokens that were indexed before the tokens' facts were known."),
		unaudited: set.Counter("quorate_tokens_unaudited_total", "Visits that could not hold balances against contracts, since the node had no state of the block."),
		queued:    set.Gauge("quorate_tokens_queued", "URIs and balances that wait to be read."),
	}
}
