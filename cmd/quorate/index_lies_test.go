package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
)

// oneMore makes a change of a node's results that adds 1 to the hex numbers at a path
// of block traces.
func oneMore(t *testing.T, path string) func(string, json.RawMessage, []byte) []byte {
	return evmrpc.Replace("debug_traceBlockByHash", path, func(v any) any {
		text, ok := v.(string)
		if !ok {
			return evmrpc.Drop
		}
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			n = 0 // larger than that
		}
		return "0x" + strconv.FormatUint(n+1, 16)
	})
}

// liesRig is a network in which the first node lies about calls or balances, and the
// only one that can trace at first, and a server that follows all its nodes.
type liesRig struct {
	d      *devnet.Devnet
	c      *evmchain.Chain
	number string
	dir    string
	args   []string
	server *program
}

func newLiesRig(t *testing.T, cfg devnet.Config, lie evmrpc.Traits, args ...string) *liesRig {
	t.Helper()
	r := &liesRig{d: startNetwork(t, cfg), dir: t.TempDir()}
	r.c, r.number = cChain(r.d)
	r.args = append([]string{"--health-check-frequency", "250ms", "--log-display-level", "fatal"}, args...)
	r.d.Node(0).SetTraits(lie)
	for i := range r.d.Nodes() - 1 {
		r.d.Node(i + 1).SetTraits(evmrpc.Traits{NoDebug: true, AtMost: 1})
		r.args = append(r.args, "--node-url", r.d.Node(i+1).URL())
	}
	r.serve(t)
	return r
}

// serve starts the server, which has all blocks then.
func (r *liesRig) serve(t *testing.T) {
	t.Helper()
	r.server = serveIn(t, r.d, r.dir, r.args...)
	awaitIndexed(t, r.server.url, r.c)
}

// others lets the other nodes trace.
func (r *liesRig) others() {
	for i := range r.d.Nodes() - 1 {
		r.d.Node(i + 1).SetTraits(evmrpc.Traits{})
	}
}

// putRight waits until nothing is doubtful any more, and stops the server.
func (r *liesRig) putRight(t *testing.T) {
	t.Helper()
	poll(t, 100*time.Millisecond, "what was false is put right", func() bool {
		have := counters(t, r.server.url)
		return have[`quorate_doubtful_blocks{chain="C"}`] == 0 && have[`quorate_revised_blocks_total{chain="C"}`] > 0
	})
	awaitHealth(t, r.server.url, http.StatusOK)
	// What is collected from blocks is made again after a while.
	poll(t, 250*time.Millisecond, "all is made again", func() bool {
		status, body := get(t, r.server.url+"/v1/chains")
		return status == http.StatusOK && !strings.Contains(string(body), `"doubtful"`) && !strings.Contains(string(body), `"metrics"`)
	})
	awaitIndexed(t, r.server.url, r.c)
	r.server.stop(t)
	r.d.SetEVMTraits(r.c.Config().ID, evmrpc.Traits{})
}

// whole waits until all is put right, and compares the rows with those of an undisturbed
// server.
func (r *liesRig) whole(t *testing.T) {
	t.Helper()
	r.putRight(t)
	want := honestDigest(t, r.d, r.c)
	if digest(t, r.dir, r.c) != want {
		t.Error("rows differ from those of a server that nobody lied to")
	}
	if fromArchive(t, r.dir, r.c) != want {
		t.Error("the archive makes other rows than those of a server that nobody lied to")
	}
}

// refuted waits until health says that something false may be served.
func (r *liesRig) refuted(t *testing.T) {
	t.Helper()
	said := ""
	poll(t, 250*time.Millisecond, "health says that what is served may be false", func() bool {
		said = healthOf(t, r.server.url).Checks["C"].Error
		if strings.Contains(said, "may be false") {
			return true
		}
		advance(r.c, 10)
		return false
	})
	t.Log(said)
}

// TestFalseBalances: a node lies about balances in every block, and no other can be
// asked at first. Proofs find that out, health says so, and as soon as another node
// can be asked all that the first one told is put right, in the index and in the archive.
func TestFalseBalances(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newLiesRig(t, devnet.Config{Blocks: 20, TxsPerBlock: 3, Nodes: 2, StateProofs: true}, evmrpc.Traits{Edit: oneMore(t, "*/result/post/*/balance")})
	r.refuted(t)
	// Health knows it before the first block is committed, the chain's gaps begin with that.
	poll(t, 250*time.Millisecond, "the chain says so as well", func() bool {
		status, body := get(t, r.server.url+"/v1/chains")
		return status == http.StatusOK && strings.Contains(string(body), `"kind":"doubtful"`)
	})
	advance(r.c, 5) // told by the liar, whom nobody can stand in for
	awaitIndexed(t, r.server.url, r.c)
	r.others()
	r.whole(t)
}

// TestFalseFromStart: what is false begins with the first block of the index, which cannot go
// back below it: all rows are made again.
func TestFalseFromStart(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newLiesRig(t, devnet.Config{Blocks: 20, TxsPerBlock: 3, Nodes: 2, StateProofs: true},
		evmrpc.Traits{Edit: oneMore(t, "*/result/post/*/balance")}, "--start-block", "latest-5")
	r.refuted(t)
	r.others()
	r.putRight(t)
	honest := t.TempDir()
	server := serveIn(t, r.d, honest, "--start-block", "15")
	awaitIndexed(t, server.url, r.c)
	server.stop(t)
	if digest(t, r.dir, r.c) != digest(t, honest, r.c) {
		t.Error("rows differ from those of a server that nobody lied to")
	}
}

// TestFalseOlderBalances: a node lies about balances of blocks that are fetched later,
// below those with which an index began. Proofs find that out too.
func TestFalseOlderBalances(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 250, TxsPerBlock: 3, StateProofs: true})
	c, _ := cChain(d)
	dir := t.TempDir()
	server := serveIn(t, d, dir, "--start-block", "latest-2", "--log-display-level", "fatal")
	awaitIndexed(t, server.url, c)
	server.stop(t)
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{Edit: oneMore(t, "*/result/post/*/balance")})
	server = serveIn(t, d, dir, "--health-check-frequency", "250ms", "--log-display-level", "fatal")
	poll(t, 100*time.Millisecond, "health says that what is served may be false", func() bool {
		return strings.Contains(healthOf(t, server.url).Checks["C"].Error, "may be false")
	})
	server.stop(t)
}

// TestFalseCalls: a node lies about calls that move nothing, which no proof shows. As
// soon as there are others its word is compared with theirs, all of it is put right, and who
// follows is told.
func TestFalseCalls(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newLiesRig(t, devnet.Config{Blocks: 20, TxsPerBlock: 3, Nodes: 3}, evmrpc.Traits{Edit: oneMore(t, "*/result/calls/*/gasUsed")})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	retracted := make(chan error, 1)
	go func() {
		last := told{}
		err := subscribe(ctx, new(http.Client), r.server.url, "topics=blocks&startBlock=0&chainId="+r.number, "", func(e told) bool {
			last = e
			return e.name != "retraction"
		})
		if err == nil && last.name != "retraction" {
			err = fmt.Errorf("the stream ended with %s: %s", last.name, last.data)
		}
		retracted <- err
	}()
	r.others()
	poll(t, 250*time.Millisecond, "nodes are found to differ", func() bool {
		if counters(t, r.server.url)[`quorate_second_opinions_disputed_total{chain="C"}`] > 0 {
			return true
		}
		advance(r.c, 8)
		return false
	})
	if err := <-retracted; err != nil {
		t.Error("who follows is not told:", err)
	}
	r.whole(t)
}

// TestContradiction: two nodes say different things about calls that move nothing. That is
// named, health stays green, and a node that mends itself settles it.
func TestContradiction(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newLiesRig(t, devnet.Config{Blocks: 20, TxsPerBlock: 3, Nodes: 2}, evmrpc.Traits{Edit: oneMore(t, "*/result/calls/*/gasUsed")})
	r.others()
	poll(t, 250*time.Millisecond, "the contradiction is named", func() bool {
		_, body := get(t, r.server.url+"/v1/chains")
		if strings.Contains(string(body), `"kind":"doubtful"`) && strings.Contains(string(body), "against") {
			return true
		}
		advance(r.c, 8)
		return false
	})
	if said := healthOf(t, r.server.url).Checks["C"].Error; said != "" {
		t.Errorf("health says %q", said)
	}
	r.d.Node(0).SetTraits(evmrpc.Traits{})
	r.whole(t)
}
