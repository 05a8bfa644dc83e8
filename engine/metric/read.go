package metric

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// readings are the series of one name that are read when they are written out.
type readings struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	names []string

	mu    sync.Mutex // guards parts
	parts map[string]reading
}

// reading is what one component contributes: the values of the first labels, and
// the function that emits those of the others.
type reading struct {
	values []string
	read   func(emit func(float64, ...string))
}

// read adds a function, or replaces the one with the same values.
func (s *Set) read(kind prometheus.ValueType, name, help string, names, values []string, read func(func(float64, ...string))) {
	f := made(s, name, func() *readings {
		return &readings{
			desc: prometheus.NewDesc(name, help, names, s.constant), kind: kind, names: names,
			parts: make(map[string]reading),
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts[strings.Join(values, "\xff")] = reading{values, read}
}

func (r *readings) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect calls the functions without a lock: they may take those of components
// that are making metrics at the same time.
func (r *readings) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	parts := make([]reading, 0, len(r.parts))
	for _, p := range r.parts {
		parts = append(parts, p)
	}
	r.mu.Unlock()
	for _, p := range parts {
		p.read(func(value float64, labels ...string) {
			values := slices.Clone(p.values)
			for _, l := range labels {
				values = append(values, valid(l))
			}
			m, err := prometheus.NewConstMetric(r.desc, r.kind, value, values...)
			if err != nil {
				m = prometheus.NewInvalidMetric(r.desc, err)
			}
			to <- m
		})
	}
}

func (r *readings) DeletePartialMatch(labels prometheus.Labels) (removed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, p := range r.parts {
		match := true
		for name, value := range labels {
			i := slices.Index(r.names, name)
			match = match && i >= 0 && i < len(p.values) && p.values[i] == value
		}
		if match {
			delete(r.parts, key)
			removed++
		}
	}
	return removed
}
