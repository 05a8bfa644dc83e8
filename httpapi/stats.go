package httpapi

import (
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// stats makes the server's metrics.
type stats struct{ set *metrics.Set }

// routeStats are the metrics of one route.
type routeStats struct {
	classes  [6]*metrics.Counter // by the status's first digit; 0 for none
	duration *metrics.Histogram
}

var classNames = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

func (s stats) route(pattern string) *routeStats {
	r := &routeStats{duration: s.set.GetOrCreateHistogram(
		`quorate_http_request_duration_seconds{route="` + pattern + `"}`)}
	for i, class := range classNames {
		r.classes[i] = s.set.GetOrCreateCounter(
			`quorate_http_requests_total{route="` + pattern + `",status="` + class + `"}`)
	}
	return r
}

// rejected counts what was answered before any route was known, by reason.
func (s stats) rejected(reason string) *metrics.Counter {
	return s.set.GetOrCreateCounter(`quorate_http_rejected_total{reason="` + reason + `"}`)
}

func (r *routeStats) observe(status int, took time.Duration) {
	class := status / 100
	if class < 1 || class >= len(r.classes) {
		class = 0
	}
	r.classes[class].Inc()
	r.duration.Update(took.Seconds())
}
