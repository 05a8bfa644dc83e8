package p2p

import (
	"math"
	"sync/atomic"
	"time"
)

// record is what is known of how a peer behaves, for lock-free reading. It
// lasts as long as the peer is wanted, over all its links.
type record struct {
	waiting atomic.Int32
	missed  atomic.Int32 // in a row, on this link
	latency atomic.Int64 // nanoseconds, moving average; written by the reader only
	times   latencies

	asked, replied, refused, expired atomic.Uint64
	violations                       atomic.Uint64
}

// answered notes an answer in time or late, but not one that was given up.
func (r *record) answered(a Answer) {
	r.missed.Store(0)
	r.replied.Add(1)
	if a.Err != nil {
		r.refused.Add(1)
	}
	r.times.add(a.RTT)
	// Moving average with weight 1/8 for the newest.
	average := time.Duration(r.latency.Load())
	if average == 0 {
		average = a.RTT
	}
	r.latency.Store(max(1, int64(average+(a.RTT-average)/8)))
}

// missedSome notes questions that expired.
func (r *record) missedSome(count int) {
	r.missed.Add(int32(count))
	r.expired.Add(uint64(count))
}

// reconnected forgets the row of missed questions: they may have been the old
// link's fault. The totals stay.
func (r *record) reconnected() { r.missed.Store(0) }

// Behaviour is how a node has answered since it is wanted.
type Behaviour struct {
	// Asked counts questions, Answered the answers to them, also those that came
	// when nobody waited any more; Refused are those of them that were no. Expired
	// counts the questions without an answer in time.
	Asked, Answered, Refused, Expired uint64
	// Violations counts what broke the protocol.
	Violations uint64
	// P50 and P99 are quantiles of the times that the last answers took, about
	// a thousand of them, at most two fifths too long; 0 if there was no answer.
	P50, P99 time.Duration
}

func (r *record) behaviour() Behaviour {
	return Behaviour{
		Asked: r.asked.Load(), Answered: r.replied.Load(), Refused: r.refused.Load(), Expired: r.expired.Load(),
		Violations: r.violations.Load(),
		P50:        r.times.quantile(0.5), P99: r.times.quantile(0.99),
	}
}

const (
	// The first bucket of latencies ends at latencyFrom, each further one
	// latencyGrowth times later.
	latencyFrom    = 100 * time.Microsecond
	latencyGrowth  = math.Sqrt2
	latencyBuckets = 36 // up to 18 s, above any wait for an answer
	// latencyMemory is how many answers count: at that number all counts are halved.
	latencyMemory = 1024
)

// latencies is a histogram of the times that a peer's last answers took. One
// goroutine adds, any may read.
type latencies struct {
	counts [latencyBuckets]atomic.Uint32
	total  int // owned by the one who adds
}

func (h *latencies) add(d time.Duration) {
	if h.total == latencyMemory {
		h.total = 0
		for i := range h.counts {
			half := h.counts[i].Load() / 2
			h.counts[i].Store(half)
			h.total += int(half)
		}
	}
	h.counts[latencyBucket(d)].Add(1)
	h.total++
}

func latencyBucket(d time.Duration) int {
	if d <= latencyFrom {
		return 0
	}
	i := math.Ceil(2 * math.Log2(float64(d)/float64(latencyFrom))) // log to the base of latencyGrowth
	return min(int(i), latencyBuckets-1)
}

// quantile returns the upper bound of the bucket in which the share q of the
// answers ends, and 0 if there was no answer.
func (h *latencies) quantile(q float64) time.Duration {
	var counts [latencyBuckets]uint32
	var total uint32
	for i := range counts {
		counts[i] = h.counts[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return 0
	}
	rank := uint32(math.Ceil(q * float64(total)))
	var sum uint32
	last := 0
	for i, n := range counts {
		if sum += n; n > 0 {
			last = i
		}
		if sum >= rank {
			break
		}
	}
	return time.Duration(float64(latencyFrom) * math.Pow(latencyGrowth, float64(last)))
}
