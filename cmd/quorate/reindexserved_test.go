package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/engine/chain"
)

// TestReindexServed has the server that uses a folder make all tables again: it
// answers as before meanwhile and afterwards, and the index is the same.
func TestReindexServed(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 70, TxsPerBlock: 3})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	pages, next := backupPages(t, p.url)
	second := hashesOf(t, p.url+next, 5)
	ask := func(want int, args ...string) string {
		t.Helper()
		code, out, told := command(t, nil, append([]string{"reindex", "--data-dir", r.dir}, args...)...)
		if code != want {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, told)
		}
		return string(out) + told
	}
	id := r.c.Config().ID.String()
	if got, want := ask(exitDone), "chain "+id+": nothing is stale\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for range 2 {
		advance(r.c, 5)
		if got := ask(exitDone, "all"); !strings.Contains(got, "chain "+id+": made again from ") || !strings.Contains(got, "token-balances") {
			t.Errorf("%q", got)
		}
	}
	if got := ask(exitDone, "token-balances", "--chain", id); !strings.Contains(got, "token-balances") {
		t.Errorf("%q", got)
	}
	if got := ask(exitFailed, "--chain", chain.ID{6}.String()); !strings.Contains(got, "is not served") {
		t.Errorf("%q", got)
	}
	if got := ask(exitFailed, "--metrics"); !strings.Contains(got, "another process") {
		t.Errorf("%q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ended, []string{"reindex", "all", "--data-dir", r.dir}, streams{nil, new(lockedBuffer), new(lockedBuffer)}); code != exitFailed {
		t.Errorf("stopped at once: exit code %d", code)
	}
	r.awaitWhole(t, p.url)
	again, _ := backupPages(t, p.url)
	if of := "/v1/chains/C/blocks/60/transactions"; again[of] == "" || again[of] != pages[of] {
		t.Errorf("%s: %s, before: %s", of, again[of], pages[of])
	}
	if got := hashesOf(t, p.url+next, 5); !slices.Equal(got, second) { // a token of before
		t.Errorf("the second page is %v, before %v", got, second)
	}
	p.stop(t)
	if got := digest(t, r.dir, r.c); got != fromArchive(t, r.dir, r.c) {
		t.Error("the tables that were made again are others")
	}
}
