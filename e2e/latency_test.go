package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	latencyMessages = 300
	latencyRounds   = 10
	// saneLatency only catches a server that waits for a timeout; the figures are for the reader.
	saneLatency = time.Second
)

// TestLatency measures one client with one kept connection: new messages, then
// each again and again.
func TestLatency(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	messages := w.emit(t, latencyMessages)
	fresh := make([]time.Duration, 0, latencyMessages)
	for _, m := range messages {
		signed, took := s.aggregate(t, m.Unsigned, 0)
		mustVerify(t, w.oracle, signed, m.Unsigned)
		fresh = append(fresh, took)
	}
	repeats := make([]time.Duration, 0, latencyMessages*latencyRounds)
	for range latencyRounds {
		for _, m := range messages {
			_, took := s.aggregate(t, m.Unsigned, 0)
			repeats = append(repeats, took)
		}
	}
	reportLatency(t, "new message", fresh)
	reportLatency(t, "repeat", repeats)
}

func reportLatency(t *testing.T, what string, times []time.Duration) {
	t.Helper()
	slices.Sort(times)
	var sum time.Duration
	for _, d := range times {
		sum += d
	}
	at := func(percent int) time.Duration { return times[min(len(times)-1, len(times)*percent/100)] }
	t.Logf("%s: %d requests, p50 %s, p90 %s, p99 %s, max %s, %.0f/s with one client", what, len(times),
		millis(at(50)), millis(at(90)), millis(at(99)), millis(times[len(times)-1]),
		float64(len(times))/sum.Seconds())
	if at(99) > saneLatency {
		t.Errorf("%s: p99 is %v, above %v", what, at(99), saneLatency)
	}
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
