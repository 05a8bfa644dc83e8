package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/torture"
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

// TestFalseResults: a node lies about a result, and only the headers that settle the blocks
// show it. All of it is put right once another node can be asked, and all clients that
// were told of it are told what is true.
func TestFalseResults(t *testing.T) {
	campaign(t)
	t.Parallel()
	cfg := devnet.Config{Blocks: 60, HistoryInterval: 2 * time.Second, Nodes: 2, Helicon: world.Start().Add(-time.Minute)}
	const lies, proofs, ends = 15, 30, 2
	truth := honestly(t, cfg, lies+proofs+ends)
	for result := evmchain.ResultGasUsed; result <= evmchain.Result(torture.Pick(3, int(evmchain.ResultLogGone))); result++ {
		t.Run(fmt.Sprint(result), func(t *testing.T) {
			t.Parallel()
			r := newLiesRig(t, cfg, evmrpc.Traits{False: result}, "--rate-limit", "off", "--limits", "webhooks-private=true,webhooks-keyless=true")
			told := r.c.Tip()
			lied, back := told+lies, make(chan struct{})
			clients := listen(t, r.server.url, r.number, told, lied+proofs+ends, lied, back, truth.addresses)
			advance(r.c, lies)
			clients.await(t, lied, told+1)
			r.others()
			r.server.stop(t)
			r.serve(t)
			clients.url.Store(&r.server.url)
			r.d.Node(0).SetTraits(evmrpc.Traits{})
			advance(r.c, proofs) // they settle what the liar said last
			poll(t, 50*time.Millisecond, "all that the liar said is settled", func() bool {
				return counters(t, r.server.url)[`quorate_settled_height{chain="C"}`] >= float64(lied)
			})
			// The chain went back: what is collected from its blocks is made again after a while.
			poll(t, 250*time.Millisecond, "all is made again", func() bool {
				_, body := get(t, r.server.url+"/v1/chains")
				return counters(t, r.server.url)[`quorate_revised_blocks_total{chain="C"}`] > 0 && !strings.Contains(string(body), `"gaps"`)
			})
			close(back)
			advance(r.c, ends)
			clients.await(t, r.c.Tip(), r.c.Tip())
			r.whole(t)
			clients.mustKnow(t, truth)
		})
	}
}

// TestFalseResultsNearBegin: results turn out to be false by headers that settle blocks below
// the first one that is kept as well. Those that are kept are put right.
func TestFalseResultsNearBegin(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newLiesRig(t, devnet.Config{
		Blocks: 60, HistoryInterval: 2 * time.Second, Nodes: 2, Helicon: world.Start().Add(-time.Minute),
	}, evmrpc.Traits{}, "--start-block", "latest-0")
	first := r.c.Tip()
	r.d.Node(0).SetTraits(evmrpc.Traits{False: evmchain.ResultPrice})
	advance(r.c, 10)
	lied := r.c.Tip()
	poll(t, 50*time.Millisecond, "results are found to be false", func() bool {
		return counters(t, r.server.url)[`quorate_doubtful_blocks{chain="C"}`] > 0
	})
	awaitIndexed(t, r.server.url, r.c)
	r.others()
	r.d.Node(0).SetTraits(evmrpc.Traits{})
	advance(r.c, 10)
	awaitIndexed(t, r.server.url, r.c)
	poll(t, 100*time.Millisecond, "what was false is put right", func() bool {
		have := counters(t, r.server.url)
		return have[`quorate_doubtful_blocks{chain="C"}`] == 0 && have[`quorate_settled_height{chain="C"}`] >= float64(lied)
	})
	r.server.stop(t)
	mustCommand(t, nil, "reindex", "--data-dir", r.dir) // what is stale since the chain went back
	dir := t.TempDir()
	server := serveIn(t, r.d, dir, "--start-block", fmt.Sprint(first))
	awaitIndexed(t, server.url, r.c)
	server.stop(t)
	if digest(t, r.dir, r.c) != digest(t, dir, r.c) {
		t.Error("rows differ from those of a server that nobody lied to")
	}
}
