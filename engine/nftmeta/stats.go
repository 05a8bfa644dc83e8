package nftmeta

import "quorate/engine/metric"

// stats are the actor's metrics.
type stats struct {
	results       map[Status]metric.Counter
	seconds       metric.Histogram
	full, dropped metric.Counter
}

func newStats(set *metric.Set) stats {
	s := stats{
		results: map[Status]metric.Counter{},
		seconds: set.Histogram("quorate_nft_fetch_seconds", "Time of requests for the metadata of NFTs."),
		full:    set.Counter("quorate_nft_full_total", "Tokens whose metadata were not fetched since there are too many."),
		dropped: set.Counter("quorate_nft_dropped_total", "Tokens whose metadata were dropped to make room for others."),
	}
	for _, st := range []Status{Indexed, InvalidURI, InvalidScheme, Unreachable, Throttled, TooLarge, InvalidMetadata, InvalidJSON} {
		s.results[st] = set.Counter("quorate_nft_fetches_total", "Tokens whose metadata were looked for, by what came of it.", "result", string(st))
	}
	return s
}

// watch registers what is counted when it is asked for.
func (m *Metadata) watch(set *metric.Set) {
	set.GaugeFunc("quorate_nft_documents", "Tokens of which a record is kept: their metadata, or why there are none.", func() float64 { n, _ := m.kept(); return float64(n) })
	set.GaugeFunc("quorate_nft_waiting", "Tokens whose metadata are being fetched or wait for it.", func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(m.busy))
	})
	set.GaugeFunc("quorate_nft_resting_sites", "Sites with metadata that are not asked for a while since they fail or ask for it.", m.resting)
}
