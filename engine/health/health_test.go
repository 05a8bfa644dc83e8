package health

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
)

// bench is a running checker under the fake clock.
type bench struct {
	*Checker
	t    *testing.T
	stop func() error
	logs *lines
}

// lines takes the log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// newBench returns a checker at 30 s and 10 s that is not running yet.
func newBench(t *testing.T, checks ...Check) *bench {
	t.Helper()
	return configured(t, Config{}, checks...)
}

func configured(t *testing.T, cfg Config, checks ...Check) *bench {
	t.Helper()
	logs := &lines{}
	cfg.Logger, cfg.Metrics = slog.New(slog.NewTextHandler(logs, nil)), metric.NewSet()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Checker: c, t: t, logs: logs}
	b.add(checks...)
	return b
}

func (b *bench) add(checks ...Check) {
	b.t.Helper()
	for _, k := range checks {
		if err := b.Register(k); err != nil {
			b.t.Fatal(err)
		}
	}
}

// start runs the checker until stop, at the latest until the end of the test.
func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	b.t.Cleanup(func() { _ = b.stop() })
	synctest.Wait()
}

func (b *bench) mustStop() {
	b.t.Helper()
	if err := b.stop(); err != nil {
		b.t.Fatal(err)
	}
}

// pass lets fake time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func named(name string, run func(context.Context) (any, error), tags ...string) Check {
	return Check{Name: name, Tags: tags, Run: run}
}

func passing(context.Context) (any, error) { return nil, nil }

func (b *bench) want(name string, failures int64, errText string) Result {
	b.t.Helper()
	r, ok := b.Health(nil).Checks[name]
	if !ok || r.ContiguousFailures != failures || !strings.Contains(r.Error, errText) || (errText == "") != (r.Error == "") {
		b.t.Fatalf("%s: got %+v, want %d failures, error %q", name, r, failures, errText)
	}
	return r
}

func TestFrequencyHoldsUnderReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		b := newBench(t, named("c", func(context.Context) (any, error) { runs.Add(1); return nil, nil }))
		b.start()
		for second := range 120 {
			for range 100 { // 12,000 in all
				b.Health(nil)
				b.Readiness([]string{"x"})
				b.Liveness()
			}
			if want := int64(second/30 + 1); runs.Load() != want {
				t.Fatalf("%d runs after %d s, want %d", runs.Load(), second, want)
			}
			pass(time.Second)
		}
		b.mustStop()
		pass(time.Hour)
		if runs.Load() != 5 {
			t.Errorf("%d runs, want 5: none after the end", runs.Load())
		}
	})
}

func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault atomic.Pointer[string]
		b := newBench(t, named("db", func(context.Context) (any, error) {
			<-time.After(2 * time.Second)
			if f := fault.Load(); f != nil {
				return map[string]int{"tries": 3}, errors.New(*f)
			}
			return nil, nil
		}))
		started := time.Now()
		b.want("db", 0, notYetRun)
		b.start()
		b.want("db", 0, notYetRun)
		pass(2 * time.Second)
		if r := b.want("db", 0, ""); r.Duration != 2*time.Second || r.Timestamp.Sub(started) != 2*time.Second {
			t.Errorf("a run of 2 s gave duration %s, timestamp after %s", r.Duration, r.Timestamp.Sub(started))
		}
		reason := "disk on fire"
		fault.Store(&reason)
		for i := int64(1); i <= 3; i++ {
			pass(30 * time.Second)
			r := b.want("db", i, reason)
			if first := r.TimeOfFirstFailure.Sub(started); first != 32*time.Second || string(r.Message) != `{"tries":3}` {
				t.Errorf("failure %d: first after %s, message %s", i, first, r.Message)
			}
			if b.Health(nil).Healthy {
				t.Error("healthy with a failing check")
			}
		}
		fault.Store(nil)
		pass(30 * time.Second)
		if r := b.want("db", 0, ""); !r.TimeOfFirstFailure.IsZero() || !b.Health(nil).Healthy {
			t.Errorf("after it passed again: %+v", r)
		}
		if passes, fails := b.logs.count("health check passes"), b.logs.count("disk on fire"); passes != 2 || fails != 1 {
			t.Errorf("log: %d lines of passing, %d of failing", passes, fails)
		}
	})
}

// A check that has not passed yet runs again soon, and fails in the log only
// when a whole period is over; one that has passed runs at its frequency.
func TestStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs, never atomic.Int64
		broken := errors.New("not there")
		b := configured(t, Config{Starting: time.Second},
			named("late", func(context.Context) (any, error) {
				if n := runs.Add(1); n <= 3 || n == 5 {
					return nil, broken
				}
				return nil, nil
			}),
			named("never", func(context.Context) (any, error) { never.Add(1); return nil, errors.New("broken") }))
		b.start()
		b.want("late", 1, "not there")
		pass(2500 * time.Millisecond)
		b.want("late", 3, "not there")
		pass(time.Second)
		b.want("late", 0, "")
		pass(26 * time.Second)
		if runs.Load() != 4 || b.logs.count("health check fails") != 0 {
			t.Errorf("%d runs of what passes, %d failures in the log", runs.Load(), b.logs.count("health check fails"))
		}
		if n := never.Load(); n != 30 {
			t.Errorf("%d runs of what has never passed in 29.5 s", n)
		}
		pass(time.Second)
		b.want("late", 1, "not there")
		if n := b.logs.count("health check fails"); n != 2 {
			t.Errorf("%d failures in the log after a period", n)
		}
		pass(25 * time.Second)
		b.want("late", 1, "not there")
		pass(5 * time.Second)
		b.want("late", 0, "")
		if runs.Load() != 6 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

func TestHangingCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		release := make(chan struct{})
		b := newBench(t, named("slow", func(context.Context) (any, error) { // deaf to its context
			if runs.Add(1) == 1 {
				<-release
			}
			return nil, nil
		}), named("other", passing))
		b.start()
		pass(9 * time.Second)
		b.want("slow", 0, notYetRun)
		pass(time.Second)
		if r := b.want("slow", 1, "did not end within 10s"); r.Duration != 10*time.Second {
			t.Errorf("duration %s", r.Duration)
		}
		first := b.want("slow", 1, "within").TimeOfFirstFailure
		pass(50 * time.Second)
		if r := b.want("slow", 3, "still runs"); runs.Load() != 1 || !r.TimeOfFirstFailure.Equal(first) {
			t.Errorf("%d runs, %+v", runs.Load(), r)
		}
		b.want("other", 0, "")
		close(release)
		synctest.Wait()
		b.want("slow", 3, "still runs") // a result that is too late does not count
		pass(30 * time.Second)
		b.want("slow", 0, "")
		if runs.Load() != 2 {
			t.Errorf("%d runs, want 2", runs.Load())
		}
		if n := metric.Value(b.metrics.timeouts); n != 1 {
			t.Errorf("%v timeouts counted, want 1", n)
		}
	})
}

func TestObedientCheckIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, named("c", func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}))
		b.start()
		pass(10 * time.Second)
		if r := b.want("c", 1, "d"); r.Duration != 10*time.Second { // its own words or ours
			t.Errorf("duration %s", r.Duration)
		}
	})
}

func TestFaultyChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t,
			named("panic", func(context.Context) (any, error) { panic("out of cheese") }),
			named("goexit", func(context.Context) (any, error) { runtime.Goexit(); return nil, nil }),
			named("number", func(context.Context) (any, error) { return 7, nil }),
			named("func", func(context.Context) (any, error) { return func() {}, nil }),
			named("wordless", func(context.Context) (any, error) { return nil, errors.New("") }),
			named("long", func(context.Context) (any, error) { return nil, errors.New(strings.Repeat("ü\xff", maxError)) }),
			named("list", func(context.Context) (any, error) { return []string{}, nil }),
			named("nilmap", func(context.Context) (any, error) { return map[string]int(nil), nil }),
		)
		b.start()
		pass(30 * time.Second)
		b.want("panic", 2, "panicked: out of cheese")
		b.want("goexit", 2, "ended its goroutine")
		b.want("number", 2, "neither an object nor an array")
		b.want("func", 2, "no JSON form")
		b.want("wordless", 2, "without a reason")
		if r := b.want("long", 2, "..."); len(r.Error) > maxError+3 {
			t.Errorf("error of %d bytes", len(r.Error))
		}
		if r := b.want("list", 0, ""); string(r.Message) != "[]" {
			t.Errorf("message %s", r.Message)
		}
		if r := b.want("nilmap", 0, ""); r.Message != nil {
			t.Errorf("message %s", r.Message)
		}
		if b.logs.count("stack=") != 1 {
			t.Error("want the stack of the panic once in the log")
		}
		if !json.Valid(b.Health(nil).AppendJSON(nil)) {
			t.Errorf("not JSON: %s", b.Health(nil).AppendJSON(nil))
		}
	})
}

func TestReadinessIsSticky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []struct {
			message any
			err     error
		}{{[]int{1}, errors.New("syncing")}, {[]int{}, nil}, {[]int{2}, errors.New("lost")}, {[]int{}, nil}}
		var round atomic.Int64
		b := newBench(t,
			named("other", func(context.Context) (any, error) { return nil, errors.New("no part of readiness") }),
			Check{Name: "bootstrapped", Readiness: true, Run: func(context.Context) (any, error) {
				a := answers[round.Add(1)-1]
				return a.message, a.err
			}})
		if r := b.Readiness(nil); r.Healthy || r.Checks["bootstrapped"].Error != notYetRun {
			t.Errorf("before the first run: %+v", r)
		}
		b.start()
		if r := b.Readiness(nil); r.Healthy || r.Checks["bootstrapped"].ContiguousFailures != 1 {
			t.Errorf("while syncing: %+v", r)
		}
		var last time.Time
		for range 3 {
			pass(30 * time.Second)
			r := b.Readiness(nil)
			k := r.Checks["bootstrapped"]
			if !r.Healthy || len(r.Checks) != 1 || string(k.Message) != "[]" || k.ContiguousFailures != 0 {
				t.Errorf("round %d: %+v", round.Load(), r)
			}
			if !k.Timestamp.After(last) {
				t.Errorf("round %d: timestamp %s stands still", round.Load(), k.Timestamp)
			}
			last = k.Timestamp
			if round.Load() == 3 {
				b.want("bootstrapped", 1, "lost")
			}
		}
	})
}

// TestFirstFailure: what fails at the start is a warning only when it fails again.
func TestFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, named("node", func(context.Context) (any, error) { return nil, errors.New("not there") }))
		b.start()
		for i, warnings := range []int{0, 1, 1} {
			if i > 0 {
				pass(30 * time.Second)
			}
			synctest.Wait()
			if n := b.logs.count("health check fails"); n != warnings {
				t.Errorf("after run %d: %d warnings, want %d", i+1, n, warnings)
			}
		}
		if n := b.logs.count("does not pass yet"); n != 1 {
			t.Errorf("%d lines of the first failure", n)
		}
	})
}
