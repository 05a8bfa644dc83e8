package httpapi

import (
	"time"

	"quorate/engine/metric"
)

// stats makes the server's metrics.
type stats struct{ set *metric.Set }

// routeStats are the metrics of one route.
type routeStats struct {
	route    string
	classes  [6]metric.Counter // by the status's first digit; 0 for none
	duration metric.Histogram
}

var classNames = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

func (s stats) route(pattern string) *routeStats {
	r := &routeStats{route: pattern, duration: s.set.Histogram("quorate_http_request_duration_seconds",
		"Time from the first byte of a request to the end of its answer.", "route", pattern)}
	for i, class := range classNames {
		r.classes[i] = s.set.Counter("quorate_http_requests_total",
			"Requests by route and class of the answer's status.", "route", pattern, "code", class)
	}
	return r
}

// rejected counts what was answered before any route was known, by reason.
func (s stats) rejected(reason string) metric.Counter {
	return s.set.Counter("quorate_http_rejected_total", "Requests answered before a route was known.", "reason", reason)
}

func (r *routeStats) observe(status int, took time.Duration) {
	class := status / 100
	if class < 1 || class >= len(r.classes) {
		class = 0
	}
	r.classes[class].Inc()
	r.duration.Observe(took.Seconds())
}
