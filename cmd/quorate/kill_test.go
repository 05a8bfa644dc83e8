package main

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"quorate/devnet"
)

// TestKillUnderLoad: killed again and again amid requests, the server is always
// ready again, and all that it ever answered with is served from its disk.
// [killCount] says how often.
func TestKillUnderLoad(t *testing.T) {
	campaign(t)
	d, stop, err := startDevnet(t.Context(), devnet.Config{Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	}()
	const clients = 4
	kills := killCount(t, 50)
	dir := t.TempDir()
	j := newJudge(t, d)
	var next atomic.Uint64
	var mu sync.Mutex
	signed := make(map[uint64]string)
	for round := range kills {
		c := startChild(t, d, dir, noIndex)
		// So many answers are waited for: each kill hits another moment.
		enough := make(chan struct{})
		left := atomic.Int64{}
		left.Store(int64(5 + 17*(round%13)))
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for {
					i := next.Add(1)
					status, answer, err := c.ask(d, i)
					if err != nil {
						return // killed
					}
					if status != http.StatusCreated {
						t.Errorf("round %d, message %d: status %d", round, i, status)
					}
					mu.Lock()
					signed[i] = answer
					mu.Unlock()
					if left.Add(-1) == 0 {
						close(enough)
					}
				}
			})
		}
		<-enough
		c.kill(t)
		wg.Wait()
	}
	c := startChild(t, d, dir, noIndex)
	asked := d.RequestCount(0)
	for i, want := range signed {
		status, got, err := c.ask(d, i)
		if err != nil || status != http.StatusCreated || got != want {
			t.Errorf("message %d: status %d, %v, the same answer: %v", i, status, err, got == want)
		}
		if err := j.valid(want, d.Message(i), 67); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if n := d.RequestCount(0); n != asked {
		t.Errorf("a validator was asked %d times for what was kept", n-asked)
	}
	t.Logf("%d answers over %d kills", len(signed), kills)
	c.stop(t)
}
