package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// gapsHeader asks for a page and returns what its header says of gaps.
func gapsHeader(t *testing.T, url string) string {
	t.Helper()
	resp, err := new(http.Client).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d", url, resp.StatusCode)
	}
	return resp.Header.Get("X-Chain-Gaps")
}

// mustNameGap checks that a chain is fresh though nobody can trace it: its lists and
// metrics are served, and health, the list of chains and a header name what is missing.
func mustNameGap(t *testing.T, url, number string, c *evmchain.Chain) {
	t.Helper()
	awaitIndexed(t, url, c)
	said := ""
	poll(t, 100*time.Millisecond, "health says what is missing", func() bool {
		said = healthOf(t, url).Checks["C"].Error
		return strings.Contains(said, "blocks are indexed without their traces")
	})
	poll(t, 100*time.Millisecond, "the list of chains says what is missing", func() bool {
		_, body := get(t, url+"/v1/chains")
		return strings.Contains(string(body), `"kind":"trace"`)
	})
	for _, path := range []string{"/v1/chains/" + number + "/transactions", "/v2/chains/" + number + "/metrics/contracts", "/v2/chains/" + number + "/metrics/cumulativeDeployers"} {
		if said := gapsHeader(t, url+path); !strings.HasPrefix(said, "trace ") {
			t.Errorf("%s: the header says %q", path, said)
		}
	}
}

// awaitWhole waits until tables of a chain are made again from what came late, with a
// start of the server for each look: it does so when it starts.
func awaitWhole(t *testing.T, d *devnet.Devnet, dir string, c *evmchain.Chain) {
	t.Helper()
	stale := func() bool {
		db, err := store.Open(dir+"/index", smallStore)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		rows, err := index.Open(db, c.Config().ID, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows.Stale())+len(rows.Gaps()) > 0
	}
	poll(t, time.Millisecond, "tables are made again", func() bool {
		if !stale() {
			return true
		}
		server := serveIn(t, d, dir, "--log-display-level", "fatal")
		awaitIndexed(t, server.url, c)
		server.stop(t)
		return false
	})
}

// TestNodeLosesDebug: the one node that had the debug API has it no longer, say after a
// restart with other settings, and then is down. That stops what needs traces and
// nothing else: new blocks are indexed all the same, what they lack is named, also after
// a kill, and made up for once the node is as it was. In the end the rows are those of a
// server that saw nothing of it.
func TestNodeLosesDebug(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 30, TxsPerBlock: 3, Nodes: 2})
	c, number := cChain(d)
	first, second := d.Node(0), d.Node(1)
	whole, noDebug := evmrpc.Traits{}, evmrpc.Traits{NoDebug: true}
	second.SetTraits(noDebug)
	dir := t.TempDir()
	start := func() *child {
		t.Helper()
		return startChild(t, d, dir, "--node-url", second.URL(), "--limits", "untraced-after=1s", "--health-check-frequency", "250ms", "--log-display-level", "fatal")
	}
	server := start()
	awaitIndexed(t, server.url, c)
	first.SetTraits(noDebug)
	advance(c, 20)
	mustNameGap(t, server.url, number, c)
	server.kill(t)
	if gaps := gapsOf(t, dir, c); len(gaps) == 0 || !gaps[0].Unable {
		t.Errorf("the list after the kill: %+v", gaps)
	}
	server = start()
	advance(c, 10)
	mustNameGap(t, server.url, number, c)

	// For a moment it has the debug API, and is gone for a while.
	first.SetTraits(whole)
	poll(t, 100*time.Millisecond, "some block is completed", func() bool { return len(gapsOf(t, dir, c)) < 20 })
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	advance(c, 10)
	mustNameGap(t, server.url, number, c)
	server.kill(t)

	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	server = start()
	advance(c, 5)
	awaitIndexed(t, server.url, c)
	poll(t, 100*time.Millisecond, "all blocks are completed", func() bool {
		return len(gapsOf(t, dir, c)) == 0 && healthOf(t, server.url).Healthy
	})
	server.stop(t)
	awaitWhole(t, d, dir, c)
	d.SetEVMTraits(c.Config().ID, whole)
	if digest(t, dir, c) != honestDigest(t, d, c) {
		t.Error("rows differ from those of an undisturbed server")
	}
}
