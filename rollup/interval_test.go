package rollup_test

import (
	"fmt"
	"math"
	"testing"
	"testing/quick"
	"time"

	"quorate/rollup"
)

// lastTime is the last second of the last bucket, in December 3883.
var lastTime = uint64(lastStart.Unix()) + 3599

// checkTime compares the buckets of a time with those that package time gives.
func checkTime(tb testing.TB, unix uint64) {
	tb.Helper()
	for i := rollup.Hour; i < rollup.Intervals; i++ {
		n := i.Number(unix)
		want := bucketStart(i.String(), min(unix, lastTime)*1000)
		if start := i.Start(n); start != want.Unix() {
			tb.Fatalf("%s of %d begins at %s, want %s", i, unix, time.Unix(start, 0).UTC(), want)
		}
	}
}

// From 1970 to 3883 each bucket begins where package time says, and is numbered
// one above the one before.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for i := rollup.Hour; i < rollup.Intervals; i++ {
		t.Run(i.String(), func(t *testing.T) {
			t.Parallel()
			start, skip := bucketStart(i.String(), 0), uint32(1)
			if i == rollup.Hour {
				skip = 23 // comes by every hour of the day; so many hours take long
			}
			n := uint32(0)
			for ; start.Before(lastStart.Add(time.Hour)); n += skip {
				if got := i.Start(n); got != start.Unix() {
					t.Fatalf("%d begins at %s, want %s", n, time.Unix(got, 0).UTC(), start)
				}
				if got := i.Number(uint64(max(start.Unix(), 0))); got != n {
					t.Fatalf("the number of %s is %d, want %d", start, got, n)
				}
				if start.Unix() > 0 {
					if got := i.Number(uint64(start.Unix() - 1)); got != n-1 {
						t.Fatalf("a second before %s is in %d, want %d", start, got, n-1)
					}
				}
				start = step(i.String(), start, -int(skip))
			}
			if last := i.Number(math.MaxUint64); last >= n || last+skip < n {
				t.Errorf("the last bucket is %d, came to %d", last, n)
			}
		})
	}
}

func TestBucketsOfAnyTime(t *testing.T) {
	t.Parallel()
	for _, ms := range begins {
		for _, d := range []uint64{0, 1, 59, 60, 3599, 3600, 86_399, 86_400, 604_800, 2_678_400} {
			checkTime(t, ms/1000+d)
			checkTime(t, ms/1000-min(d, ms/1000))
		}
	}
	for _, unix := range []uint64{lastTime, lastTime + 1, lastTime - 3600, 1 << 63, math.MaxUint64} {
		checkTime(t, unix)
	}
	f := func(a, b uint64) bool {
		a, b = a%(lastTime+lastTime/10), b%(lastTime+lastTime/10)
		checkTime(t, a)
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			if low, high := i.Number(min(a, b)), i.Number(max(a, b)); low > high {
				t.Errorf("%s of %d and %d: %d and %d", i, a, b, low, high)
			}
		}
		return true
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 20_000}); err != nil {
		t.Error(err)
	}
}

func TestFirstWeek(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		day  int // of January 1970
		want uint32
	}{{1, 0}, {4, 0}, {5, 1}, {11, 1}, {12, 2}} {
		unix := uint64(time.Date(1970, 1, c.day, 23, 59, 59, 0, time.UTC).Unix())
		if got := rollup.Week.Number(unix); got != c.want {
			t.Errorf("January %d is in week %d, want %d", c.day, got, c.want)
		}
	}
	if got := rollup.Week.Start(0); got != time.Date(1969, 12, 29, 0, 0, 0, 0, time.UTC).Unix() {
		t.Errorf("week 0 begins at %d", got)
	}
}

func TestIntervalNames(t *testing.T) {
	t.Parallel()
	for k, name := range intervalNames {
		if i, ok := rollup.ParseInterval(name); !ok || int(i) != k || i.String() != name {
			t.Errorf("%s: %v, %v", name, i, ok)
		}
	}
	for _, name := range []string{"", "Day", "year", "days", "minute", " hour"} {
		if i, ok := rollup.ParseInterval(name); ok {
			t.Errorf("%q: %v", name, i)
		}
	}
}

func TestMetricNames(t *testing.T) {
	t.Parallel()
	// Name, for days only, of traces: as the contract has them.
	for _, c := range []struct {
		name            string
		dayOnly, traced bool
	}{
		{"activeAddresses", false, false},
		{"activeSenders", false, false},
		{"cumulativeTxCount", true, false},
		{"cumulativeAddresses", true, false},
		{"cumulativeContracts", true, true},
		{"cumulativeDeployers", true, true},
		{"contracts", true, true},
		{"deployers", true, true},
		{"gasUsed", false, false},
		{"txCount", false, false},
		{"avgGps", true, false},
		{"maxGps", true, false},
		{"avgTps", true, false},
		{"maxTps", true, false},
		{"avgGasPrice", true, false},
		{"maxGasPrice", true, false},
		{"feesPaid", false, false},
	} {
		m, ok := rollup.ParseMetric(c.name)
		if !ok || m.String() != c.name || m.DayOnly() != c.dayOnly || m.Traced() != c.traced {
			t.Errorf("%s: %v %v, for days only: %v, of traces: %v", c.name, m, ok, m.DayOnly(), m.Traced())
		}
	}
	for _, name := range []string{"", "TxCount", "txCounts", "avg"} {
		if m, ok := rollup.ParseMetric(name); ok {
			t.Errorf("%q: %v", name, m)
		}
	}
	defer func() {
		if got := fmt.Sprint(recover()); got != "rollup: no such metric" {
			t.Errorf("an unknown metric: %v", got)
		}
	}()
	rollup.Metric(rollup.Metrics).Of(&rollup.Record{})
}
