package health

import (
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// instruments are the figures of a checker. Gauges are set with its mutex held.
type instruments struct {
	set             *metrics.Set
	checks, failing *metrics.Gauge
	runs, timeouts  *metrics.Counter
}

func newInstruments(set *metrics.Set) *instruments {
	return &instruments{
		set:      set,
		checks:   set.GetOrCreateGauge("quorate_health_checks", nil),
		failing:  set.GetOrCreateGauge("quorate_health_checks_failing", nil),
		runs:     set.GetOrCreateCounter("quorate_health_check_runs_total"),
		timeouts: set.GetOrCreateCounter("quorate_health_check_timeouts_total"),
	}
}

// of gives the gauge of one check: 1 while it fails.
func (m *instruments) of(k *check) *metrics.Gauge {
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(k.Name)
	return m.set.GetOrCreateGauge(`quorate_health_check_failing{check="`+label+`"}`, nil)
}

func (m *instruments) added(k *check) {
	m.checks.Inc()
	m.failing.Inc()
	m.of(k).Set(1)
}

func (m *instruments) changed(k *check, before, now Result) {
	switch {
	case before.Error == "" && now.Error != "":
		m.failing.Inc()
		m.of(k).Set(1)
	case before.Error != "" && now.Error == "":
		m.failing.Dec()
		m.of(k).Set(0)
	}
}
