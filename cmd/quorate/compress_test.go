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
	store "quorate/engine/store/index"
)

// TestReindexCompress: an index of before it was compressed is, as a whole, and has the rows
// that it had.
func TestReindexCompress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := func(ctx context.Context, want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		if got := run(ctx, append([]string{"reindex", "--compress", "--data-dir", dir}, args...), streams{nil, &o, &e}); got != want {
			t.Fatalf("%q exits with %d, want %d: %s", args, got, want, e.String())
		}
		return o.String(), e.String()
	}
	if _, got := command(t.Context(), exitFailed); !strings.Contains(got, "no chain was indexed in") {
		t.Error(got)
	}
	open := func(opts store.Options) (*index.Chain, func()) {
		t.Helper()
		db, err := store.Open(filepath.Join(dir, "index"), opts)
		if err != nil {
			t.Fatal(err)
		}
		c, err := index.Open(db, chain.ID{5}, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c, func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	plain := smallStore
	plain.Uncompressed = true
	c, closeDB := open(plain)
	if err := c.Commit(t.Context(), indextest.New(indextest.Config{Seed: 9, Txs: 6}).Blocks(80)); err != nil {
		t.Fatal(err)
	}
	want, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, got := command(t.Context(), exitFailed); !strings.Contains(got, "another process") {
		t.Error(got)
	}
	closeDB()
	for text, args := range map[string][]string{
		"--keep-rows are each of the whole index":       {"blocks"},
		"take no table, no --chain and no --metrics":    {"--metrics"},
		"--compress and --keep-rows are each of the w":  {"--keep-rows"},
		"an index with --index-compression none":        {"--index-compression", "none"},
		`"lz4" is neither none nor zstd`:                {"--index-compression", "lz4"},
		"are each of the whole index: they take no tab": {"--chain", chain.ID{5}.String()},
	} {
		if _, got := command(t.Context(), exitUsage, args...); !strings.Contains(got, text) {
			t.Errorf("%q: %s", args, got)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if out, got := command(stopped, exitFailed); !strings.Contains(got, "stopped; nothing has changed") || !strings.Contains(out, " of tables are not compressed; that takes about ") {
		t.Error(out, got)
	}
	if out, _ := command(t.Context(), exitDone); !strings.Contains(out, " of free disk meanwhile; about ") || !strings.Contains(out, "\ncompressed in ") {
		t.Error(out)
	}
	if out, _ := command(t.Context(), exitDone); !strings.HasPrefix(out, "all tables of the index are compressed: ") {
		t.Error(out)
	}
	c, closeDB = open(smallStore)
	defer closeDB()
	if got, err := c.Digest(t.Context()); err != nil || got != want {
		t.Errorf("the rows are others, %v", err)
	}
}
