package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

const (
	// besideMost is how many times the p99 of pages may be what it is without the work.
	besideMost = 2
	// besideTurns is how often the work is tried in make torture, since others may use
	// the machine too.
	besideTurns = 3
	// calm is how long pages are read without the work, before and after it.
	calm = 3 * time.Second
	// besideReaders ask besideEvery each.
	besideReaders = 4
	besideEvery   = 20 * time.Millisecond
)

// TestPagesBesideWork reads pages while the server makes all tables again, and while a
// backup is made of its folder: each is answered, and in make torture, on a machine
// that nothing else uses, they take twice as long as without it at most at the 99th
// percentile. Elsewhere it prints how long they took.
func TestPagesBesideWork(t *testing.T) {
	turns, whole := 1, os.Getenv("QUORATE_TORTURE") != ""
	if whole {
		turns = besideTurns
	}
	r := start(t, world{blocks: 2000, txs: 20, every: time.Second})
	r.latencies(func() { sleep(t, calm) }) // caches are filled
	n := 0
	for _, work := range []struct {
		name string
		do   func() error
	}{
		{"reindex", func() error { return r.command("reindex", "all", "--data-dir", r.data()) }},
		{"backup", func() error {
			for began := time.Now(); time.Since(began) < calm; n++ {
				if err := r.command("backup", "--data-dir", r.data(), "--to", filepath.Join(r.dir, fmt.Sprint("backup", n))); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(work.name, func(t *testing.T) {
			best := 0.0
			for range turns {
				before := r.latencies(func() { sleep(t, calm) })
				beside := r.latencies(func() {
					if err := work.do(); err != nil {
						t.Error(err)
					}
				})
				after := r.latencies(func() { sleep(t, calm) })
				a, b := percentile(append(before, after...), 99), percentile(beside, 99)
				ratio := float64(b) / float64(a)
				t.Logf("p99 %v without, %v beside it (%d answers): %.2f; p50 %v and %v", a, b, len(beside), ratio, percentile(before, 50), percentile(beside, 50))
				if best == 0 || ratio < best {
					best = ratio
				}
				if best <= besideMost {
					break
				}
			}
			if whole && best > besideMost {
				t.Errorf("%.2f times the p99 without it at best", best)
			}
		})
	}
}

// command runs a command of the binary that must succeed.
func (r *rig) command(args ...string) error {
	result, err := quorate.Run(r.t.Context(), r.binary, args...)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("%v: exit code %d: %s", args, result.Code, result.Stderr)
	}
	return err
}

// latencies reads pages until what ends, and returns how long each took.
func (r *rig) latencies(what func()) (all []time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed atomic.Int64
	for range besideReaders {
		wg.Go(func() {
			tick := time.NewTicker(besideEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				path := r.page(rand.IntN(len(r.paths)), 2000)
				a, err := r.client.Get(r.t.Context(), path)
				if err != nil || a.Status != http.StatusOK {
					if failed.Add(1) == 1 {
						r.t.Errorf("%s: %v, %s", path, err, a)
					}
					continue
				}
				mu.Lock()
				all = append(all, a.Took)
				mu.Unlock()
			}
		})
	}
	what()
	cancel()
	wg.Wait()
	return all
}

// sleep waits, or ends the test when its time is over.
func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	}
}

// percentile returns what so many of a hundred are at most.
func percentile(list []time.Duration, p int) time.Duration {
	list = slices.Clone(list)
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, len(list)*p/100)]
}
