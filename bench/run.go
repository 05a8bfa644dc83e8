package bench

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxWarm bounds the messages that are asked for again and again, since all of
// them are asked for once before.
const maxWarm = 1000

// side is one server of a run and what was measured of it.
type side struct {
	url    string
	target target
	usage  *usage
	meter  *meter
	busy   time.Duration
}

// Run carries out a benchmark. It ends when its time is over, no fresh message
// is left or ctx ends; in the last case, what was measured is in the report, and
// the error is the cause of ctx's end. Nothing was sent if the error wraps [ErrConfig].
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	how := newSigning(&cfg)
	first, err := newSide(ctx, &cfg.Load, cfg.URL, cfg.PID, how)
	if err != nil {
		return nil, err
	}
	sides := []*side{first}
	if cfg.Vs != "" {
		second, err := newSide(ctx, &cfg.Load, cfg.Vs, cfg.VsPID, how)
		if err != nil {
			return nil, err
		}
		sides = append(sides, second)
	}
	return runOn(ctx, &cfg, sides)
}

// newSide returns a server to load, with its process if pid is not 0.
func newSide(ctx context.Context, load *Load, url string, pid int, how form) (*side, error) {
	t, err := newServer(ctx, load, url, how)
	if err != nil {
		return nil, err
	}
	u, err := newUsage(pid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &side{url: url, target: t, usage: u}, nil
}

// runOn is Run with the targets at hand.
func runOn(ctx context.Context, cfg *Config, sides []*side) (*Report, error) {
	r := &Report{
		Style: cfg.Style, Concurrency: cfg.Concurrency, Rate: cfg.Rate, Repeat: cfg.Repeat,
		Quorum: cfg.Quorum, Buffer: cfg.Buffer, Messages: len(cfg.Messages),
	}
	items, before := once(cfg.Messages), []string(nil)
	if cfg.Repeat {
		r.Messages = min(r.Messages, maxWarm)
		before = cfg.Messages[:r.Messages]
		items = again(before)
	}
	return r.measure(ctx, &cfg.Load, sides, items, before)
}

// measure loads the sides, two of them in turns, and closes their targets. Each
// is asked for the items before once, unmeasured. What was measured until ctx
// ended comes with the cause of that.
func (r *Report) measure(ctx context.Context, load *Load, sides []*side, items func(int64) (string, bool), before []string) (*Report, error) {
	cut := context.AfterFunc(ctx, func() {
		for _, s := range sides {
			s.target.close()
		}
	})
	defer cut()
	for _, s := range sides {
		s.meter = newMeter()
		defer s.target.close()
	}
	for _, s := range sides {
		if err := warm(ctx, load, s, before); err != nil {
			return nil, err
		}
	}
	var pairs []Pair
	f := &feed{item: items}
	stopProgress := load.follow(sides)
	if len(sides) == 1 {
		sides[0].load(ctx, load, f, load.Duration, sides[0].meter)
	} else {
		pairs = compare(ctx, load, f, sides)
	}
	stopProgress()
	r.Exhausted = f.dry.Load()
	if err := r.fill(sides, pairs, load.Rate > 0); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// load loads one server for some time, counts into m, and tells how long it took.
func (s *side) load(ctx context.Context, load *Load, f *feed, length time.Duration, m *meter) time.Duration {
	p := &phase{load: load, target: s.target, feed: f, meter: m}
	s.usage.begin(ctx)
	took := p.run(ctx, length)
	s.usage.end()
	s.busy += took
	return took
}

// slice is what one server did in one turn.
type slice struct {
	meter *meter
	took  time.Duration
}

// compare loads two servers in turns. Who is first changes from pair to pair,
// so that what drifts with time touches both alike.
func compare(ctx context.Context, load *Load, f *feed, sides []*side) []Pair {
	var pairs []Pair
	for i := range int(load.Duration / (2 * load.Slice)) {
		var s [2]slice
		for turn := range s {
			who := (i + turn) % 2
			s[who].meter = newMeter()
			s[who].took = sides[who].load(ctx, load, f, load.Slice, s[who].meter)
			// So the progress sees a slice when that is over.
			sides[who].meter.merge(s[who].meter)
		}
		if ctx.Err() != nil || f.dry.Load() {
			break // the last pair is not whole
		}
		pairs = append(pairs, pairOf(s[0], s[1]))
	}
	return pairs
}

// warm asks for each item once, unmeasured.
func warm(ctx context.Context, load *Load, s *side, items []string) error {
	if len(items) == 0 {
		return nil
	}
	all := *load
	all.Rate = 0
	p := &phase{load: &all, target: s.target, feed: &feed{item: once(items)}, meter: newMeter()}
	p.run(ctx, MaxDuration)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.meter.ok == 0 {
		return fmt.Errorf("%s answered none of %d requests: %s", s.url, len(items), p.meter.errors()[0].Kind)
	}
	return nil
}

// follow reports the progress until the function it returns is called.
func (l *Load) follow(sides []*side) (stop func()) {
	if l.Progress == nil {
		return func() {}
	}
	started, done := time.Now(), make(chan struct{})
	tell := func() {
		p := Progress{Elapsed: time.Since(started), Total: l.Duration}
		for _, s := range sides {
			ok, failed := s.meter.counts()
			p.OK, p.Failed = p.OK+ok, p.Failed+failed
		}
		l.Progress(p)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				tell()
				return
			case <-ticker.C:
				tell()
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
