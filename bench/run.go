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
	var sides []*side
	for _, s := range []struct {
		url string
		pid int
	}{{cfg.URL, cfg.PID}, {cfg.Vs, cfg.VsPID}} {
		if s.url == "" && len(sides) > 0 {
			continue
		}
		t, err := newServer(ctx, &cfg, s.url)
		if err != nil {
			return nil, err
		}
		u, err := newUsage(s.pid)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		sides = append(sides, &side{url: s.url, target: t, usage: u})
	}
	return measure(ctx, &cfg, sides)
}

// measure is Run with the targets at hand.
func measure(ctx context.Context, cfg *Config, sides []*side) (*Report, error) {
	cut := context.AfterFunc(ctx, func() {
		for _, s := range sides {
			s.target.close()
		}
	})
	defer cut()
	f := &feed{messages: cfg.Messages, repeat: cfg.Repeat, most: MaxRequests}
	for _, s := range sides {
		s.meter = newMeter()
		defer s.target.close()
	}
	if cfg.Repeat {
		f.messages = f.messages[:min(len(f.messages), maxWarm)]
		for _, s := range sides {
			if err := warm(ctx, cfg, s, f.messages); err != nil {
				return nil, err
			}
		}
	}
	r := &Report{
		Style: cfg.Style, Concurrency: cfg.Concurrency, Rate: cfg.Rate, Repeat: cfg.Repeat,
		Quorum: cfg.Quorum, Buffer: cfg.Buffer, Messages: len(f.messages),
	}
	var pairs []Pair
	stopProgress := cfg.follow(sides)
	if len(sides) == 1 {
		sides[0].load(ctx, cfg, f, cfg.Duration)
	} else {
		pairs = compare(ctx, cfg, f, sides)
	}
	stopProgress()
	r.Exhausted = f.dry.Load()
	if err := r.fill(sides, pairs); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// load loads one server for some time and gives what it did.
func (s *side) load(ctx context.Context, cfg *Config, f *feed, length time.Duration) slice {
	p := &phase{cfg: cfg, target: s.target, feed: f, meter: newMeter()}
	// The progress reads the sum, so it sees a slice when that is over; a single
	// run has only one and counts into the sum at once.
	if cfg.Vs == "" {
		p.meter = s.meter
	}
	s.usage.begin(ctx)
	took := p.run(ctx, length)
	s.usage.end()
	s.busy += took
	if p.meter != s.meter {
		s.meter.merge(p.meter)
	}
	return slice{meter: p.meter, took: took}
}

// slice is what one server did in one turn.
type slice struct {
	meter *meter
	took  time.Duration
}

// compare loads two servers in turns. Who is first changes from pair to pair,
// so that what drifts with time touches both alike.
func compare(ctx context.Context, cfg *Config, f *feed, sides []*side) []Pair {
	var pairs []Pair
	for i := range int(cfg.Duration / (2 * cfg.Slice)) {
		var s [2]slice
		for turn := range s {
			who := (i + turn) % 2
			s[who] = sides[who].load(ctx, cfg, f, cfg.Slice)
		}
		if ctx.Err() != nil || f.dry.Load() {
			break // the last pair is not whole
		}
		pairs = append(pairs, pairOf(s[0], s[1]))
	}
	return pairs
}

// warm asks for each message once, unmeasured.
func warm(ctx context.Context, cfg *Config, s *side, messages []string) error {
	all := *cfg
	all.Rate = 0
	p := &phase{cfg: &all, target: s.target, feed: &feed{messages: messages}, meter: newMeter()}
	p.run(ctx, MaxDuration)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.meter.ok == 0 {
		return fmt.Errorf("%s answered none of %d messages: %s", s.url, len(messages), p.meter.errors()[0].Kind)
	}
	return nil
}

// follow tells the progress until the function it gives is called.
func (c *Config) follow(sides []*side) (stop func()) {
	if c.Progress == nil {
		return func() {}
	}
	started, done := time.Now(), make(chan struct{})
	tell := func() {
		p := Progress{Elapsed: time.Since(started), Total: c.Duration}
		for _, s := range sides {
			ok, failed := s.meter.counts()
			p.OK, p.Failed = p.OK+ok, p.Failed+failed
		}
		c.Progress(p)
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
