package health

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	time.Local = time.UTC // golden files hold the times of one zone
	m.Run()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, slices.Concat(got, []byte{'\n'}), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.TrimSuffix(string(want), "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestGoldenReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type consensus struct {
			Height int    `json:"lastAcceptedHeight"`
			ID     string `json:"lastAcceptedID"`
		}
		b := newBench(t,
			named("C", func(context.Context) (any, error) {
				return map[string]any{"engine": map[string]any{"consensus": consensus{7, "2oYM"}, "vm": nil}}, nil
			}, "net"),
			named("database", passing),
			named("disk \"<1>\"", func(context.Context) (any, error) {
				<-time.After(1234567 * time.Nanosecond)
				return map[string]int64{"availableDiskBytes": 5}, errors.New("less than 10% \"free\" <now>\u2028\n")
			}),
			Check{Name: "bootstrapped", Readiness: true, Run: func(context.Context) (any, error) { return []string{}, nil }},
			named("never", func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, nil }),
		)
		b.start()
		pass(5 * time.Second)
		golden(t, "health.json", b.Health(nil).AppendJSON(nil))
		golden(t, "readiness.json", b.Readiness(nil).AppendJSON(nil))
		golden(t, "liveness.json", b.Liveness().AppendJSON(nil))
		golden(t, "tagged.json", b.Health([]string{"application"}).AppendJSON(nil))
	})
}

// reply is how avalanchego's Go client declares a report.
type reply struct {
	Checks map[string]struct {
		Details            any           `json:"message,omitempty"`
		Error              *string       `json:"error,omitempty"`
		Timestamp          time.Time     `json:"timestamp,omitempty"`
		Duration           time.Duration `json:"duration"`
		ContiguousFailures int64         `json:"contiguousFailures,omitempty"`
		TimeOfFirstFailure *time.Time    `json:"timeOfFirstFailure,omitempty"`
	} `json:"checks"`
	Healthy bool `json:"healthy"`
}

func TestClientsDecode(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 0, 0, 120_000_000, time.FixedZone("", 3600))
	want := Report{Healthy: false, Checks: map[string]Result{
		"good":  {Message: json.RawMessage(`{"a":[1]}`), Timestamp: at, Duration: time.Millisecond},
		"bad":   {Error: "down", Timestamp: at, Duration: 2, ContiguousFailures: 4, TimeOfFirstFailure: at.Add(-time.Minute)},
		"fresh": {Error: notYetRun},
	}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != string(want.AppendJSON(nil)) {
		t.Fatalf("%v: json.Marshal gives %s, AppendJSON %s", err, text, want.AppendJSON(nil))
	}
	var got reply
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	bad, fresh, good := got.Checks["bad"], got.Checks["fresh"], got.Checks["good"]
	if *bad.Error != "down" || bad.ContiguousFailures != 4 || !bad.TimeOfFirstFailure.Equal(at.Add(-time.Minute)) || bad.Duration != 2 {
		t.Errorf("bad: %+v", bad)
	}
	if *fresh.Error != notYetRun || !fresh.Timestamp.IsZero() || fresh.ContiguousFailures != 0 || !fresh.TimeOfFirstFailure.IsZero() {
		t.Errorf("fresh: %+v", fresh)
	}
	if good.Error != nil || good.TimeOfFirstFailure != nil || !good.Timestamp.Equal(at) || got.Healthy {
		t.Errorf("good: %+v", good)
	}
	if !strings.Contains(string(text), `"timestamp":"2026-11-20T23:00:00.12+01:00"`) {
		t.Errorf("timestamp in %s", text)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || back.Checks["bad"].Error != "down" {
		t.Errorf("a report does not decode as itself: %v, %+v", err, back)
	}
	if text := (Report{}).AppendJSON(nil); string(text) != `{"checks":{},"healthy":false}` {
		t.Errorf("empty report: %s", text)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		frequency, timeout, wantFrequency, wantTimeout time.Duration
	}{
		{0, 0, 30 * time.Second, 10 * time.Second},
		{time.Second, 0, time.Second, time.Second},
		{time.Minute, time.Minute, time.Minute, time.Minute},
		{time.Minute, 2 * time.Minute, 0, 0},
		{time.Minute, -1, 0, 0},
		{-1, 0, 0, 0},
		{time.Microsecond, 0, 0, 0},
	} {
		got, err := New(Config{Frequency: c.frequency, Timeout: c.timeout})
		if (err != nil) != (c.wantFrequency == 0) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && (got.cfg.Frequency != c.wantFrequency || got.cfg.Timeout != c.wantTimeout) {
			t.Errorf("%+v: got %s, %s", c, got.cfg.Frequency, got.cfg.Timeout)
		}
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := metric.NewSet()
		c, err := New(Config{Metrics: set})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{Checker: c, t: t, logs: &lines{}}
		var fail atomic.Bool
		fail.Store(true)
		b.add(named(`a "b\`, func(context.Context) (any, error) {
			if fail.Load() {
				return nil, errors.New("down")
			}
			return nil, nil
		}), named("good", passing))
		want := func(lines ...string) {
			t.Helper()
			text := set.String()
			for _, line := range lines {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("want %s in\n%s", line, text)
				}
			}
		}
		want("quorate_health_checks 2", "quorate_health_checks_failing 2", "quorate_health_check_runs_total 0")
		b.start()
		want("quorate_health_checks_failing 1", `quorate_health_check_failing{check="a \"b\\"} 1`, `quorate_health_check_failing{check="good"} 0`)
		fail.Store(false)
		pass(30 * time.Second)
		want("quorate_health_checks_failing 0", "quorate_health_check_runs_total 4")
		fail.Store(true)
		pass(30 * time.Second)
		want("quorate_health_checks_failing 1", `quorate_health_check_failing{check="a \"b\\"} 1`)
	})
}

func BenchmarkHealth(b *testing.B) {
	c, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"C", "P", "X", "bootstrapped", "database", "diskspace", "network", "router"} {
		if err := c.Register(Check{Name: name, Run: passing, Tags: []string{"t" + name}}); err != nil {
			b.Fatal(err)
		}
	}
	for name, tags := range map[string][]string{"all": nil, "tagged": {"tC"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = c.Health(tags).AppendJSON(buf[:0])
			}
		})
	}
}

// TestReadsDoNotAllocate is a budget: a report that nobody has filtered is a copy.
func TestReadsDoNotAllocate(t *testing.T) {
	b := newBench(t, named("c", passing))
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buf = b.Health(nil).AppendJSON(buf[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
