package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	store "quorate/engine/store/index"
)

// primaryTips returns how many blocks the chains of a simulated primary network have,
// by the names that metrics have for them: the height of the last one.
func primaryTips(d *devnet.Devnet) map[string]float64 {
	p := d.Primary()
	return map[string]float64{
		"P": float64(len(p.Platform())), "X": float64(len(p.AVM())), "X-vertices": float64(len(p.Vertices()) - 1),
	}
}

// awaitPrimary waits until a server has indexed all of a primary network.
func awaitPrimary(t *testing.T, d *devnet.Devnet, url string) {
	t.Helper()
	poll(t, 100*time.Millisecond, "the primary network is indexed", func() bool {
		have := counters(t, url)
		for name, tip := range primaryTips(d) {
			if have[`quorate_index_height{chain="`+name+`"}`] < tip {
				return false
			}
		}
		return true
	})
}

// primaryDigests returns the digests of the rows of a primary network in a folder that
// no server uses.
func primaryDigests(t *testing.T, d *devnet.Devnet, dir string) map[string][32]byte {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	p, err := pchain.Open(db, pchain.Config{Network: world.NetworkID})
	if err != nil {
		t.Fatal(err)
	}
	vertices, err := xchain.OpenVertices(db, world.NetworkID, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := xchain.OpenBlocks(db, world.NetworkID, nil, vertices)
	if err != nil {
		t.Fatal(err)
	}
	sums, tips := make(map[string][32]byte), primaryTips(d)
	for name, rows := range map[string]interface {
		Digest(context.Context) ([32]byte, error)
		Cursor() (chain.Head, bool)
	}{"P": p, "X": x, "X-vertices": vertices} {
		if head, ok := rows.Cursor(); !ok || float64(head.Height) != tips[name] {
			t.Errorf("%s is indexed up to %d, its tip is %v", name, head.Height, tips[name])
		}
		if sums[name], err = rows.Digest(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return sums
}

// TestPrimaryKill: however often the server is killed while it follows the primary
// network, the rows end the same as those of one that was left alone, and so do those
// that are made from its archive.
func TestPrimaryKill(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills := killCount(t, 50)
	d := startNetwork(t, devnet.Config{
		Blocks: 5, Validators: 2, PrimaryBlocks: torture.Pick(240, 3000), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	follow := func(dir string) time.Duration {
		t.Helper()
		start := time.Now()
		c := startChild(t, d, dir, "--log-display-level", "fatal")
		awaitPrimary(t, d, c.url)
		took := time.Since(start)
		c.stop(t)
		return took
	}
	honest := t.TempDir()
	took := follow(honest)
	rnd := rand.New(rand.NewPCG(uint64(kills), 11))
	dir := t.TempDir()
	for range kills {
		killAfter(t, d, dir, time.Duration(rnd.Int64N(int64(took))))
		d.Primary().Grow(uint64(torture.Pick(12, 30)))
	}
	follow(dir)
	follow(honest) // what came since
	want := primaryDigests(t, d, honest)
	same := func(what, dir string) {
		t.Helper()
		for name, sum := range primaryDigests(t, d, dir) {
			if sum != want[name] {
				t.Errorf("%s: the rows of %s are others", what, name)
			}
		}
	}
	same("after kills", dir)
	for _, order := range []string{"check", "verify-data"} {
		said, _ := mustCommand(t, nil, order, "--data-dir", dir)
		if want := map[string]string{"check": "chain network-12345-p: ", "verify-data": " decoded and encoded again\nchain network-12345-p: blocks 0 to "}[order]; !strings.Contains(string(said), want) {
			t.Errorf("%s says nothing of %q:\n%s", order, want, said)
		}
	}
	// A backup has the archives alone.
	backup, restored := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	mustCommand(t, nil, "backup", "--data-dir", dir, "--to", backup)
	mustCommand(t, nil, "restore", "--data-dir", restored, "--from", backup)
	follow(restored)
	same("from the archive", restored)
}
