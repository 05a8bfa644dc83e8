package main

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/devnet"
)

// soakFor in the environment is how long [TestSoak] runs, for example 10m.
const soakFor = "QUORATE_SOAK"

// idle is how long a server without load is given to come to rest.
const idle = 15 * time.Second

// sample is what a server holds at a time.
type sample struct {
	at                                time.Duration
	heap, resident, goroutines, files float64
	kept                              float64 // of heap: results and signatures, which have bounds of their own
	signed                            int64   // new messages so far
}

// soak loads one server.
type soak struct {
	t       *testing.T
	d       *devnet.Devnet
	c       *child
	next    atomic.Uint64 // message
	signed  atomic.Int64
	failed  atomic.Int64
	start   time.Time
	samples []sample
}

// TestSoak holds a server at four fifths of its capacity while a sixth of the
// stake lies, is slow or comes and goes, and fails if memory, goroutines or open
// files grow. It runs for as long as QUORATE_SOAK says, and not without it.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(soakFor))
	if err != nil {
		t.Skipf("set %s to a duration of a minute or more to run it", soakFor)
	}
	d, stop, err := startDevnet(t.Context(), devnet.Config{
		Validators: 60, Byzantine: 0.17, Flapping: 0.05, Slow: 0.05, SlowDelay: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	}()
	s := &soak{t: t, d: d, c: startChild(t, d, t.TempDir(), noIndex), start: time.Now()}
	<-time.After(idle) // ready comes before the last connection
	before := s.sample()
	rate := s.capacity(length / 12)
	t.Logf("capacity %.0f new messages a second, held at 80%%", rate)
	s.hold(length-length/12, 0.8*rate)
	s.judge()
	// With the load gone, only connections may differ.
	s.c.client.CloseIdleConnections()
	<-time.After(idle)
	after := s.sample()
	t.Logf("idle before and after: %.0f and %.0f goroutines, %.0f and %.0f files",
		before.goroutines, after.goroutines, before.files, after.files)
	if after.goroutines > 1.2*before.goroutines+20 || after.files > 1.2*before.files+20 {
		t.Error("not back to the start")
	}
	s.c.stop(t)
}

// ask has a new message signed, and the one of a while ago again.
func (s *soak) ask() {
	i := s.next.Add(1)
	for _, k := range []uint64{i, i / 2} {
		status, _, err := s.c.ask(s.d, k)
		if err != nil || status != http.StatusCreated {
			s.failed.Add(1)
			s.t.Logf("message %d: status %d, %v", k, status, err)
		}
	}
	s.signed.Add(1)
}

// capacity returns the rate of 16 clients that ask without a pause.
func (s *soak) capacity(length time.Duration) float64 {
	start := time.Now()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for time.Since(start) < length {
				s.ask()
			}
		})
	}
	wg.Wait()
	return float64(s.signed.Load()) / time.Since(start).Seconds()
}

// hold asks at a steady rate and takes samples.
func (s *soak) hold(length time.Duration, rate float64) {
	var wg sync.WaitGroup
	open := make(chan struct{}, 256)
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	look := time.NewTicker(max(length/100, time.Second))
	defer look.Stop()
	for end := time.After(length); ; {
		select {
		case <-tick.C:
			select {
			case open <- struct{}{}:
				wg.Go(func() { s.ask(); <-open })
			default:
				s.failed.Add(1)
			}
		case <-look.C:
			s.samples = append(s.samples, s.sample())
		case <-end:
			wg.Wait()
			return
		}
	}
}

func (s *soak) sample() sample {
	s.t.Helper()
	m := counters(s.t, s.c.url)
	x := sample{
		at:   time.Since(s.start),
		heap: m["go_memstats_heap_inuse_bytes"], resident: m["process_resident_memory_bytes"],
		kept:       m["quorate_aggregator_kept_bytes"] + m["quorate_aggregator_part_bytes"],
		goroutines: m["go_goroutines"], files: s.c.files(s.t), signed: s.signed.Load(),
	}
	if x.heap == 0 || x.resident == 0 || x.goroutines == 0 || x.files == 0 {
		s.t.Fatalf("nothing to be seen: %+v", x)
	}
	return x
}

// judge compares the last quarter of the samples with the second. The least of
// a quarter is what is left after a collection. What is kept on purpose may grow
// to its bound, with as much again of garbage.
func (s *soak) judge() {
	q := len(s.samples) / 4
	if q < 3 {
		s.t.Fatalf("%d samples are too few", len(s.samples))
	}
	for k := 0; k < len(s.samples); k += max(1, len(s.samples)/12) {
		x := s.samples[k]
		s.t.Logf("%6.0fs: heap %5.1f MB, resident %5.1f MB, kept %5.1f MB, %4.0f goroutines, %4.0f files, %d signed",
			x.at.Seconds(), x.heap/1e6, x.resident/1e6, x.kept/1e6, x.goroutines, x.files, x.signed)
	}
	second, last := s.samples[q:2*q], s.samples[len(s.samples)-q:]
	least := func(list []sample, what func(sample) float64) float64 {
		out := what(list[0])
		for _, x := range list {
			out = min(out, what(x))
		}
		return out
	}
	kept := 2 * (last[len(last)-1].kept - second[0].kept)
	grown := func(name string, slack float64, what func(sample) float64) {
		a, b := least(second, what), least(last, what)
		s.t.Logf("%s: %.0f in the second quarter, %.0f in the last", name, a, b)
		if b > 1.2*a+slack {
			s.t.Errorf("%s has grown from %.0f to %.0f", name, a, b)
		}
	}
	grown("heap", 16e6+kept, func(x sample) float64 { return x.heap })
	grown("resident", 48e6+kept, func(x sample) float64 { return x.resident })
	grown("goroutines", 20, func(x sample) float64 { return x.goroutines })
	grown("files", 10, func(x sample) float64 { return x.files })
	if n := s.failed.Load(); n > 0 {
		s.t.Errorf("%d of %d requests failed", n, 2*s.signed.Load())
	}
}
