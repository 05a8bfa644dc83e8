package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
	"quorate/devnet/world"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
	"quorate/engine/store/oldruns/oldrunstest"
)

// moveToRuns makes a folder whose index has the primary network's history in sorted files, as
// former versions wrote it.
func moveToRuns(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[uint32]bool)
	for _, kind := range []primary.Kind{primary.PChain, primary.XVertices, primary.XChain, primary.CChain} {
		c, err := primary.OpenChain(db, primary.Config{ID: primary.RowsID(world.NetworkID, kind)})
		if err != nil {
			t.Fatal(err)
		}
		of[binary.BigEndian.Uint32(c.Space().Key(store.PrimaryTxs)[1:])] = true
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := oldrunstest.Move(t, filepath.Join(dir, "index"), 1, func(key []byte) bool {
		return key[0] > store.PrimaryEditions && key[0] < store.PrimaryEnd && of[binary.BigEndian.Uint32(key[1:])]
	}); n < 500 {
		t.Fatalf("%d rows lie in runs", n)
	}
}

// historyPages are of the primary network's history.
func historyPages(t *testing.T, url string) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, path := range []string{
		"/v1/networks/fuji/blockchains/p-chain/transactions?pageSize=100", "/v1/networks/fuji/blockchains/x-chain/transactions?pageSize=100",
		"/v1/networks/fuji/validators?pageSize=100", "/v1/networks/fuji/blockchains/p-chain/blocks?pageSize=100",
	} {
		status, body := get(t, url+path)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", path, status, body)
		}
		pages[path] = string(body)
	}
	return pages
}

// TestOldRuns: a folder whose index has history in sorted files is served again when the
// archive has it, and answers the same; where the archive lacks it, nothing in it is changed,
// and the rows are copied.
func TestOldRuns(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{
		Blocks: 5, Validators: 2, PrimaryBlocks: torture.Pick(240, 3000), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	dir := t.TempDir()
	pages := func() (pages map[string]string) {
		t.Helper()
		c := startChild(t, d, dir)
		awaitPrimary(t, d, c.url)
		pages = historyPages(t, c.url)
		c.stop(t)
		return pages
	}
	want := pages()
	rows := primaryDigests(t, d, dir)
	moveToRuns(t, dir)
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if code, _, said := command(t, nil, "check", "--data-dir", dir); code != exitFailed || !strings.Contains(said, "start the server, which makes the rows again") {
		t.Errorf("check: exit code %d: %s", code, said)
	}
	archive := filepath.Join(dir, "archive", "network-12345-p")
	if err := os.Rename(archive, archive+".away"); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, filepath.Join(dir, "index", "runs"))
	code, _, said := command(t, nil, "serve", "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", dir)
	if code != exitFailed || !strings.Contains(said, "the archive of chain network-12345-p lacks some of the blocks 0 to ") {
		t.Errorf("without an archive: exit code %d: %s", code, said)
	}
	if now := filesOf(t, filepath.Join(dir, "index", "runs")); len(before) == 0 || now != before {
		t.Errorf("files are %s, and were %s", now, before)
	}
	if err := os.Rename(archive+".away", archive); err != nil {
		t.Fatal(err)
	}
	for path, page := range pages() {
		if page != want[path] {
			t.Errorf("%s is\n%s\nand was\n%s", path, page, want[path])
		}
	}
	for name, sum := range primaryDigests(t, d, dir) {
		if sum != rows[name] {
			t.Errorf("the rows of %s are others", name)
		}
	}
	for _, want := range []string{" of free disk until the files are removed\ncopied in ", "all rows of the index are in its database\n"} {
		if out, _ := mustCommand(t, nil, "reindex", "--keep-rows", "--data-dir", kept); !strings.Contains(string(out), want) {
			t.Errorf("reindex --keep-rows: %s", out)
		}
	}
	for name, sum := range primaryDigests(t, d, kept) {
		if sum != rows[name] {
			t.Errorf("the copied rows of %s are others", name)
		}
	}
	for _, dir := range []string{dir, kept} {
		if out, _ := mustCommand(t, nil, "check", "--data-dir", dir); strings.Count(string(out), " 0 differ") < 4 {
			t.Errorf("check: %s", out)
		}
	}
}

// filesOf returns the names of the files in a folder.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		names = append(names, f.Name())
	}
	return strings.Join(names, " ")
}
