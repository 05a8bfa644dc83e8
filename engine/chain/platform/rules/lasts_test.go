package rules

import (
	"math"
	"testing"
	"time"
)

func TestLasts(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, f := range []struct {
		balance, price uint64
		left, step     time.Duration
	}{
		{0, 512, 0, time.Hour},
		{511, 512, 0, time.Hour},
		{512*3600 - 1, 512, time.Hour - time.Second, time.Hour},
		{512 * 3600, 512, time.Hour, day},
		{86400 * 7, 1, 7 * day, 0},
		{86400*7 - 1, 1, 7*day - time.Second, 7 * day},
		{1, 0, math.MaxInt64, 0},
		{math.MaxUint64, 1, math.MaxInt64, 0},
		{math.MaxUint64, math.MaxUint64, time.Second, time.Hour},
	} {
		if left := Lasts(f.balance, f.price); left != f.left || LastingStep(left) != f.step {
			t.Errorf("%d at %d: %v, step %v", f.balance, f.price, left, LastingStep(left))
		}
	}
}
