package main

import (
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/world"
)

// TestHelicon: a server follows a chain across Helicon, in its history and as it grows. It
// finds nothing in it that is not so, and headers settle what was executed before.
func TestHelicon(t *testing.T) {
	campaign(t)
	t.Parallel()
	for name, at := range map[string]time.Duration{"history": -4 * time.Minute, "growth": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startNetwork(t, devnet.Config{
				Blocks: 200, HistoryInterval: 2 * time.Second, StateProofs: true, Helicon: world.Start().Add(at),
			})
			c, _ := cChain(d)
			dir := t.TempDir()
			server := serveIn(t, d, dir, "--health-check-frequency", "250ms")
			awaitIndexed(t, server.url, c)
			advance(c, 60)
			awaitIndexed(t, server.url, c)
			transition, _, _ := c.Transition()
			settled := c.Settled(c.Tip())
			if settled <= transition || settled == c.Tip() {
				t.Fatalf("of %d blocks, %d are settled, %d of the old kind", c.Tip(), settled, transition)
			}
			poll(t, 50*time.Millisecond, "what is settled is known", func() bool {
				return counters(t, server.url)[`quorate_settled_height{chain="C"}`] == float64(settled)
			})
			poll(t, 50*time.Millisecond, "balances are proven", func() bool {
				return counters(t, server.url)[`quorate_balances_proven_total{chain="C"}`] > 0
			})
			have := counters(t, server.url)
			for _, bad := range []string{"quorate_balances_refuted_total", "quorate_evm_source_unverified_total", "quorate_evm_source_mismatches_total"} {
				if n := have[bad+`{chain="C"}`]; n != 0 {
					t.Errorf("%s is %v", bad, n)
				}
			}
			if log := server.stderr.String(); strings.Contains(log, "false") {
				t.Error(log)
			}
			server.stop(t)
			if want := honestDigest(t, d, c); digest(t, dir, c) != want || fromArchive(t, dir, c) != want {
				t.Error("rows differ from those of blocks that were fetched at once")
			}
		})
	}
}
