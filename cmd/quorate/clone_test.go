package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestOneOwner: of three servers with one history, the first one, one on its backup and one
// on its clone, the first one alone delivers its webhooks. The clone serves the same pages
// at once, without the node, and takes the first one's page tokens.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Validators: 2, Blocks: 70, TxsPerBlock: 3})
	r.args = []string{"--limits", "webhooks-private=true,webhooks-keyless=true"}
	_, number := cChain(r.d)
	p, receiver := r.start(t), newHookReceiver(t)
	r.awaitWhole(t, p.url)
	var made struct{ ID string }
	callAPI(t, http.MethodPost, p.url+"/v1/webhooks", fmt.Sprintf(`{"eventType":"address_activity","url":%q,"chainId":%q,"metadata":{"addresses":[%q]}}`,
		receiver.URL, number, r.d.Facts("").Address), http.StatusCreated, &made)
	pages, next := backupPages(t, p.url)
	backup, restored, cloned := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored"), filepath.Join(t.TempDir(), "cloned")
	mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", backup, "--with-identity")
	if code, _, told := command(t, nil, "clone", "--from", r.dir, "--data-dir", cloned); code != exitFailed || !strings.Contains(told, "use quorate backup") {
		t.Errorf("of a server that runs: exit code %d, %s", code, told)
	}
	p.stop(t)
	if _, told := mustCommand(t, nil, "restore", "--from", backup, "--data-dir", restored); !strings.Contains(told, "without staker.pem, webhooks (1) of the other server") {
		t.Errorf("restore: %s", told)
	}
	mustCommand(t, nil, "clone", "--from", r.dir, "--data-dir", cloned)

	r.node.close()
	second := &archiveRig{d: r.d, c: r.c, node: r.node, dir: cloned, args: r.args}
	p = second.start(t)
	again, _ := backupPages(t, p.url)
	if status, body := get(t, p.url+next); status != http.StatusOK {
		t.Errorf("the next page of the clone: status %d: %s", status, body)
	}
	for path := range pages {
		if again[path] != pages[path] {
			t.Errorf("%s: the clone has another page", path)
		}
	}
	p.stop(t)
	r.node = r.node.reopen(t)

	identities := map[string]bool{}
	for _, dir := range []string{r.dir, restored, cloned} {
		one := &archiveRig{d: r.d, c: r.c, node: r.node, dir: dir, args: r.args}
		p := one.start(t)
		one.awaitWhole(t, p.url)
		var list struct{ Webhooks []struct{ ID string } }
		callAPI(t, http.MethodGet, p.url+"/v1/webhooks", "", http.StatusOK, &list)
		if len(list.Webhooks) > 0 != (dir == r.dir) {
			t.Errorf("%s has %d webhooks", dir, len(list.Webhooks))
		}
		key, err := os.ReadFile(filepath.Join(dir, "staker.pem"))
		if err != nil || identities[string(key)] {
			t.Errorf("%s has the identity of another one, %v", dir, err)
		}
		identities[string(key)] = true
	}
	advance(r.c, 3)
	var hashes []string
	poll(t, 50*time.Millisecond, "the webhook is delivered", func() bool {
		hashes = receiver.told(made.ID)
		return len(hashes) > 0
	})
	if receiver.twice > 0 || len(slices.Compact(slices.Sorted(slices.Values(hashes)))) != len(hashes) {
		t.Errorf("%d messages came twice: %v", receiver.twice, hashes)
	}
}
