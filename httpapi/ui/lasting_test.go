package ui

import (
	"testing"
	"time"
)

// TestLasting: a balance is amber in its last week and red in its last day.
func TestLasting(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for left, want := range map[time.Duration][2]string{
		0: {"out of balance", "bad"}, time.Minute: {"1 min", "bad"}, day - time.Second: {"23 h 59 min", "bad"},
		day: {"1 d", "warn"}, 7*day - time.Hour: {"6 d 23 h", "warn"}, 7 * day: {"7 d", "ok"}, 1000 * day: {"1000 d", "ok"},
	} {
		if c := lasting(left); c.Text != want[0] || c.Mark != want[1] {
			t.Errorf("%v: %q in %q, want %q in %q", left, c.Text, c.Mark, want[0], want[1])
		}
	}
}
