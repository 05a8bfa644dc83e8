package evmchain

import (
	"testing"
	"time"
)

// TestIrregularTimes: times never fall, also into the blocks after the history,
// and where blocks are hours apart there is what a clock would not do.
func TestIrregularTimes(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Minute, 8 * time.Hour} {
		cfg := timed(2200, interval)
		cfg.IrregularTimes = true
		end := uint64(cfg.End.UnixMilli())
		seen := map[string]int{}
		last := cfg.timeOf(0)
		if want := end - cfg.Blocks*uint64(interval.Milliseconds()); last != want {
			t.Errorf("%s: the first block at %d, want %d", interval, last, want)
		}
		for n := uint64(1); n < cfg.Blocks+50; n++ {
			at := cfg.timeOf(n)
			if at < last || n <= cfg.Blocks && at > end {
				t.Fatalf("%s: block %d at %d, after %d", interval, n, at, last)
			}
			switch gap := at - last; {
			case gap == 0:
				seen["equal"]++
			case gap < 1000:
				seen["within a second"]++
			case gap > 62*dayMilli:
				seen["an empty month"]++
			case gap > 2*dayMilli:
				seen["an empty day"]++
			}
			if at%dayMilli == 0 {
				seen["midnight"]++
			}
			last = at
		}
		for _, kind := range []string{"equal", "within a second", "an empty month", "an empty day", "midnight"} {
			if interval == 8*time.Hour && seen[kind] == 0 {
				t.Errorf("no %s: %v", kind, seen)
			}
		}
	}
}
