package engine

import (
	"testing"
	"time"

	"quorate/engine/chain"
)

// TestLag: what counts is since when a block that was heard of lacks, on chains that have been
// at their heads, however fast these grow.
func TestLag(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_800_000_000, 0)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	head := func(old time.Duration) chain.Head {
		return chain.Head{TimeMilli: uint64(begin.Add(-old).UnixMilli())}
	}
	for name, c := range map[string]struct {
		old   time.Duration // of the last block at the start
		steps [][3]int      // seconds, height, target
		want  time.Duration
	}{
		"read for the first time":        {30 * 24 * time.Hour, [][3]int{{0, 5, 1000}, {100, 50, 1100}, {500, 900, 1200}}, 0},
		"stopped for an hour":            {time.Hour, [][3]int{{0, 5, 1000}, {40, 50, 1000}}, 40 * time.Second},
		"at the head":                    {time.Second, [][3]int{{0, 9, 10}, {1, 10, 11}, {2, 11, 12}, {60, 69, 70}}, 0},
		"stands while the head moves on": {time.Second, [][3]int{{0, 9, 10}, {10, 9, 20}, {31, 9, 31}}, 31 * time.Second},
		"stood, and goes on":             {time.Second, [][3]int{{0, 9, 10}, {10, 9, 20}, {31, 10, 31}}, 21 * time.Second},
		"caught up":                      {time.Second, [][3]int{{0, 9, 10}, {10, 9, 20}, {31, 31, 31}}, 0},
		"first at the head, then behind": {30 * 24 * time.Hour, [][3]int{{0, 5, 1000}, {50, 1000, 1000}, {60, 1000, 1001}, {95, 1000, 1030}}, 35 * time.Second},
	} {
		l := newLag(at(0), head(c.old))
		var got time.Duration
		for _, s := range c.steps {
			got = l.take(at(s[0]), uint64(s[1]), uint64(s[2]))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	l := newLag(at(0), head(0))
	for s := range 10 * lagMarks {
		l.take(at(s), 0, uint64(s+10))
	}
	if len(l.marks) > lagMarks {
		t.Errorf("%d marks are kept", len(l.marks))
	}
}
