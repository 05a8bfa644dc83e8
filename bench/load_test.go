package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeTarget answers after a delay that the number of the request decides.
type fakeTarget struct {
	delay func(n int64) time.Duration
	kind  func(n int64) string
	asked atomic.Int64
	mu    sync.Mutex
	seen  map[string]int
}

func (f *fakeTarget) ask(ctx context.Context, message string) (string, bool) {
	n := f.asked.Add(1) - 1
	f.mu.Lock()
	if f.seen == nil {
		f.seen = make(map[string]int)
	}
	f.seen[message]++
	f.mu.Unlock()
	if f.delay != nil {
		select {
		case <-time.After(f.delay(n)):
		case <-ctx.Done():
			return kindTimeout, false
		}
	}
	if f.kind == nil {
		return "", true
	}
	return f.kind(n), true
}

func (f *fakeTarget) close() {}

func always(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

// messages returns n different ones.
func messages(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("0", 4) + string("0123456789abcdef"[i>>8&15]) + string("0123456789abcdef"[i>>4&15]) +
			string("0123456789abcdef"[i&15]) + "0"
	}
	return out
}

func measured(t *testing.T, cfg Config, targets ...*fakeTarget) *Report {
	t.Helper()
	cfg.URL = "http://one"
	if len(targets) > 1 {
		cfg.Vs = "http://two"
	}
	if err := cfg.fill(); err != nil {
		t.Fatal(err)
	}
	sides := []*side{{url: cfg.URL, target: targets[0]}}
	if len(targets) > 1 {
		sides = append(sides, &side{url: cfg.Vs, target: targets[1]})
	}
	r, err := runOn(t.Context(), &cfg, sides)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func about(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.002*math.Abs(want)+0.001 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{delay: always(10 * time.Millisecond)}
		r := measured(t, Config{Load: Load{Concurrency: 4, Duration: 2 * time.Second}, Messages: messages(4000)}, f)
		s := r.Servers[0]
		if s.OK != 800 || s.Failed != 0 || r.Exhausted || r.Ratio != nil || s.LateMs != nil || s.Process != nil {
			t.Errorf("%+v", r)
		}
		about(t, "rate", s.PerSecond, 400)
		about(t, "p50", s.LatencyMs.P50, 10)
		about(t, "max", s.LatencyMs.Max, 10)
		for m, n := range f.seen {
			if n != 1 {
				t.Errorf("message %s was asked for %d times", m, n)
			}
		}
	})
}

// A server that stalls once for a second is asked meanwhile for what cannot be
// sent: in the open loop all of it counts from when it was due.
func TestStallCountsForWhatItHeldUp(t *testing.T) {
	t.Parallel()
	stall := func(n int64) time.Duration {
		if n == 100 {
			return time.Second
		}
		return time.Millisecond
	}
	synctest.Test(t, func(t *testing.T) {
		open := measured(t, Config{Load: Load{Concurrency: 1, Rate: 100, Duration: 4 * time.Second}, Messages: messages(4000)}, &fakeTarget{delay: stall})
		closed := measured(t, Config{Load: Load{Concurrency: 1, Duration: 4 * time.Second}, Messages: messages(4000)}, &fakeTarget{delay: stall})
		s := open.Servers[0]
		if s.OK != 400 || s.Failed != 0 {
			t.Errorf("%d good and %d failed of 400", s.OK, s.Failed)
		}
		// Due during the stall: 100 requests, which then are caught up with at 1
		// ms each while further ones become due: 111 are late, a quarter of all.
		about(t, "p50", s.LatencyMs.P50, 1)
		about(t, "max", s.LatencyMs.Max, 1000)
		if s.LatencyMs.P90 < 500 || s.LatencyMs.P99 < 950 {
			t.Errorf("the stall is left out: %+v", s.LatencyMs)
		}
		if s.LateMs == nil || s.LateMs.P90 < 500 {
			t.Errorf("sent late: %+v", s.LateMs)
		}
		// The closed loop cannot see it, which is why there are both.
		if p := closed.Servers[0].LatencyMs.P99; p > 1.01 {
			t.Errorf("closed loop: p99 %v", p)
		}
	})
}

// What is due and cannot be sent before the end fails, with the time it waited.
func TestUnsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{delay: always(10 * time.Second)}
		r := measured(t, Config{Load: Load{Concurrency: 2, Rate: 100, Duration: time.Second}, Messages: messages(4000)}, f)
		s := r.Servers[0]
		if s.OK != 2 || s.Failed != 98 || len(s.Errors) != 1 || s.Errors[0] != (ErrorCount{kindUnsent, 98}) || f.asked.Load() != 2 {
			t.Errorf("%+v, %d asked", s, f.asked.Load())
		}
		about(t, "longest", s.LatencyMs.Max, 10000)
		if s.LatencyMs.P50 < 9000 {
			t.Errorf("%+v", s.LatencyMs)
		}
	})
}

func TestRunsDry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, rate := range []float64{0, 1000} {
			f := &fakeTarget{delay: always(time.Millisecond)}
			start := time.Now()
			r := measured(t, Config{Load: Load{Concurrency: 2, Rate: rate, Duration: time.Minute}, Messages: messages(300)}, f)
			if r.Servers[0].OK != 300 || !r.Exhausted || time.Since(start) > time.Second {
				t.Errorf("rate %v: %d answers, exhausted %v, after %s", rate, r.Servers[0].OK, r.Exhausted, time.Since(start))
			}
			var b strings.Builder
			if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "all 300 messages were asked for") {
				t.Errorf("%v\n%s", err, &b)
			}
		}
	})
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{delay: func(n int64) time.Duration {
			if n < 10 {
				return time.Second // not kept yet
			}
			return time.Millisecond
		}}
		r := measured(t, Config{Load: Load{Concurrency: 1, Duration: time.Second}, Messages: messages(10), Repeat: true}, f)
		if s := r.Servers[0]; s.OK != 1000 || r.Exhausted || s.LatencyMs.Max > 1.01 {
			t.Errorf("%+v", r)
		}
		for m, n := range f.seen {
			if n != 101 {
				t.Errorf("message %s was asked for %d times", m, n)
			}
		}
		bad := &fakeTarget{kind: func(int64) string { return "503 busy" }}
		cfg := Config{Load: Load{URL: "http://one"}, Messages: messages(3), Repeat: true}
		if err := cfg.fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := runOn(t.Context(), &cfg, []*side{{url: cfg.URL, target: bad}}); err == nil ||
			err.Error() != "http://one answered none of 3 requests: 503 busy" {
			t.Errorf("got %v", err)
		}
	})
}

// A drift that slows the machine down by half over the run leaves the ratio alone.
func TestCompare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		drift := func(base time.Duration) func(int64) time.Duration {
			return func(int64) time.Duration { return base + base*time.Duration(time.Since(start)/time.Second)/20 }
		}
		one, two := &fakeTarget{delay: drift(2 * time.Millisecond)}, &fakeTarget{delay: drift(4 * time.Millisecond)}
		r := measured(t, Config{Load: Load{Concurrency: 1, Duration: 20 * time.Second}, Messages: messages(4000), Repeat: true}, one, two)
		if r.Ratio == nil || len(r.Ratio.Pairs) != 10 || len(r.Servers) != 2 || r.Servers[1].URL != "http://two" {
			t.Fatalf("%+v", r)
		}
		for _, p := range r.Ratio.Pairs {
			if p.PerSecond < 1.8 || p.PerSecond > 2.2 || p.P50 < 0.45 || p.P50 > 0.55 {
				t.Errorf("pair %+v", p)
			}
		}
		if m := r.Ratio.PerSecond; m.Median < 1.95 || m.Median > 2.05 || m.Min > m.Median || m.Max < m.Median {
			t.Errorf("%+v", m)
		}
		for _, s := range r.Servers {
			if s.Seconds < 10 || s.Seconds > 10.2 {
				t.Errorf("%v s under load", s.Seconds)
			}
		}
		dry := measured(t, Config{Load: Load{Concurrency: 1, Duration: 20 * time.Second}, Messages: messages(3)}, &fakeTarget{}, &fakeTarget{})
		if dry.Ratio != nil || !dry.Exhausted {
			t.Errorf("half a pair was counted: %+v", dry)
		}
	})
}

func TestErrorsByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{
			kind: func(n int64) string { return []string{"", "503 busy", "", "400 no", "", "503 busy", "", ""}[n%8] },
			delay: func(n int64) time.Duration {
				if n%8 == 1 {
					return time.Minute
				}
				return time.Millisecond
			},
		}
		s := measured(t, Config{Load: Load{Concurrency: 1, Duration: time.Hour}, Messages: messages(80)}, f).Servers[0]
		want := []ErrorCount{{"503 busy", 20}, {"400 no", 10}}
		if s.OK != 50 || s.Failed != 30 || !slices.Equal(s.Errors, want) {
			t.Errorf("%+v", s)
		}
		about(t, "latency without errors", s.LatencyMs.Max, 1)
		many := newMeter()
		for i, m := range messages(300) {
			many.add(time.Millisecond, m, true)
			if i == 0 {
				many.merge(many2(messages(300)))
			}
		}
		if len(many.kinds) > maxKinds+1 || many.failed != 600 || many.kinds[kindOther] < 400 {
			t.Errorf("%d kinds, %d failed", len(many.kinds), many.failed)
		}
	})
}

func many2(kinds []string) *meter {
	m := newMeter()
	for _, k := range kinds {
		m.add(time.Millisecond, k, true)
	}
	return m
}

// A run that is given up tells what it has, and does not blame the server.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, rate := range []float64{0, 10} {
			stop := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second+time.Millisecond, func() { cancel(stop) })
			cfg := Config{Load: Load{URL: "http://one", Concurrency: 2, Rate: rate, Duration: time.Hour}, Messages: messages(4000)}
			var last Progress
			cfg.Progress = func(p Progress) { last = p }
			if err := cfg.fill(); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r, err := runOn(ctx, &cfg, []*side{{url: cfg.URL, target: &fakeTarget{delay: always(100 * time.Millisecond)}}})
			if err != stop || r == nil || r.Servers[0].Failed != 0 || r.Servers[0].OK < 9 || time.Since(start) > 2*time.Second {
				t.Errorf("rate %v: %v, %+v", rate, err, r)
			}
			if last.OK != r.Servers[0].OK || last.Total != time.Hour || last.Elapsed < time.Second {
				t.Errorf("progress %+v", last)
			}
		}
	})
}
