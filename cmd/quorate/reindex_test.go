package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// openMetrics opens the one chain of a data folder.
func openMetrics(t *testing.T, dir string, opts index.Options) (*index.Chain, func()) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	c, err := index.Open(db, chain.ID{5}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReindex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		if got := run(t.Context(), append([]string{"reindex"}, args...), streams{nil, &o, &e}); got != want {
			t.Fatalf("%q exits with %d, want %d: %s", args, got, want, e.String())
		}
		return o.String(), e.String()
	}
	if _, got := command(exitFailed, "--metrics", "--data-dir", dir); !strings.Contains(got, "no chain was indexed in") {
		t.Error(got)
	}
	c, closeDB := openMetrics(t, dir, index.Options{NoRollup: true})
	if err := c.Commit(context.Background(), indextest.New(indextest.Config{Seed: 4, Txs: 5, Step: 3_600_000}).Blocks(300)); err != nil {
		t.Fatal(err)
	}
	if _, got := command(exitFailed, "--metrics", "--data-dir", dir); !strings.Contains(got, "another process") {
		t.Error(got)
	}
	closeDB()

	id := chain.ID{5}.String()
	want := "chain " + id + ": metrics of 300 blocks are complete\n"
	if got, _ := command(exitDone, "--metrics", "--data-dir", dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	edition := func() (edition uint32) {
		c, closeDB := openMetrics(t, dir, index.Options{})
		defer closeDB()
		s, edition, err := c.RollupState()
		if err != nil || s.Next != 300 {
			t.Errorf("made up to block %d: %v", s.Next, err)
		}
		first, last, _ := s.Bounds(rollup.Day)
		txs := uint64(0)
		if err := c.Buckets(rollup.Day, last, first, func(_ uint32, r *rollup.Record) { txs += r.Txs }); err != nil || txs < 300 {
			t.Errorf("%d transactions: %v", txs, err)
		}
		return edition
	}
	first := edition()
	for _, c := range []struct {
		args []string
		anew bool
	}{
		{args: []string{"--chain", id}},
		{args: []string{"--from-scratch"}, anew: true},
	} {
		if got, _ := command(exitDone, append(c.args, "--metrics", "--data-dir", dir)...); got != want {
			t.Errorf("%q: %q, want %q", c.args, got, want)
		}
		if next := edition(); (next != first) != c.anew {
			t.Errorf("%q: edition %d after %d", c.args, next, first)
		}
	}

	for text, args := range map[string][]string{
		"--from-scratch goes with":       {"--from-scratch", "--data-dir", dir},
		"--metrics takes no table":       {"--metrics", "blocks", "--data-dir", dir},
		`no such table: "blokcs": the t`: {"blokcs", "--data-dir", dir},
		"--chain:":                       {"--metrics", "--data-dir", dir, "--chain", "C"},
	} {
		if _, got := command(exitUsage, args...); !strings.Contains(got, text) {
			t.Errorf("%q: %s", args, got)
		}
	}
	other := chain.ID{6}.String()
	if _, got := command(exitFailed, "--metrics", "--data-dir", dir, "--chain", other); !strings.Contains(got, "chain "+other+" was never indexed") {
		t.Error(got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var e bytes.Buffer
	if got := run(ended, []string{"reindex", "--metrics", "--from-scratch", "--data-dir", dir}, streams{nil, &e, &e}); got != exitFailed ||
		!strings.Contains(e.String(), "call it again") {
		t.Errorf("stopped: %d, %s", got, e.String())
	}
	if got, _ := command(exitDone, "--metrics", "--data-dir", dir); got != want {
		t.Errorf("after a stop: %q, want %q", got, want)
	}
}

// TestReindexTables: rows that are damaged are found and named by quorate check, and
// made good from the archive by quorate reindex, on a folder that no server uses.
func TestReindexTables(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), chain.ID{5}
	blocks := indextest.New(indextest.Config{Seed: 7, Txs: 6}).Blocks(70)
	command := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		if got := run(t.Context(), append(args, "--data-dir", dir), streams{nil, &o, &e}); got != want {
			t.Fatalf("%q exits with %d, want %d: %s%s", args, got, want, o.String(), e.String())
		}
		return o.String(), e.String()
	}
	c, closeDB := openMetrics(t, dir, index.Options{Wrapped: []evm.Address{indextest.Wrapped}})
	if err := c.Commit(t.Context(), blocks); err != nil {
		t.Fatal(err)
	}
	want, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closeDB()
	if _, got := command(exitFailed, "check"); !strings.Contains(got, "has no archive") {
		t.Error(got)
	}
	writeArchive(t, dir, id, blocks)
	if out, _ := command(exitDone, "check"); !strings.HasPrefix(out, "chain "+id.String()+": ") || !strings.HasSuffix(out, " rows compared, 0 differ\n") {
		t.Error(out)
	}

	damage(t, dir, store.TableFailed, 3)
	damage(t, dir, store.TableTokenBalances, maxDifferences+20)
	out, errs := command(exitFailed, "check")
	if !strings.Contains(out, fmt.Sprintf(" rows compared, %d differ\n", maxDifferences+23)) || strings.Count(out, "\n") != maxDifferences+1 ||
		!strings.Contains(out, ": failed-transactions: row ") || !strings.Contains(errs, errDiffers.Error()) {
		t.Error(out, errs)
	}
	if out, _ := command(exitDone, "reindex"); out != "chain "+id.String()+": nothing is stale\n" {
		t.Error(out)
	}
	if out, _ := command(exitDone, "reindex", "failed-transactions", "token-balances", "--chain", id.String()); out !=
		"chain "+id.String()+": made again from 70 blocks: failed-transactions, token-balances\n" {
		t.Error(out)
	}
	if out, _ := command(exitDone, "check"); !strings.HasSuffix(out, " 0 differ\n") {
		t.Error(out)
	}
	command(exitDone, "reindex", "all")
	c, closeDB = openMetrics(t, dir, index.Options{})
	defer closeDB()
	if got, err := c.Digest(t.Context()); err != nil || got != want {
		t.Errorf("the digests differ: %v", err)
	}
	if _, got := command(exitFailed, "check"); !strings.Contains(got, "another process") {
		t.Error(got)
	}
}

// writeArchive makes the archive of a chain.
func writeArchive(t *testing.T, dir string, id chain.ID, blocks []*evm.Block) {
	t.Helper()
	a, err := archive.Open(filepath.Join(dir, "archive", id.String()), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	var list []archive.Block
	for _, b := range blocks {
		list = append(list, evmarchive.BlockOf(b))
	}
	if err := errors.Join(a.Append(t.Context(), list), a.Close()); err != nil {
		t.Fatal(err)
	}
}

// damage removes the first rows of a table from the index of a data folder.
func damage(t *testing.T, dir string, table byte, rows int) {
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
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := db.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	r, err := s.Rows([]byte{table}, false)
	if err != nil {
		t.Fatal(err)
	}
	for r.Seek([]byte{table}); r.Valid() && rows > 0; r.Next() {
		if err := b.Delete(slices.Clone(r.Key())); err != nil {
			t.Fatal(err)
		}
		rows--
	}
	if err := b.Commit(); err != nil || rows > 0 {
		t.Fatal(rows, err)
	}
}
