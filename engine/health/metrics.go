package health

import (
	"quorate/engine/metric"
)

// instruments are the figures of a checker. Gauges are set with its mutex held.
type instruments struct {
	set             *metric.Set
	checks, failing metric.Gauge
	runs, timeouts  metric.Counter
}

func newInstruments(set *metric.Set) *instruments {
	return &instruments{
		set:      set,
		checks:   set.Gauge("quorate_health_checks", "Health checks."),
		failing:  set.Gauge("quorate_health_checks_failing", "Health checks that fail now."),
		runs:     set.Counter("quorate_health_check_runs_total", "Runs of health checks."),
		timeouts: set.Counter("quorate_health_check_timeouts_total", "Runs of health checks that took too long."),
	}
}

// of returns the gauge of one check: 1 while it fails.
func (m *instruments) of(k *check) metric.Gauge {
	return m.set.Gauge("quorate_health_check_failing", "Whether a health check fails now.", "check", k.Name)
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
