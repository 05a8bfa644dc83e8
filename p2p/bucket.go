package p2p

import "time"

// bucket is a token bucket of bytes. It is not safe for concurrent use. A rate
// of 0 or below never refuses.
type bucket struct {
	rate, burst float64 // bytes per second, bytes
	level       float64
	at          time.Time
}

func newBucket(rate, burst int, now time.Time) bucket {
	return bucket{rate: float64(rate), burst: float64(burst), level: float64(burst), at: now}
}

func (b *bucket) refill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.level = min(b.burst, b.level+d.Seconds()*b.rate)
		b.at = now
	}
}

// take takes n bytes if there are as many.
func (b *bucket) take(n int, now time.Time) bool {
	if b.rate <= 0 {
		return true
	}
	b.refill(now)
	if b.level < float64(n) {
		return false
	}
	b.level -= float64(n)
	return true
}

// spend takes n bytes even if they are not there, and returns how long to wait
// until the level is back at 0.
func (b *bucket) spend(n int, now time.Time) time.Duration {
	if b.rate <= 0 {
		return 0
	}
	b.refill(now)
	b.level -= float64(n)
	if b.level >= 0 {
		return 0
	}
	return time.Duration(-b.level / b.rate * float64(time.Second))
}
