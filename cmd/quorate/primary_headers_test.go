package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/nodeapi"
	"quorate/devnet/torture"
	"quorate/devnet/world"
)

// TestPrimaryHeaders: the primary network is followed by a node without the Index API,
// and then by one with it. However often the server is killed while it completes what it
// has, rows and archive end as those of a server that had an index from the first block
// on, and answers name the proposers.
func TestPrimaryHeaders(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{
		Blocks: 5, Validators: 2, PrimaryBlocks: torture.Pick(240, 3000), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	genesis := []string{"--genesis-file", fmt.Sprintf("%d=%s", world.NetworkID, writeFile(t, "genesis", fmt.Sprintf("%x", d.Genesis()))), "--log-display-level", "fatal"}
	honest, dir := t.TempDir(), t.TempDir()
	follow := func(dir string, wait func(url string)) {
		t.Helper()
		c := startChild(t, d, dir, genesis...)
		wait(c.url)
		c.stop(t)
	}
	blocks := func(url, chain string) string {
		t.Helper()
		_, body := get(t, url+"/v1/networks/fuji/blockchains/"+chain+"/blocks?pageSize=100")
		return string(anyToken.ReplaceAll(body, nil))
	}
	gaps := func(url, chain string) string {
		t.Helper()
		missing, _ := standingOf(t, url+"/v1/networks/fuji/blockchains/"+chain+"/blocks?pageSize=1")
		return missing
	}
	whole := func(url string) {
		t.Helper()
		awaitPrimary(t, d, url)
		<-time.After(syncAge) // what was said before there were vertices
		poll(t, 50*time.Millisecond, "nothing lacks", func() bool { return gaps(url, "p-chain") == "" && gaps(url, "x-chain") == "" })
	}
	want := map[string]string{}
	follow(honest, func(url string) {
		awaitPrimary(t, d, url)
		for _, chain := range []string{"p-chain", "x-chain"} {
			want[chain] = blocks(url, chain)
		}
	})
	d.Node(0).SetPrimaryTraits(nodeapi.PrimaryTraits{NoIndex: true})
	start := time.Now()
	follow(dir, func(url string) {
		poll(t, 50*time.Millisecond, "blocks are indexed without headers", func() bool {
			have, tips := counters(t, url), primaryTips(d)
			return have[`quorate_index_height{chain="P"}`] == tips["P"] && have[`quorate_index_height{chain="X"}`] == tips["X"]
		})
		if got := blocks(url, "p-chain"); strings.Contains(got, "proposerNodeId") {
			t.Errorf("a proposer without a header: %.300s", got)
		}
		poll(t, 50*time.Millisecond, "it is said", func() bool {
			return gaps(url, "p-chain") == fmt.Sprintf("header 1-%.0f", primaryTips(d)["P"])
		})
	})
	took := time.Since(start)
	d.Node(0).SetPrimaryTraits(nodeapi.PrimaryTraits{})
	rnd := rand.New(rand.NewPCG(3, 19))
	for range killCount(t, 50) {
		killAfter(t, d, dir, time.Duration(rnd.Int64N(int64(took))))
	}
	follow(dir, func(url string) {
		whole(url)
		for chain, page := range want {
			if got := blocks(url, chain); got != page {
				t.Errorf("%s: %.600s\nwant %.600s", chain, got, page)
			}
		}
	})
	sums := primaryDigests(t, d, honest)
	same := func(what string) {
		t.Helper()
		for name, sum := range primaryDigests(t, d, dir) {
			if sum != sums[name] {
				t.Errorf("%s: the rows of %s are others", what, name)
			}
		}
	}
	same("after kills")
	d.Node(0).SetPrimaryTraits(nodeapi.PrimaryTraits{Down: true})
	removeAll(t, filepath.Join(dir, "index"))
	follow(dir, func(url string) { awaitPrimary(t, d, url) })
	same("from the archive")
}
