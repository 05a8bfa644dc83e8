package main

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/ingest"
)

// mustWait waits until health says that no node can trace, and checks that the chain
// waits for it.
func mustWait(t *testing.T, url, number string, c *evmchain.Chain) {
	t.Helper()
	said := ""
	defer func() {
		if t.Failed() {
			t.Logf("health says %q", said)
		}
	}()
	poll(t, 100*time.Millisecond, "health says that nothing can be traced", func() bool {
		said = healthOf(t, url).Checks["C"].Error
		return strings.Contains(said, "trace of ")
	})
	if height := indexed(t, url, number); height >= c.Tip() {
		t.Errorf("block %d is indexed, and no node can trace it", height)
	}
}

// TestNodesOfUnequalAbilities: two nodes lose and regain the debug API, their states,
// blocks, and life, one after the other and both at one time. The chain goes on as
// long as one node can do what is needed, waits and says so while none can, and ends
// with the rows of a server that saw nothing of it.
func TestNodesOfUnequalAbilities(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 20, TxsPerBlock: 3, Nodes: 2})
	c, number := cChain(d)
	first, second := d.Node(0), d.Node(1)
	dir := t.TempDir()
	server := serveIn(t, d, dir, "--node-url", second.URL(), "--limits", "untraced-after=0", "--health-check-frequency", "250ms", "--log-display-level", "fatal")
	awaitIndexed(t, server.url, c)
	step := func(what string, blocks int) {
		t.Helper()
		t.Log(what)
		advance(c, blocks)
		awaitIndexed(t, server.url, c)
	}
	whole, noDebug, pruned := evmrpc.Traits{}, evmrpc.Traits{NoDebug: true}, evmrpc.Traits{Keep: 2}

	first.SetTraits(noDebug)
	step("the first node loses the debug API", 10)
	second.SetTraits(noDebug)
	advance(c, 10)
	mustWait(t, server.url, number, c)
	second.SetTraits(whole)
	step("the second node has it again", 5)
	first.SetTraits(pruned)
	step("the first node is pruned", 10)

	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	advance(c, 10)
	mustWait(t, server.url, number, c)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	first.SetTraits(whole)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	step("the first node comes back whole, the second is down", 5)
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	second.SetTraits(evmrpc.Traits{AtMost: c.Tip()})
	step("the second node stands still", 10)
	first.SetTraits(evmrpc.Traits{Lag: 7})
	second.SetTraits(whole)
	step("the first node lags", 10)
	first.SetTraits(evmrpc.Traits{Unaccepted: 3})
	second.SetTraits(evmrpc.Traits{Unaccepted: 2})
	step("both nodes show blocks that are not accepted", 10)
	server.stop(t)

	d.SetEVMTraits(c.Config().ID, whole)
	if digest(t, dir, c) != honestDigest(t, d, c) {
		t.Error("rows differ from those of an undisturbed server")
	}
}

// untraceable returns a height above from whose block has transactions, and one of
// them.
func untraceable(t *testing.T, c *evmchain.Chain, from uint64) (height uint64, tx evm.Hash) {
	t.Helper()
	for height = from; height <= c.Tip(); height++ {
		if txs := c.TxHashes(height); len(txs) > 0 {
			return height, txs[len(txs)-1]
		}
	}
	t.Fatal("no block has a transaction")
	return 0, tx
}

// gapsOf reads the list of blocks without a trace of a server, which may run.
func gapsOf(t *testing.T, dir string, c *evmchain.Chain) []ingest.Gap {
	t.Helper()
	list, err := ingest.OpenRepairs(filepath.Join(dir, "archive", c.Config().ID.String(), "repairs.json"))
	if err != nil {
		t.Fatal(err)
	}
	return list.Gaps()
}

// TestUntraceable: a transaction that no node can trace stops nothing. Its block is
// listed, over a kill too, and completed when a node can trace it at last.
func TestUntraceable(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 40, TxsPerBlock: 3})
	c, _ := cChain(d)
	height, tx := untraceable(t, c, 20)
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{Untraceable: map[evm.Hash]evmrpc.TraceFault{tx: evmrpc.TraceTimeout}})
	dir := t.TempDir()
	server := startChild(t, d, dir, "--log-display-level", "fatal")
	awaitIndexed(t, server.url, c)
	if n := counters(t, server.url)[`quorate_ingest_missing_blocks{chain="C"}`]; n != 1 {
		t.Errorf("%v blocks are said to lack their traces", n)
	}
	server.kill(t)
	gaps := gapsOf(t, dir, c)
	if len(gaps) != 1 || gaps[0].Height != height || !strings.Contains(gaps[0].Reason, "execution timeout") || gaps[0].Tries < 1 {
		t.Fatalf("the list after the kill: %+v", gaps)
	}
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{})
	server = startChild(t, d, dir, "--log-display-level", "fatal")
	poll(t, 50*time.Millisecond, "the block is completed", func() bool { return len(gapsOf(t, dir, c)) == 0 })
	server.stop(t)
	if digest(t, dir, c) != honestDigest(t, d, c) {
		t.Error("rows differ from those of a server that had the trace at once")
	}

	a, err := archive.Open(filepath.Join(dir, "archive", c.Config().ID.String()), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	read := 0
	err = evmarchive.NewReader(a).Read(context.Background(), 0, c.Tip(), func(b *evm.Block) error {
		if read++; b.Number > 0 && len(b.Txs) > 0 && !b.Traced {
			t.Errorf("block %d has no trace in the archive", b.Number)
		}
		return nil
	})
	if err != nil || read != int(c.Tip())+1 {
		t.Errorf("%d blocks in the archive, %v", read, err)
	}
}

// TestNeverAccepted: a node without the finalized tag shows blocks that are never
// accepted, and they are indexed. When it has others there the chain goes back by
// itself, and ends as if it had not seen them.
func TestNeverAccepted(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 30, TxsPerBlock: 3})
	c, number := cChain(d)
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{Unaccepted: 3, NoFinalized: true})
	dir := t.TempDir()
	server := serveIn(t, d, dir, "--log-display-level", "fatal")
	poll(t, 20*time.Millisecond, "blocks that are not accepted are indexed", func() bool {
		return indexed(t, server.url, number) == c.Tip()+3
	})
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{})
	advance(c, 20)
	awaitIndexed(t, server.url, c)
	if n := counters(t, server.url)[`quorate_ingest_rewinds_total{chain="C"}`]; n != 1 {
		t.Errorf("went back %v times", n)
	}
	if status, body := get(t, server.url+"/v2/chains/"+number+"/metrics/txCount?timeInterval=hour&pageSize=3"); status != http.StatusOK {
		t.Errorf("metrics of the time before: %d %s", status, body)
	}
	server.stop(t)
	// What the blocks left in tables that only collect, and metrics, are made again
	// after a while, or with the next start.
	server = serveIn(t, d, dir, "--log-display-level", "fatal")
	poll(t, 100*time.Millisecond, "all metrics are served again", func() bool {
		_, body := get(t, server.url+"/v1/chains")
		return !strings.Contains(string(body), `"kind":"metrics"`)
	})
	awaitIndexed(t, server.url, c)
	server.stop(t)
	if digest(t, dir, c) != honestDigest(t, d, c) {
		t.Error("rows differ from those of a server that saw accepted blocks alone")
	}
}
