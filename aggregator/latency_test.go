package aggregator

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/devnet/torture"
)

// latencies has messages signed, several at a time, and returns how long each
// took, in ascending order.
func (b *bed) latencies(t *testing.T, messages, quorum, buffer int) []time.Duration {
	t.Helper()
	out := make([]time.Duration, messages)
	gate := make(chan struct{}, 10)
	var wg sync.WaitGroup
	for i := range messages {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			start := time.Now()
			b.want(t, request(t, 1000*buffer+i, quorum, buffer))
			out[i] = time.Since(start)
		})
	}
	wg.Wait()
	slices.Sort(out)
	return out
}

// TestSlowFew: with 5 of 100 validators slow or silent, no answer waits for
// them longer than the window, and none at all without a buffer that needs them.
func TestSlowFew(t *testing.T) {
	const rtt, slowness = 5 * time.Millisecond, 2 * time.Second
	for name, lazy := range map[string]reply{"slow": after(slowness, signs), "silent": keepsSilent} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := newFakePeers(equal(100)...)
				for i, v := range peers.vals {
					v.set(after(rtt, signs))
					if i%20 == 7 {
						v.set(lazy)
					}
				}
				b := newBed(t, peers, nil)
				for _, c := range []struct {
					quorum, buffer int
					most           time.Duration
				}{
					{67, 0, rtt}, {67, 13, rtt}, {90, 5, rtt}, {67, 33, rtt + b.cfg.Timing.Window}, {95, 5, rtt + b.cfg.Timing.Window},
				} {
					if took := b.latencies(t, torture.Pick(4, 30), c.quorum, c.buffer); took[len(took)-1] > c.most {
						t.Errorf("quorum %d and buffer %d: median %v, slowest %v, want at most %v",
							c.quorum, c.buffer, took[len(took)/2], took[len(took)-1], c.most)
					}
				}
				b.stop()
			})
		})
	}
}
