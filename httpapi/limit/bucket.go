package limit

import (
	"math"
	"sync/atomic"
	"time"
)

// rate is how a bucket fills. Both members were validated: no product overflows.
type rate struct {
	perMinute int64 // units
	burst     int64 // units
}

// times returns n times the rate.
func (r rate) times(n int) rate {
	return rate{r.perMinute * int64(n), min(r.burst*int64(n), MaxRate)}
}

// MaxRate bounds units per minute, per burst and per request. At one a minute it
// takes 190 years, which still fits a time.Duration.
const MaxRate = 100_000_000

// span is how long units take to fill, rounded up.
func (r rate) span(units int64) time.Duration {
	units = min(max(units, 0), MaxRate)
	return time.Duration((units*int64(time.Minute) + r.perMinute - 1) / r.perMinute)
}

// bucket is a token bucket in one word: the time at which it would be full again,
// as the time since the limiter's start. It is full from the start.
type bucket struct{ full atomic.Int64 }

// take takes units out, or says how long until they will be there. What is worth
// more than a burst passes when the bucket is full, and leaves a debt; requests are bounded
// before.
func (b *bucket) take(now time.Duration, r rate, units int64) (wait time.Duration) {
	cost := r.span(units)
	ahead := max(0, r.span(r.burst)-cost) // how far from full the bucket may be
	for {
		full := b.full.Load()
		start := max(full, int64(now))
		if wait = time.Duration(start) - now - ahead; wait > 0 {
			return wait
		}
		if b.full.CompareAndSwap(full, start+int64(cost)) {
			return 0
		}
	}
}

// owe takes units out whether they are there or not, or puts back what was taken.
func (b *bucket) owe(now time.Duration, r rate, units int64) {
	if units < 0 {
		b.full.Add(-int64(r.span(-units)))
		return
	}
	for {
		full := b.full.Load()
		if b.full.CompareAndSwap(full, max(full, int64(now))+int64(r.span(units))) {
			return
		}
	}
}

// left returns how many units there are, and how long until the bucket is full.
func (b *bucket) left(now time.Duration, r rate) (units int64, reset time.Duration) {
	if reset = time.Duration(b.full.Load()) - now; reset <= 0 {
		return r.burst, 0
	}
	// Divided first: a bucket that owes can be 190 years from full.
	missing := float64(reset) / float64(time.Minute) * float64(r.perMinute)
	return max(0, r.burst-int64(math.Ceil(missing))), reset
}
