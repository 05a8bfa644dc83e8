package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// feed hands out items, until item has none left.
type feed struct {
	item func(i int64) (item string, ok bool)
	next atomic.Int64
	dry  atomic.Bool
}

func (f *feed) take() (item string, ok bool) {
	if item, ok = f.item(f.next.Add(1) - 1); !ok {
		f.dry.Store(true)
	}
	return item, ok
}

// once returns each item once.
func once(items []string) func(int64) (string, bool) {
	return func(i int64) (string, bool) {
		if i >= int64(len(items)) {
			return "", false
		}
		return items[i], true
	}
}

// again returns the items round and round, [MaxRequests] in all.
func again(items []string) func(int64) (string, bool) {
	return func(i int64) (string, bool) {
		if i >= MaxRequests {
			return "", false
		}
		return items[i%int64(len(items))], true
	}
}

// phase is load on one target for some time.
type phase struct {
	load   *Load
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
	for range p.load.Concurrency {
		if p.load.Rate > 0 {
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
		item, ok := p.feed.take()
		if !ok {
			return
		}
		p.ask(ctx, item, time.Now())
	}
}

// timerDelay is how much later than asked for a timer may come: what was due just
// before the end is sent although it is over.
const timerDelay = 10 * time.Millisecond

// open asks when requests are due. A worker that comes late because the answers
// do still sends what was due meanwhile, and counts its time from then.
func (p *phase) open(ctx context.Context, start, end time.Time, next *atomic.Int64) {
	for {
		due := start.Add(time.Duration(float64(next.Add(1)-1) / p.load.Rate * float64(time.Second)))
		if !due.Before(end) || !sleepUntil(ctx, due) || p.feed.dry.Load() {
			return
		}
		now := time.Now()
		if !now.Before(end.Add(timerDelay)) {
			p.meter.add(now.Sub(due), kindUnsent, false)
			continue
		}
		item, ok := p.feed.take()
		if !ok {
			return
		}
		p.meter.sentLate(now.Sub(due))
		p.ask(ctx, item, due)
	}
}

func (p *phase) ask(ctx context.Context, item string, since time.Time) {
	kind, answered := p.target.ask(ctx, item)
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
