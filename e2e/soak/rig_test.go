package soak

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/e2e/proc"
	"quorate/e2e/quorate"
)

const (
	// memory is the --memory of the server, the least there is: caches are full soon.
	memory    = "256MiB"
	memoryMiB = 256
	// waitMost bounds the time for what should take a moment, and catchUpMost that of the
	// chain's history.
	waitMost, catchUpMost = 2 * time.Minute, 15 * time.Minute
	// ofChain are the labels of the simulated C-Chain: those of the primary network have
	// the same metrics.
	ofChain     = `{chain="C",network="12345"}`
	indexHeight = "quorate_index_height" + ofChain
	// anyBlock stands in a path for the height of any block.
	anyBlock = "ANY"
)

// rig is a simulated network and a server that follows it, in processes of their own.
type rig struct {
	t            *testing.T
	binary       string
	dir          string // of everything; the server's is data in it
	node, client *quorate.Client
	server       *quorate.Server
	paths        []string
}

// world says what the simulated chain is like.
type world struct {
	blocks, txs int // at the start, and of a block
	every       time.Duration
}

// start runs both for the time of the test, the server with further arguments, and waits
// until it has the chain.
func start(t *testing.T, w world, args ...string) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpMost)
	defer cancel()
	binary, err := quorate.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	spawner := proc.NewSpawner()
	t.Cleanup(spawner.Close)
	r := &rig{t: t, binary: binary, dir: t.TempDir()}
	run := func(ready string, args ...string) (*quorate.Server, *quorate.Client) {
		s, err := quorate.Start(ctx, quorate.Config{
			Spawner: spawner, Binary: binary, Args: append(args, "--http-port", "0", "--log-display-level", "warn"),
			Ready: ready, LogPath: filepath.Join(r.dir, args[0]+".log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		c := quorate.NewClient(s.URL)
		t.Cleanup(func() {
			c.Close()
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		return s, c
	}
	facts := filepath.Join(r.dir, "facts.json")
	node, client := run("devnet ready", "devnet", "--blocks", strconv.Itoa(w.blocks), "--txs-per-block", strconv.Itoa(w.txs),
		"--block-interval", w.every.String(), "--facts-file", facts)
	r.node = client
	r.server, r.client = run("quorate ready", append([]string{"serve", "--node-url", node.URL, "--data-dir", r.data(), "--memory", memory}, args...)...)
	r.paths = pages(t, facts)
	r.awaitFor(catchUpMost, "the chain is indexed", func() bool {
		index, err := r.client.Metric(t.Context(), indexHeight)
		kept, missing := r.client.Metric(t.Context(), "quorate_archive_last_block"+ofChain)
		return err == nil && missing == nil && min(index, kept) >= float64(w.blocks)
	})
	r.await("the server is healthy", func() bool {
		a, err := r.client.Get(t.Context(), "/ext/health")
		return err == nil && a.Status == http.StatusOK
	})
	return r
}

// data is the server's data folder.
func (r *rig) data() string { return filepath.Join(r.dir, "data") }

// pages returns the pages that clients read: lists, balances, holders, metrics.
func pages(t *testing.T, factsFile string) []string {
	t.Helper()
	raw, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ ChainID, Address, ERC20Token string }
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	chain := "/v1/chains/" + f.ChainID
	address, metrics := chain+"/addresses/"+f.Address, "/v2/chains/"+f.ChainID
	return []string{
		chain + "/transactions?pageSize=100", chain + "/blocks/" + anyBlock + "/transactions?pageSize=100",
		chain + "/tokens/" + f.ERC20Token + "/transfers?pageSize=100&endBlock=" + anyBlock,
		address + "/transactions?pageSize=50", address + "/transactions?pageSize=100&endBlock=" + anyBlock,
		address + "/transactions:listErc721?pageSize=100", address + "/balances:getNative?blockNumber=" + anyBlock,
		address + "/balances:listErc20?pageSize=50", address + "/balances:listErc721?pageSize=50",
		metrics + "/metrics/txCount?timeInterval=hour&pageSize=100", metrics + "/metrics/activeAddresses?timeInterval=day&pageSize=100",
		metrics + "/contracts/" + f.ERC20Token + "/balances?pageSize=100&threshold=0",
	}
}

// page returns the path of page i, of any block up to a height where it is of a block:
// no cache has them all.
func (r *rig) page(i, height int) string {
	return strings.ReplaceAll(r.paths[i%len(r.paths)], anyBlock, strconv.Itoa(1+rand.IntN(height)))
}

// tip returns the height of the chain.
func (r *rig) tip() float64 {
	r.t.Helper()
	a, err := r.node.Post(r.t.Context(), "/ext/bc/C/rpc", []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`))
	if err != nil {
		r.t.Fatal(err)
	}
	var answer struct{ Result string }
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		r.t.Fatal(err)
	}
	n, err := strconv.ParseUint(answer.Result, 0, 64)
	if err != nil {
		r.t.Fatalf("%s: %v", a.Body, err)
	}
	return float64(n)
}

func (r *rig) metric(name string) float64 {
	r.t.Helper()
	v, err := r.client.Metric(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// await asks until ok returns true.
func (r *rig) await(what string, ok func() bool) {
	r.t.Helper()
	r.awaitFor(waitMost, what, ok)
}

func (r *rig) awaitFor(most time.Duration, what string, ok func() bool) {
	r.t.Helper()
	limit := time.After(most)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("not within %v: %s\n%s", most, what, r.server.LogTail())
		}
	}
}
