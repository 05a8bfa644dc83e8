package yield

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// work has so many goroutines work in slices for a time, and returns for how long
// they worked together.
func work(t *Time, workers int, slices, length time.Duration, request func()) (worked time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for range workers {
		wg.Go(func() {
			w := t.Worker()
			for time.Now().Before(end) {
				request()
				<-time.After(slices) // stands for work
				w.Rest(nil)
				mu.Lock()
				worked += slices
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return worked
}

// Work has its share while requests arrive, however many do it and however long their
// slices are, and never less.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		processors, workers int
		slices              time.Duration
	}{{1, 1, time.Millisecond}, {2, 1, time.Millisecond}, {2, 3, time.Millisecond}, {2, 5, 40 * time.Millisecond}, {16, 8, 2 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(c.processors)
			const length = 20 * time.Second
			worked := work(s, c.workers, c.slices, length, s.Requested)
			want := part * float64(c.processors) * float64(length)
			if got := float64(worked); got < 0.9*want || got > 1.1*want {
				t.Errorf("%d workers of %v on %d processors: worked for %v, want %v", c.workers, c.slices, c.processors, worked, time.Duration(want))
			}
		})
	}
}

// Without requests nobody rests.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(2)
		<-time.After(time.Second)
		if worked := work(s, 3, time.Millisecond, time.Second, func() {}); worked < 3*time.Second {
			t.Errorf("worked for %v, want 3s", worked)
		}
		s.Requested()
		if worked := work(s, 3, time.Millisecond, time.Second, func() {}); worked < 2*time.Second {
			t.Errorf("worked for %v after a last request", worked)
		}
	})
}

// A rest ends with what is waited for, and is never long.
func TestRestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := New(1), time.Now()
		s.Requested()
		s.rest(time.Hour, nil, false)
		if took := time.Since(began); took != longest || s.Rested() != took {
			t.Errorf("a rest of %v, counted as %v, want %v", took, s.Rested(), longest)
		}
		done := make(chan struct{})
		close(done)
		s.Requested()
		began = time.Now()
		s.rest(time.Hour, done, false)
		if took := time.Since(began); took != 0 {
			t.Errorf("a rest of %v after its end", took)
		}
	})
}

// What workers cause rests as they do, and only while there are some.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		follow := func(want time.Duration) {
			t.Helper()
			<-time.After(10 * time.Millisecond) // stands for what they cause
			s.Requested()
			before := s.Rested()
			if s.Follow(10*time.Millisecond, nil); s.Rested()-before != want {
				t.Errorf("rested for %v, want %v", s.Rested()-before, want)
			}
		}
		<-time.After(time.Hour)
		follow(0)
		w := s.Worker()
		s.Requested()
		<-time.After(10 * time.Millisecond)
		w.Rest(nil)
		follow(30 * time.Millisecond)
		<-time.After(gone)
		follow(0)
	})
}

// A nil time has no end.
func TestNil(t *testing.T) {
	var s *Time
	s.rest(time.Hour, nil, false)
	if s.Rested() != 0 {
		t.Error("rested")
	}
	w := s.Worker()
	w.Begin()
	w.Rest(nil)
}
