// Package yield keeps background work from slowing requests down. Such work
// is done in short slices, with a [Worker.Rest] after each: while requests arrive all of
// it together has a share of the processors, and while none do it has them all.
//
// Goroutines have no priorities in Go, and a request that finds all processors taken
// waits for up to 10 ms. So what may be slow has to make room by itself.
package yield

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quiet is how long no request must have come for the rests to end.
	quiet = 200 * time.Millisecond
	// slice is for how long a worker works at least before it rests: timers are not
	// much finer.
	slice = time.Millisecond
	// part is the share of the processors that work has while requests arrive: with
	// more they wait for it, with less it takes too long to end.
	part = 0.25
	// longest bounds a rest, and with it the share from below: what has worked for
	// long without a rest is not made to pay for all of it.
	longest = time.Second
	// gone is how long no worker must have worked for what they cause to be of others.
	gone = 5 * longest
)

// Time is the processors' time that requests leave. Nobody rests with a nil one. All
// methods may be called at once.
type Time struct {
	requests atomic.Uint64
	rested   atomic.Int64

	mu     sync.Mutex
	ledger ledger
}

// New returns the time of so many processors.
func New(processors int) *Time {
	return &Time{ledger: ledger{share: part * float64(max(processors, 1))}}
}

// Requested counts a request.
func (t *Time) Requested() { t.requests.Add(1) }

// Rested returns how long all work has waited so far.
func (t *Time) Rested() time.Duration {
	if t == nil {
		return 0
	}
	return time.Duration(t.rested.Load())
}

// Follow rests after work of some time that others cause, as [Worker.Rest] does, as long
// as there are workers that do.
func (t *Time) Follow(worked time.Duration, done <-chan struct{}) { t.rest(worked, done, true) }

// Rest waits after work that was measured by itself, as [Worker.Rest] does.
func (t *Time) Rest(worked time.Duration, done <-chan struct{}) { t.rest(worked, done, false) }

// rest waits as long as work of some time has to, or until done is closed.
func (t *Time) rest(worked time.Duration, done <-chan struct{}, caused bool) {
	if t == nil || worked <= 0 {
		return
	}
	t.mu.Lock()
	wait := t.ledger.rest(time.Now(), t.requests.Load(), worked, caused)
	t.mu.Unlock()
	if wait <= 0 {
		return
	}
	defer func(began time.Time) { t.rested.Add(int64(time.Since(began))) }(time.Now())
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}

// Worker returns a worker that begins its work.
func (t *Time) Worker() *Worker {
	if t == nil {
		return nil
	}
	return &Worker{t, time.Now()}
}

// Worker measures the work of a goroutine. It is not safe for concurrent use, and a
// nil one never rests.
type Worker struct {
	time  *Time
	since time.Time
}

// Begin starts a slice again after a wait for something else.
func (w *Worker) Begin() {
	if w != nil {
		w.since = time.Now()
	}
}

// Rest ends a slice of work, if it was long enough, waits as long as it has to, or until
// done is closed, and begins the next one. It is cheap: call it often.
func (w *Worker) Rest(done <-chan struct{}) {
	if w == nil {
		return
	}
	worked := time.Since(w.since)
	if worked < slice {
		return
	}
	w.time.rest(worked, done, false)
	w.since = time.Now()
}

// ledger says who rests for how long.
type ledger struct {
	share   float64   // of time that may be worked, 2 for all of two processors
	seen    uint64    // requests, when they were last looked at
	changed time.Time // when there were more of them
	paid    time.Time // up to here the share is used up
	worker  time.Time // when one has worked that nobody caused to
}

// rest returns how long to wait after work that has ended now, caused by a worker or a
// worker's own. One who has worked for a
// while takes the share of a longer time, which begins after the times that others took.
func (l *ledger) rest(now time.Time, requests uint64, worked time.Duration, caused bool) time.Duration {
	if !caused {
		l.worker = now
	} else if now.Sub(l.worker) >= gone {
		return 0
	}
	if requests != l.seen {
		l.seen, l.changed = requests, now
	}
	if now.Sub(l.changed) >= quiet {
		return 0
	}
	if began := now.Add(-worked); l.paid.Before(began) {
		l.paid = began
	}
	l.paid = l.paid.Add(time.Duration(float64(worked) / l.share))
	if most := now.Add(longest); l.paid.After(most) {
		l.paid = most
	}
	return l.paid.Sub(now)
}
