package aggregator

import (
	"testing"
	"time"
)

// What nobody uses is forgotten after some minutes but for a few bytes of it, and the
// bound holds at any time.
func TestSizedForgets(t *testing.T) {
	t.Parallel()
	const each, most = 64 << 10, 3 * alwaysKept
	now := time.Unix(1e9, 0)
	s := newSized[int](most, func(int) int { return each })
	s.now = func() time.Time { return now }
	next := 0
	fill := func(n int) {
		for range n {
			s.put(next, next)
			next++
		}
	}
	fill(alwaysKept / each)
	now = now.Add(24 * time.Hour)
	if s.put(0, 0); s.used != alwaysKept {
		t.Fatalf("%d bytes of what was there for a day, want %d", s.used, alwaysKept)
	}
	fill(2 * most / each)
	if s.used != most {
		t.Fatalf("%d bytes, want %d", s.used, most)
	}
	now = now.Add(unusedFor / 2)
	kept := next - 1
	for i := next - 10; i < next; i++ {
		if v, ok := s.get(i); !ok || v != i {
			t.Fatalf("%d is missing", i)
		}
	}
	if now = now.Add(unusedFor / 2); s.used != most {
		t.Fatalf("%d bytes, want %d", s.used, most)
	}
	if fill(1); s.used != alwaysKept {
		t.Fatalf("%d bytes when nothing was used for long, want %d", s.used, alwaysKept)
	}
	if _, ok := s.get(kept); !ok {
		t.Error("what was used half the time ago is forgotten")
	}
	for fresh := 0; fresh < 2*alwaysKept/each; fresh++ {
		fill(1)
	}
	if s.used < 2*alwaysKept || s.used > most {
		t.Errorf("%d bytes, though %d of them are new", s.used, 2*alwaysKept)
	}
}
