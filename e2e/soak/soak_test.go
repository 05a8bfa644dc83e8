package soak

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// soakFor in the environment is how long [TestSoakHead] runs.
	soakFor = "QUORATE_SOAK"
	short   = 30 * time.Second
	// warm is how long caches may take to fill: memory has to be flat from then on.
	// What is compared are the medians of windows.
	warm, window = 10 * time.Minute, 10 * time.Minute
	// growth is what the median of any later window may be of the first one's.
	growth = 1.1
	// sampleEvery is short beside a compaction, which takes some seconds and up to as
	// much memory as all caches: a sample now and then would meet one or not, by chance.
	sampleEvery = time.Second
	// readers is the number of clients, and pause what each waits after an answer.
	readers = 4
	pause   = 30 * time.Millisecond
)

// busy is a chain of 400 transactions a second.
var busy = world{blocks: 50, txs: 200, every: 500 * time.Millisecond}

// history is how many blocks it has already where memory has to be flat. The larger a
// database is the more of the time it compacts, which takes memory: most so in the first
// hour of one that begins empty.
const history = 10_000

// sample is what the server holds at a time, in bytes.
type sample struct {
	at         time.Duration
	heap, anon float64 // what the last collection of garbage left, and resident memory that no file backs
	caches     float64 // of the heap, what bounded caches hold
	height     float64
}

// soak is a server under load.
type soak struct {
	*rig
	height  atomic.Int64 // of the index, as the last sample saw it
	reads   atomic.Int64
	failed  atomic.Int64
	samples []sample
}

// TestSoakHead has a server follow a busy head while clients read all the time. Heap
// and anonymous memory must be flat once its caches are full, the bounds of all
// caches must add up to --memory at most, and no block may be missing at the end.
//
// Flat means that the median of each ten minutes after the first twenty, and of the
// last ten, is at most 1.1 times that of the ten to twenty minutes, for the live heap
// and for resident anonymous memory alike. Compactions show in both: the live heap is
// that of the last collection of garbage, of which there are most while one runs.
func TestSoakHead(t *testing.T) {
	length := short
	if text := os.Getenv(soakFor); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakFor, err)
		}
	}
	chain := busy
	if length >= warm+2*window {
		chain.blocks = history
	}
	s := &soak{rig: start(t, chain)}
	s.paths = append(s.paths, "/ext/metrics", "/ext/health")
	s.height.Store(int64(chain.blocks))
	if sum := s.metric("quorate_cache_limit_bytes"); sum == 0 || sum > memoryMiB<<20 {
		s.t.Errorf("caches of up to %.0f bytes, --memory is %s", sum, memory)
	}
	defer s.bounded()
	s.load(length)
	tip := s.tip()
	s.await("every block is indexed", func() bool { return s.metric(indexHeight) >= tip })
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	t.Logf("%.0f transactions a second, %.0f answers a second", (last.height-first.height)*float64(busy.txs)/(last.at-first.at).Seconds(),
		float64(s.reads.Load())/length.Seconds())
	if n := s.failed.Load(); n > 0 {
		t.Errorf("%d of %d requests failed", n, s.reads.Load())
	}
	s.judge(length)
}

// bounded checks that each cache holds what it may at most. What a compaction takes is not
// measured.
func (s *soak) bounded() {
	s.t.Helper()
	for _, cache := range []string{"database_blocks", "database_tables", "balances", "window", "results", "parts", "answers", "points", "nodes", "passed"} {
		held, most := s.metric(`quorate_cache_bytes{cache="`+cache+`"}`), s.metric(`quorate_cache_limit_bytes{cache="`+cache+`"}`)
		s.t.Logf("%s: %.1f MiB of %.1f", cache, held/(1<<20), most/(1<<20))
		if held > most {
			s.t.Errorf("%s hold %.0f bytes, at most %.0f are allowed", cache, held, most)
		}
	}
}

// load reads pages by several clients for a time, and takes samples.
func (s *soak) load(length time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), length)
	defer cancel()
	var wg sync.WaitGroup
	for k := range readers {
		wg.Go(func() { s.read(ctx, k) })
	}
	began, look := time.Now(), time.NewTicker(sampleEvery)
	defer look.Stop()
	for shown := time.Duration(-1); ctx.Err() == nil; {
		select {
		case <-look.C:
			x := s.sample(time.Since(began))
			s.samples = append(s.samples, x)
			if part := x.at.Truncate(max(length/60, 10*time.Second)); part != shown {
				shown = part
				s.t.Logf("%6.0f s: live heap %.0f MiB, anonymous %.0f MiB, block %.0f", x.at.Seconds(), x.heap/(1<<20), x.anon/(1<<20), x.height)
			}
		case <-ctx.Done():
		}
	}
	wg.Wait()
}

// read is one client.
func (s *soak) read(ctx context.Context, k int) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := k; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		path := s.page(i, int(s.height.Load()))
		a, err := s.client.Get(ctx, path)
		if ctx.Err() != nil {
			return
		}
		s.reads.Add(1)
		if err != nil || a.Status != http.StatusOK {
			if s.failed.Add(1) <= 5 {
				s.t.Errorf("%s: %v, %s", path, err, a)
			}
		}
	}
}

func (s *soak) sample(at time.Duration) sample {
	s.t.Helper()
	x := sample{at: at, heap: s.metric("go_gc_heap_live_bytes"), caches: s.metric("quorate_cache_bytes"), anon: s.anonymous(), height: s.metric(indexHeight)}
	s.height.Store(int64(x.height))
	return x
}

// anonymous returns the server's resident memory that no file backs.
func (s *soak) anonymous() float64 {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.server.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "RssAnon:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); !found || err != nil {
		s.t.Fatalf("no RssAnon: %v\n%s", err, raw)
	}
	return kib * 1024
}

// judge compares all later windows with the one in which the caches are just full.
func (s *soak) judge(length time.Duration) {
	s.t.Helper()
	from, part, flat := warm, window, true
	if length < warm+2*window {
		from, part, flat = length/4, length/4, false // caches are not full yet
	}
	for _, m := range []struct {
		name string
		flat bool
		of   func(sample) float64
	}{
		{"live heap", flat, func(x sample) float64 { return x.heap }}, {"anonymous", flat, func(x sample) float64 { return x.anon }},
		// Printed alone: what grows and has a bound is told from what has none.
		{"caches", false, func(x sample) float64 { return x.caches }},
	} {
		first := s.median(from, from+part, m.of)
		s.t.Logf("%s: %.1f MiB from %v on", m.name, first/(1<<20), from)
		for since := from + part; since < length; since += part {
			since = min(since, length-part) // the last one ends with the test
			now := s.median(since, since+part, m.of)
			s.t.Logf("%s: %.1f MiB from %v on, %.3f times that", m.name, now/(1<<20), since, now/first)
			if m.flat && now > growth*first {
				s.t.Errorf("%s has grown from %.0f to %.0f, %.3f times", m.name, first, now, now/first)
			}
			if now > 2*memoryMiB<<20 { // where the process is told to stay
				s.t.Errorf("%s of %.0f bytes with --memory %s", m.name, now, memory)
			}
		}
	}
}

// median returns the middle one of what the samples of a time say.
func (s *soak) median(since, until time.Duration, of func(sample) float64) float64 {
	s.t.Helper()
	var list []float64
	for _, x := range s.samples {
		if x.at >= since && x.at < until {
			list = append(list, of(x))
		}
	}
	if len(list) == 0 {
		s.t.Fatalf("no sample from %v to %v", since, until)
	}
	slices.Sort(list)
	return list[len(list)/2]
}
