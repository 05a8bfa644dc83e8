package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/engine/store"
	"quorate/rollup"
)

// openMetrics opens the one chain of a data folder.
func openMetrics(t *testing.T, dir string, opts index.Options) (*index.Chain, func()) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), store.Options{NoSync: true})
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
	if err := c.Commit(context.Background(), indextest.New(indextest.Config{Seed: 4, Txs: 5, Step: 3_600_000}).Blocks(600)); err != nil {
		t.Fatal(err)
	}
	if _, got := command(exitFailed, "--metrics", "--data-dir", dir); !strings.Contains(got, "another process") {
		t.Error(got)
	}
	closeDB()

	id := chain.ID{5}.String()
	want := "chain " + id + ": metrics of 600 blocks are complete\n"
	if got, _ := command(exitDone, "--metrics", "--data-dir", dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	edition := func() (edition uint32) {
		c, closeDB := openMetrics(t, dir, index.Options{})
		defer closeDB()
		s, edition, err := c.RollupState()
		if err != nil || s.Next != 600 {
			t.Errorf("made up to block %d: %v", s.Next, err)
		}
		first, last, _ := s.Bounds(rollup.Day)
		txs := uint64(0)
		if err := c.Buckets(rollup.Day, last, first, func(_ uint32, r *rollup.Record) { txs += r.Txs }); err != nil || txs < 600 {
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
		"say what to make anew: --metrics": {"--data-dir", dir},
		"--chain:":                         {"--metrics", "--data-dir", dir, "--chain", "C"},
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
