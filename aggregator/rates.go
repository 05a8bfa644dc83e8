package aggregator

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// rateSlot is the time that one slot of the rates counts, rateSlots how many are kept.
	rateSlot  = 10 * time.Second
	rateSlots = 90
	// RateWindow is the time that [Rates] cover.
	RateWindow = rateSlots * rateSlot

	// The first bucket of times ends at tookFrom, each further one tookGrowth times
	// later: the last at 88 s, beyond any request.
	tookFrom    = 100 * time.Microsecond
	tookPerTwo  = 4 // buckets for a doubling
	tookBuckets = 80
)

// way is how a request was answered, as rates tell them apart.
type way uint8

const (
	wayCollected way = iota // the first of those that waited for a collection
	wayJoined               // the others
	wayKept                 // from memory or disk
	wayAhead                // collected before anyone asked
	wayFailed
	ways
)

// Rates are how many requests were answered, and how fast, in the last RateWindow or
// since the start, if that was later.
type Rates struct {
	// Window is the time covered.
	Window time.Duration
	RateCounts
	// Points are the counts of each rateSlot of the window, the oldest first.
	Points []RatePoint
}

// RateCounts are numbers of requests by how they were answered.
type RateCounts struct {
	// Collected had signatures collected, Joined waited for a collection under way, Kept
	// were answered from memory or disk, Ahead were signed before anyone asked. Failed are
	// requests that somebody made.
	Collected, Joined, Kept, Ahead, Failed uint64
	// P50 and P99 are quantiles of the times that collections took, at most a fifth too
	// long; 0 if there was none.
	P50, P99 time.Duration
}

// Signed is how many messages were signed or given out.
func (c *RateCounts) Signed() uint64 { return c.Collected + c.Joined + c.Kept + c.Ahead }

// RatePoint is what was counted in one slot, which began at At.
type RatePoint struct {
	At time.Time
	RateCounts
}

// rates count requests in a ring of slots. To count costs two atomic operations.
type rates struct {
	started time.Time
	turn    sync.Mutex // held while a slot is emptied for its next time
	slots   [rateSlots + 1]rateSlotCounts
}

type rateSlotCounts struct {
	number atomic.Int64 // which slot of all times this is
	counts [ways]atomic.Uint64
	took   [tookBuckets]atomic.Uint32
}

func newRates(now time.Time) *rates { return &rates{started: now} }

func slotNumber(t time.Time) int64 { return t.UnixNano() / int64(rateSlot) }

// slot returns the slot of a time, empty if it is the first to ask for it.
func (r *rates) slot(now time.Time) *rateSlotCounts {
	number := slotNumber(now)
	s := &r.slots[number%int64(len(r.slots))]
	if s.number.Load() == number {
		return s
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	if s.number.Load() != number {
		for i := range s.counts {
			s.counts[i].Store(0)
		}
		for i := range s.took {
			s.took[i].Store(0)
		}
		s.number.Store(number)
	}
	return s
}

func (r *rates) count(now time.Time, w way) { r.slot(now).counts[w].Add(1) }

// timed counts a request whose signatures were collected.
func (r *rates) timed(now time.Time, w way, took time.Duration) {
	s := r.slot(now)
	s.counts[w].Add(1)
	s.took[tookBucket(took)].Add(1)
}

func tookBucket(d time.Duration) int {
	if d <= tookFrom {
		return 0
	}
	i := math.Ceil(tookPerTwo * math.Log2(float64(d)/float64(tookFrom)))
	return min(int(i), tookBuckets-1)
}

// tookCounts is a histogram that no longer changes.
type tookCounts [tookBuckets]uint64

// quantile returns the end of the bucket in which the share q of all ends.
func (c *tookCounts) quantile(q float64) time.Duration {
	total := uint64(0)
	for _, n := range c {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank, sum := uint64(math.Ceil(q*float64(total))), uint64(0)
	for i, n := range c {
		if sum += n; sum >= rank {
			return time.Duration(float64(tookFrom) * math.Exp2(float64(i)/tookPerTwo))
		}
	}
	return 0 // not reached: the last sum is the total
}

// read returns what was counted up to now.
func (r *rates) read(now time.Time) Rates {
	last := slotNumber(now)
	first := max(last-rateSlots+1, slotNumber(r.started))
	out := Rates{Window: now.Sub(time.Unix(0, first*int64(rateSlot)))}
	out.Window = min(out.Window, now.Sub(r.started))
	var all tookCounts
	var sums [ways]uint64
	for number := first; number <= last; number++ {
		p := RatePoint{At: time.Unix(0, number*int64(rateSlot))}
		if s := &r.slots[number%int64(len(r.slots))]; s.number.Load() == number {
			var counts [ways]uint64
			var took tookCounts
			for i := range s.counts {
				counts[i] = s.counts[i].Load()
				sums[i] += counts[i]
			}
			for i := range s.took {
				took[i] = uint64(s.took[i].Load())
				all[i] += took[i]
			}
			p.RateCounts = rateCounts(&counts, &took)
		}
		out.Points = append(out.Points, p)
	}
	out.RateCounts = rateCounts(&sums, &all)
	return out
}

func rateCounts(n *[ways]uint64, took *tookCounts) RateCounts {
	return RateCounts{
		Collected: n[wayCollected], Joined: n[wayJoined], Kept: n[wayKept], Ahead: n[wayAhead], Failed: n[wayFailed],
		P50: took.quantile(0.5), P99: took.quantile(0.99),
	}
}
