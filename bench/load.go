package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// feed hands out messages, each once, or round and round.
type feed struct {
	messages []string
	repeat   bool
	next     atomic.Int64
	most     int64 // messages to hand out with repeat
	dry      atomic.Bool
}

func (f *feed) take() (message string, ok bool) {
	i := f.next.Add(1) - 1
	switch {
	case f.repeat && i < f.most:
		return f.messages[i%int64(len(f.messages))], true
	case !f.repeat && i < int64(len(f.messages)):
		return f.messages[i], true
	}
	f.dry.Store(true)
	return "", false
}

// phase is load on one target for some time.
type phase struct {
	cfg    *Config
	target target
	feed   *feed
	meter  *meter
}

// run loads the target for length and waits for the last answer. It gives the
// time that this took.
func (p *phase) run(ctx context.Context, length time.Duration) time.Duration {
	start := time.Now()
	end := start.Add(length)
	var wg sync.WaitGroup
	var next atomic.Int64
	for range p.cfg.Concurrency {
		if p.cfg.Rate > 0 {
			wg.Go(func() { p.open(ctx, start, end, &next) })
		} else {
			wg.Go(func() { p.closed(ctx, end) })
		}
	}
	wg.Wait()
	return time.Since(start)
}

// closed asks, waits for the answer and asks again.
func (p *phase) closed(ctx context.Context, end time.Time) {
	for ctx.Err() == nil && time.Now().Before(end) {
		message, ok := p.feed.take()
		if !ok {
			return
		}
		p.ask(ctx, message, time.Now())
	}
}

// open asks when requests are due. A worker that comes late because the answers
// do still sends what was due meanwhile, and counts its time from then.
func (p *phase) open(ctx context.Context, start, end time.Time, next *atomic.Int64) {
	for {
		due := start.Add(time.Duration(float64(next.Add(1)-1) / p.cfg.Rate * float64(time.Second)))
		if !due.Before(end) || !sleepUntil(ctx, due) || p.feed.dry.Load() {
			return
		}
		now := time.Now()
		if !now.Before(end) {
			p.meter.add(now.Sub(due), kindUnsent, false)
			continue
		}
		message, ok := p.feed.take()
		if !ok {
			return
		}
		p.meter.sentLate(now.Sub(due))
		p.ask(ctx, message, due)
	}
}

func (p *phase) ask(ctx context.Context, message string, since time.Time) {
	kind, answered := p.target.ask(ctx, message)
	if ctx.Err() != nil && !answered {
		return // cut off by the end of the run, not by the server
	}
	p.meter.add(time.Since(since), kind, answered)
}

func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
