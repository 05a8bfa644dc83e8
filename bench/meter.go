package bench

import (
	"cmp"
	"slices"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Latencies are kept in microseconds with three digits, up to ten minutes.
	maxLatency = 10 * time.Minute
	digits     = 3
	// maxKinds bounds the kinds of errors that are told apart.
	maxKinds  = 50
	kindOther = "other errors"
)

// meter counts what came of requests. Safe for concurrent use.
type meter struct {
	mu         sync.Mutex
	ok, failed int64
	kinds      map[string]int64
	latency    *hdr.Histogram
	late       *hdr.Histogram // open loop: how long after it was due a request was sent
}

func newMeter() *meter {
	return &meter{kinds: make(map[string]int64), latency: newHistogram(), late: newHistogram()}
}

func newHistogram() *hdr.Histogram { return hdr.New(1, maxLatency.Microseconds(), digits) }

func record(h *hdr.Histogram, d time.Duration) {
	// The value is inside the bounds, so there is no error.
	_ = h.RecordValue(min(max(d, time.Microsecond), maxLatency).Microseconds())
}

// add counts a request. took enters the latencies unless it was answered with
// an error: those are often fast, and would make the figures better the worse
// the server is. A request without an answer took at least so long.
func (m *meter) add(took time.Duration, kind string, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind == "" || !answered {
		record(m.latency, took)
	}
	if kind == "" {
		m.ok++
		return
	}
	m.failed++
	if _, known := m.kinds[kind]; !known && len(m.kinds) >= maxKinds {
		kind = kindOther
	}
	m.kinds[kind]++
}

// sentLate notes how long after its time a request was sent.
func (m *meter) sentLate(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record(m.late, d)
}

func (m *meter) counts() (ok, failed int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ok, m.failed
}

// merge adds what o has counted; o must be at rest.
func (m *meter) merge(o *meter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ok += o.ok
	m.failed += o.failed
	for kind, n := range o.kinds {
		if _, known := m.kinds[kind]; !known && len(m.kinds) >= maxKinds {
			kind = kindOther
		}
		m.kinds[kind] += n
	}
	m.latency.Merge(o.latency)
	m.late.Merge(o.late)
}

// Latency is a distribution in milliseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

func latencyOf(h *hdr.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		Mean: quotient(h.Mean(), 1000), P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)),
		P99: ms(h.ValueAtQuantile(99)), Max: ms(h.Max()),
	}
}

// ErrorCount is one kind of error: the status and the first words of its
// message, or why there was no answer.
type ErrorCount struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// errors returns the kinds, the most frequent first.
func (m *meter) errors() []ErrorCount {
	out := make([]ErrorCount, 0, len(m.kinds))
	for kind, n := range m.kinds {
		out = append(out, ErrorCount{kind, n})
	}
	slices.SortFunc(out, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
