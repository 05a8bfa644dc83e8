// Package metric keeps the program's metrics in the form of Prometheus.
//
// A [Set] is a registry of its own: nothing is process-wide, so that several
// servers can live in one process. Components ask a set for their counters,
// gauges and histograms once, when they are made, and hold on to them; counting
// then costs an atomic addition and no look-up.
//
// Asking again for a series that exists returns the same one, because components
// are opened again while the program runs: counters go on where they were, and
// functions are replaced by those of the latest component.
//
// Names follow the rules of Prometheus: base units, "_total" for counters. Labels
// are pairs of name and value. A label whose values come from outside must be
// bounded by the component that sets it.
package metric

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Counter only grows. Inc adds one, Add any number that is not negative.
type Counter = prometheus.Counter

// Gauge is a value that is set.
type Gauge = prometheus.Gauge

// Histogram counts observations by size; see [Set.Histogram].
type Histogram = prometheus.Histogram

// seconds are the bounds of all histograms: from a repeat that is answered from
// memory to the longest that a client may wait for signatures.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Set holds metrics. All methods may be called at once. A set made by [Set.With]
// shares everything with the one it was made from.
type Set struct {
	*families
	labels []string // pairs, of every series made through this set
}

// families are the metrics of a set by name.
type families struct {
	registry *prometheus.Registry
	constant prometheus.Labels

	mu     sync.Mutex // guards byName
	byName map[string]family
}

// family is all series of one name.
type family interface {
	prometheus.Collector
	// DeletePartialMatch removes the series that have these labels.
	DeletePartialMatch(prometheus.Labels) int
}

// NewSet returns an empty set. Each of its series has the given labels.
func NewSet(labels ...string) *Set {
	return &Set{families: &families{
		registry: prometheus.NewRegistry(), constant: pairs(labels), byName: make(map[string]family),
	}}
}

// With returns the same set for a component whose series all have further labels.
func (s *Set) With(labels ...string) *Set {
	return &Set{families: s.families, labels: slices.Concat(s.labels, labels)}
}

// Drop removes all series that have a label with that value, those of functions
// too. Components that still hold them go on counting unseen.
func (s *Set) Drop(label, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.byName {
		f.DeletePartialMatch(prometheus.Labels{label: value})
	}
}

// Counter returns a counter, which starts at 0. Its name ends in "_total".
func (s *Set) Counter(name, help string, labels ...string) Counter {
	names, values := s.split(labels)
	return made(s, name, func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: s.constant}, names)
	}).WithLabelValues(values...)
}

// Gauge returns a gauge, which starts at 0.
func (s *Set) Gauge(name, help string, labels ...string) Gauge {
	names, values := s.split(labels)
	return made(s, name, func() *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: s.constant}, names)
	}).WithLabelValues(values...)
}

// Histogram returns a histogram of seconds, with buckets from 0.5 ms to 10 s.
func (s *Set) Histogram(name, help string, labels ...string) Histogram {
	names, values := s.split(labels)
	return made(s, name, func() *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, ConstLabels: s.constant, Buckets: seconds,
		}, names)
	}).WithLabelValues(values...).(Histogram)
}

// GaugeFunc has a gauge read from a function whenever the set is written.
func (s *Set) GaugeFunc(name, help string, value func() float64, labels ...string) {
	names, values := s.split(labels)
	s.read(prometheus.GaugeValue, name, help, names, values, func(emit func(float64, ...string)) { emit(value()) })
}

// CounterFunc is [Set.GaugeFunc] for a counter that is kept elsewhere.
func (s *Set) CounterFunc(name, help string, value func() float64, labels ...string) {
	names, values := s.split(labels)
	s.read(prometheus.CounterValue, name, help, names, values, func(emit func(float64, ...string)) { emit(value()) })
}

// Gauges has any number of gauges read whenever the set is written: read calls
// emit with each value and the values of the labels. It must bound their number,
// and may not emit the same labels twice.
func (s *Set) Gauges(name, help string, labels []string, read func(emit func(value float64, labels ...string))) {
	names, values := s.split(nil)
	s.read(prometheus.GaugeValue, name, help, append(names, labels...), values, read)
}

// Counters is [Set.Gauges] for counters.
func (s *Set) Counters(name, help string, labels []string, read func(emit func(value float64, labels ...string))) {
	names, values := s.split(nil)
	s.read(prometheus.CounterValue, name, help, append(names, labels...), values, read)
}

// Value returns the value of a series, 0 if there is none: for tests and reports.
// Of a histogram it is the number of observations.
func (s *Set) Value(name string, labels ...string) float64 {
	got, _ := s.registry.Gather()
	want := pairs(labels)
	for _, f := range got {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if matches(m, want) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

// Value returns the value of one counter or gauge: for tests and reports.
func Value(of prometheus.Metric) float64 {
	var m dto.Metric
	if err := of.Write(&m); err != nil {
		panic(err) // only for a metric that was made wrongly
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func matches(m *dto.Metric, want prometheus.Labels) bool {
	for name, value := range want {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
			return l.GetName() == name && l.GetValue() == value
		}) {
			return false
		}
	}
	return true
}

// split returns the names and the values of the set's labels and further ones.
func (s *Set) split(labels []string) (names, values []string) {
	all := slices.Concat(s.labels, labels)
	if len(all)%2 != 0 {
		panic(fmt.Sprintf("metric: labels are pairs of name and value: %q", all))
	}
	for i := 0; i < len(all); i += 2 {
		names, values = append(names, all[i]), append(values, valid(all[i+1]))
	}
	return names, values
}

// valid returns a label's value as the text format can hold it.
func valid(value string) string { return strings.ToValidUTF8(value, "\ufffd") }

func pairs(labels []string) prometheus.Labels {
	all := make(prometheus.Labels, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	return all
}

// made returns the family called name and makes it if there is none. One name with
// two types is a mistake of the programmer.
func made[F family](s *Set, name string, create func() F) F {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.byName[name]; ok {
		return f.(F)
	}
	f := create()
	s.registry.MustRegister(f)
	s.byName[name] = f
	return f
}
