package nftmeta

import "quorate/engine/metric"

// stats are the actor's metrics.
type stats struct {
	results          map[Status]metric.Counter
	seconds          metric.Histogram
	full, dropped    metric.Counter
	waiting, resting metric.Gauge
}

func newStats(set *metric.Set) stats {
	s := stats{
		results: map[Status]metric.Counter{},
		seconds: set.Histogram("quorate_nft_fetch_seconds", "Time of requests for the metadata of NFTs."),
		full:    set.Counter("quorate_nft_full_total", "Tokens whose metadata were not fetched since there are too many."),
		dropped: set.Counter("quorate_nft_dropped_total", "Tokens whose metadata were dropped, the oldest first, to make room for others."),
		waiting: set.Gauge("quorate_nft_waiting", "Tokens whose metadata are being fetched or wait for it."),
		resting: set.Gauge("quorate_nft_resting_sites", "Sites with metadata that are not asked for a while since they fail or ask for it."),
	}
	for _, st := range []Status{Indexed, InvalidURI, InvalidScheme, Unreachable, Throttled, TooLarge, InvalidMetadata, InvalidJSON} {
		s.results[st] = set.Counter("quorate_nft_fetches_total", "Tokens whose metadata were looked for, by what came of it.", "result", string(st))
	}
	return s
}

// fetched counts what came of a token.
func (s *stats) fetched(st Status) {
	if st == "" {
		st = Indexed
	}
	if c, ok := s.results[st]; ok {
		c.Inc()
	}
}
