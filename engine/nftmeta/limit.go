package nftmeta

import (
	"context"
	"sync"
	"time"
)

// limit bounds the requests to a site, for a collection, or all of them.
type limit struct {
	slots chan struct{} // those under way
	line  chan struct{} // the one that waits for a slot, of those that are not urgent
	pause time.Duration // between two

	mu       sync.Mutex
	next     time.Time // when a request may begin
	failures int       // in a row
}

func newLimit(most int, pause time.Duration) *limit {
	return &limit{slots: make(chan struct{}, most), line: make(chan struct{}, 1), pause: pause}
}

// enter waits for a turn, which is to be left. It reports false if ctx ends before, or the
// site rests.
func (l *limit) enter(ctx context.Context, urgent bool) bool {
	if !urgent {
		if !take(ctx, l.line) {
			return false
		}
		defer func() { <-l.line }()
	}
	if !take(ctx, l.slots) {
		return false
	}
	for {
		wait := l.turn()
		if wait <= 0 {
			return true
		}
		if l.rest() > 0 || pause(ctx, wait) != nil {
			<-l.slots
			return false
		}
	}
}

func take(ctx context.Context, c chan struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// turn takes a turn, or returns how long there is none.
func (l *limit) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	wait := l.next.Sub(now)
	if wait <= 0 {
		l.next = now.Add(l.pause)
	}
	return wait
}

// leave ends a request. A site that is at fault for what came of it rests, ever longer.
func (l *limit) leave(a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	<-l.slots
	if a == nil || !a.faulty {
		l.failures = 0
		return
	}
	l.failures++
	rest := max(a.wait, min(firstPause<<min(l.failures-1, 16), maxPause))
	if at := time.Now().Add(rest); at.After(l.next) {
		l.next = at
	}
}

// rest returns for how long nothing is asked, since it failed.
func (l *limit) rest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == 0 {
		return 0
	}
	return time.Until(l.next)
}

// limits returns the limits that a task is under, and that of its site. Those used last
// are remembered.
func (m *Metadata) limits(t *task) (all []*limit, site *limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := func(name string, most int, pause time.Duration) *limit {
		l, ok := m.used.Get(name)
		if !ok {
			l = newLimit(most, pause)
			m.used.Add(name, l)
		}
		return l
	}
	if site = m.gateway; !t.place.gateway {
		site = of("site "+t.place.site, perSite, sitePause)
	}
	return []*limit{of("collection "+string(t.key.chain[:])+string(t.key.Token[:]), perCollection, 0), site, m.all}, site
}

// resting returns how many sites rest.
func (m *Metadata) resting() (n float64) {
	for _, l := range append(m.used.Values(), m.gateway) {
		if l.rest() > 0 {
			n++
		}
	}
	return n
}

// pause waits, and returns why it is to end.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
