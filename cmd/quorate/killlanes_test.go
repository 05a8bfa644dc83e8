package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
)

// lanes are what a server does besides following the head. Each of them is brought
// about before a server is started that is killed.
var lanes = []struct {
	name  string
	begin func(t *testing.T, d *devnet.Devnet, c *evmchain.Chain, dir string)
	// order is a command for the server.
	order []string
}{
	{name: "the archive is filled behind an index of before there were archives", begin: func(t *testing.T, _ *devnet.Devnet, _ *evmchain.Chain, dir string) {
		removeAll(t, filepath.Join(dir, "archive"))
	}},
	{name: "a damaged archive is mended while the index is made from it", begin: func(t *testing.T, _ *devnet.Devnet, c *evmchain.Chain, dir string) {
		removeAll(t, filepath.Join(dir, "index"))
		flipSome(t, filepath.Join(dir, "archive", c.Config().ID.String(), "*.live"))
	}},
	{name: "all tables are made again and the old ones swept", order: []string{"reindex", "all"}},
	{name: "traces come late, and contracts are asked for their tokens", begin: func(t *testing.T, d *devnet.Devnet, c *evmchain.Chain, dir string) {
		from := c.Tip()
		advance(c, 6)
		_, tx := untraceable(t, c, from)
		d.SetEVMTraits(c.Config().ID, evmrpc.Traits{Untraceable: map[evm.Hash]evmrpc.TraceFault{tx: evmrpc.TraceTimeout}})
		s := startChild(t, d, dir, "--log-display-level", "fatal")
		awaitIndexed(t, s.url, c)
		s.kill(t)
		d.SetEVMTraits(c.Config().ID, evmrpc.Traits{})
	}},
}

// TestKillLanes kills a server while it does all that is not following the head, one
// after the other on one folder: archive and index end the same as those of a server
// that was left alone.
func TestKillLanes(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills := killCount(t, 50)
	d := startNetwork(t, devnet.Config{Blocks: torture.Pick(20, 120), TxsPerBlock: torture.Pick(2, 4), Validators: 2})
	c, _ := cChain(d)
	rnd := rand.New(rand.NewPCG(uint64(kills), 7))
	dir, took := undisturbed(t, d)
	for n := range kills {
		for _, lane := range lanes {
			advance(c, 2)
			if lane.begin != nil {
				lane.begin(t, d, c, dir)
			}
			later := time.Duration(rnd.Int64N(int64(took)))
			if lane.order == nil {
				killAfter(t, d, dir, later)
				continue
			}
			killOrdered(t, d, dir, later/4, lane.order...)
		}
		t.Logf("%d of %d times %d kills", n+1, kills, len(lanes))
	}
	last := startChild(t, d, dir, "--log-display-level", "fatal")
	awaitIndexed(t, last.url, c)
	poll(t, 50*time.Millisecond, "the archive is whole and nothing lacks", func() bool {
		have := counters(t, last.url)
		return have[`quorate_archive_last_block{chain="C"}`] == float64(c.Tip()) && have[`quorate_chain_work_blocks{chain="C",work="fill"}`] == 0 &&
			have[`quorate_chain_work_blocks{chain="C",work="rebuild"}`] == 0 && len(gapsOf(t, dir, c)) == 0
	})
	mustCommand(t, nil, "reindex", "--data-dir", dir) // what is stale since traces came late
	last.stop(t)
	want := honestDigest(t, d, c)
	if digest(t, dir, c) != want {
		t.Errorf("after %d kills the database is another one", kills*len(lanes))
	}
	if fromArchive(t, dir, c) != want {
		t.Errorf("after %d kills the archive makes another database", kills*len(lanes))
	}
}

// killOrdered has a server that is started do what a command orders, and kills it
// some time later.
func killOrdered(t *testing.T, d *devnet.Devnet, dir string, later time.Duration, order ...string) {
	t.Helper()
	s := startChild(t, d, dir, "--log-display-level", "fatal")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		command(t, nil, append(order, "--data-dir", dir)...) // ends with the server, in one way or another
	}()
	<-time.After(later)
	s.kill(t)
	<-ended
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// flipSome flips a bit in the middle of the files that are large enough.
func flipSome(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) < 1000 {
			continue // only just begun
		}
		raw[len(raw)/2] ^= 4
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
