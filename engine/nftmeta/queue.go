package nftmeta

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// site is what shares a queue: the servers of a registered domain, or the documents of one
// collection at the gateway.
type site struct {
	waiting  []*task
	workers  int
	next     time.Time // when a request may begin
	failures int       // in a row
}

// start fetches what a task is about. Where that takes a server it is queued; nil is no task.
func (m *Metadata) start(ctx context.Context, t *task) {
	switch {
	case t == nil:
	case m.cfg.Room() != nil:
		m.forget(t)
	case t.refused != "" || t.place.url == "":
		m.finish(ctx, t, &answer{raw: t.place.inline, status: t.refused}, time.Now())
	default:
		m.enqueue(ctx, t)
	}
}

// enqueue has a task wait for its site. The next pass finds again what does not fit.
func (m *Metadata) enqueue(ctx context.Context, t *task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sites.Get(t.place.site)
	if !ok {
		s = new(site)
		m.sites.Add(t.place.site, s)
	}
	factor, at := 1, len(s.waiting)
	if t.urgent {
		factor, at = 2, 0
	}
	if full := len(s.waiting) >= factor*maxQueue || len(m.busy) > factor*maxWaiting; full || time.Until(s.next) > patience {
		delete(m.busy, t.key)
		m.lost.CompareAndSwap(false, full)
		return
	}
	s.waiting = slices.Insert(s.waiting, at, t)
	if s.workers < perSite {
		s.workers++
		m.work.Go(func() { m.serve(ctx, s) })
	}
}

// serve fetches what waits for a site.
func (m *Metadata) serve(ctx context.Context, s *site) {
	for t := m.turn(ctx, s); t != nil; t = m.turn(ctx, s) {
		slots := m.web.slots
		if t.place.gateway {
			slots = m.ipfs.slots
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			m.forget(t)
			continue
		}
		began := time.Now()
		a := m.fetch(ctx, &t.place)
		<-slots
		m.stats.seconds.Observe(time.Since(began).Seconds())
		m.note(s, &a)
		m.finish(ctx, t, &a, began)
	}
}

// turn waits until the next task of a site may be fetched. Those of a site that rests for
// long are dropped: the next pass finds them.
func (m *Metadata) turn(ctx context.Context, s *site) *task {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(s.waiting) > 0 {
		wait := time.Until(s.next)
		switch {
		case ctx.Err() != nil || wait > patience:
			for _, t := range s.waiting {
				delete(m.busy, t.key)
			}
			s.waiting = nil
		case wait > 0:
			m.mu.Unlock()
			_ = pause(ctx, wait) // the loop sees why
			m.mu.Lock()
		default:
			t := s.waiting[0]
			s.waiting, s.next = s.waiting[1:], time.Now().Add(sitePause)
			return t
		}
	}
	s.workers--
	return nil
}

// note has a site rest, ever longer, that is at fault for an answer.
func (m *Metadata) note(s *site, a *answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !a.faulty {
		s.failures = 0
		return
	}
	s.failures++
	rest := max(a.wait, min(firstPause<<min(s.failures-1, 16), maxPause))
	if at := time.Now().Add(rest); at.After(s.next) {
		s.next = at
	}
}

// resting returns how many sites rest.
func (m *Metadata) resting() (n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites.Values() {
		if s.failures > 0 && time.Now().Before(s.next) {
			n++
		}
	}
	return n
}

// finish commits what came of a task.
func (m *Metadata) finish(ctx context.Context, t *task, a *answer, began time.Time) {
	defer m.forget(t)
	if ctx.Err() != nil {
		return
	}
	var doc *Document
	switch {
	case a.status != "":
	case len(a.raw) > maxBytes:
		a.status = TooLarge
	default:
		doc, a.status = parseDocument(a.raw, &t.key.ID, t.multi)
	}
	if c, ok := m.stats.results[cmp.Or(a.status, Indexed)]; ok {
		c.Inc()
	}
	m.fail(m.commit(ctx, t, doc, a, began))
}

func (m *Metadata) forget(t *task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, t.key)
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
