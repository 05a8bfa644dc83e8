package door

import (
	"time"

	"quorate/engine/metric"
)

// Stats makes the server's metrics.
type Stats struct{ Set *metric.Set }

// RouteStats are the metrics of one route.
type RouteStats struct {
	Route    string
	classes  [6]metric.Counter // by the status's first digit; 0 for none
	duration metric.Histogram
}

var classNames = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

func (s Stats) Route(pattern string) *RouteStats {
	r := &RouteStats{Route: pattern, duration: s.Set.Histogram("quorate_http_request_duration_seconds",
		"Time from the first byte of a request to the end of its answer.", "route", pattern)}
	for i, class := range classNames {
		r.classes[i] = s.Set.Counter("quorate_http_requests_total",
			"Requests by route and class of the answer's status.", "route", pattern, "code", class)
	}
	return r
}

// Rejected counts what was answered before any route was known, by reason.
func (s Stats) Rejected(reason string) metric.Counter {
	return s.Set.Counter("quorate_http_rejected_total", "Requests answered before a route was known.", "reason", reason)
}

func (r *RouteStats) Observe(status int, took time.Duration) {
	class := status / 100
	if class < 1 || class >= len(r.classes) {
		class = 0
	}
	r.classes[class].Inc()
	r.duration.Observe(took.Seconds())
}
