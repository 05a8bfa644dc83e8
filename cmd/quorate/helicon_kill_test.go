package main

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/world"
)

// heliconRig is a network in which a node lies about results, and a server that is killed.
type heliconRig struct {
	d   *devnet.Devnet
	c   *evmchain.Chain
	dir string
	rnd *rand.Rand
	// traced has something in it once the honest node was asked for a trace: the results of
	// a block are about to be put right.
	traced chan struct{}
}

// moments are those in the life of a block at which a server is killed.
var moments = []struct {
	name   string
	honest bool // the other node can be asked
	await  func(r *heliconRig, t *testing.T, s *child)
}{
	{"a block is accepted and not executed", false, func(r *heliconRig, t *testing.T, s *child) {
		r.corrected(t, s)
		r.lies()
		r.c.SetExecution(evmchain.Held)
		advance(r.c, 1+r.rnd.IntN(3))
		poll(t, 2*time.Millisecond, "the server knows that blocks are accepted and not executed", func() bool {
			var said struct {
				Index struct{ AcceptedNotExecuted int }
			}
			return json.Unmarshal(healthOf(t, s.url).Checks["C"].Message, &said) == nil && said.Index.AcceptedNotExecuted > 0
		})
	}},
	{"it is executed and not settled", false, func(r *heliconRig, t *testing.T, s *child) {
		r.c.SetExecution(time.Duration(r.rnd.IntN(5)) * time.Millisecond)
		awaitIndexed(t, s.url, r.c)
		if settled := counters(t, s.url)[`quorate_settled_height{chain="C"}`]; settled == 0 || settled >= float64(r.c.Tip()) {
			t.Fatalf("of %d blocks, %v are settled", r.c.Tip(), settled)
		}
	}},
	{"a block that settles it is checked", false, func(r *heliconRig, t *testing.T, s *child) {
		poll(t, time.Millisecond, "the server finds false results", func() bool {
			if strings.Contains(s.stderr.String(), "a node answered falsely about some blocks") {
				return true
			}
			if isIndexed(t, s.url, r.c) {
				advance(r.c, 1)
			}
			return false
		})
	}},
	{"it is put right", true, func(r *heliconRig, t *testing.T, _ *child) {
		select {
		case <-r.traced:
		case <-time.After(patience):
			t.Fatal("the server does not put results right")
		}
	}},
}

// lies lets only a node be heard that lies.
func (r *heliconRig) lies() {
	r.d.Node(0).SetTraits(evmrpc.Traits{False: evmchain.ResultGasUsed + evmchain.Result(r.rnd.IntN(int(evmchain.ResultLogGone)))})
	r.d.Node(1).SetTraits(evmrpc.Traits{NoDebug: true, AtMost: r.c.Tip()})
}

// honest lets the other node be heard as well.
func (r *heliconRig) honest() {
	traced := make(chan struct{}, 1)
	r.traced = traced
	r.d.Node(1).SetTraits(evmrpc.Traits{Edit: func(method string, _ json.RawMessage, result []byte) []byte {
		if strings.HasPrefix(method, "debug_trace") {
			select {
			case traced <- struct{}{}:
			default:
			}
		}
		return result
	}})
}

// corrected waits until nothing that was told so far may be false, as far as that shows.
func (r *heliconRig) corrected(t *testing.T, s *child) {
	t.Helper()
	awaitIndexed(t, s.url, r.c)
	poll(t, 20*time.Millisecond, "false results are put right", func() bool {
		return counters(t, s.url)[`quorate_doubtful_blocks{chain="C"}`] == 0
	})
}

func (r *heliconRig) start(t *testing.T) *child {
	t.Helper()
	return startChild(t, r.d, r.dir, "--node-url", r.d.Node(1).URL(), "--health-check-frequency", "50ms", "--log-display-level", "info")
}

// TestKillHelicon kills a server at any moment in the life of blocks that are executed after
// their acceptance and of which false results are told: all of it ends the same as with one
// that was left alone. [killCount] says how often, for each of the moments.
func TestKillHelicon(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills := killCount(t, 50)
	r := &heliconRig{dir: t.TempDir(), rnd: rand.New(rand.NewPCG(uint64(kills), 17))}
	r.d = startNetwork(t, devnet.Config{
		Blocks: 40, TxsPerBlock: 2, HistoryInterval: 2 * time.Second, Nodes: 2,
		Helicon: world.Start().Add(-time.Minute), ExecutionDelay: 5 * time.Millisecond,
	})
	r.c, _ = cChain(r.d)
	r.honest()
	corrections, midway := 0, 0
	for n := range kills {
		for _, m := range moments {
			if m.honest {
				r.honest()
			}
			s := r.start(t)
			m.await(r, t, s)
			<-time.After(time.Duration(r.rnd.Int64N(int64(20*time.Millisecond))) >> r.rnd.IntN(6)) // rather at once
			s.kill(t)
			corrections += strings.Count(s.stderr.String(), "were put right")
			if m.honest && !strings.Contains(s.stderr.String(), "were put right") {
				midway++
			}
		}
		t.Logf("%d of %d times %d kills", n+1, kills, len(moments))
	}
	r.honest()
	r.d.Node(0).SetTraits(evmrpc.Traits{})
	lied := r.c.Tip()
	advance(r.c, 12)
	s := r.start(t)
	awaitIndexed(t, s.url, r.c)
	poll(t, 50*time.Millisecond, "all is settled and put right", func() bool {
		have := counters(t, s.url)
		return have[`quorate_settled_height{chain="C"}`] >= float64(lied) && have[`quorate_doubtful_blocks{chain="C"}`] == 0
	})
	s.stop(t)
	mustCommand(t, nil, "reindex", "--data-dir", r.dir) // what is stale since the chain went back
	want := honestDigest(t, r.d, r.c)
	if digest(t, r.dir, r.c) != want {
		t.Errorf("after %d kills the database is another one", kills*len(moments))
	}
	if fromArchive(t, r.dir, r.c) != want {
		t.Errorf("after %d kills the archive makes another database", kills*len(moments))
	}
	t.Logf("%d times %d kills, %d corrections besides %d that were killed, tip %d", len(moments), kills, corrections, midway, r.c.Tip())
}
