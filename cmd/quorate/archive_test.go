package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quorate/devnet"
)

// TestArchiveCommand copies the history of a server to a depot and from there into another
// folder, whose server serves the same pages without a node.
func TestArchiveCommand(t *testing.T) {
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Validators: 2, Blocks: 2400, TxsPerBlock: 1})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	pages := tokenless(t, p.url)
	depot := "file://" + t.TempDir()
	if code, _, told := command(t, nil, "archive", "push", depot, "--data-dir", r.dir); code != exitFailed || !strings.Contains(told, "in use") {
		t.Errorf("push of a folder in use: exit code %d, %s", code, told)
	}
	p.stop(t)
	mustCommand(t, nil, "archive", "push", depot, "--data-dir", r.dir)
	if _, told := mustCommand(t, nil, "archive", "push", depot, "--data-dir", r.dir); !strings.Contains(told, " 0 spans were copied") {
		t.Errorf("pushed again: %s", told)
	}
	out, _ := mustCommand(t, nil, "archive", "ls", depot)
	row := "5/" + r.c.Config().ID.String() + "/evm"
	if text := string(out); !strings.Contains(text, row) || !strings.Contains(text, "0      2047  2      0        0") {
		t.Errorf("ls: %s", text)
	}
	if out, _ := mustCommand(t, nil, "archive", "verify", depot); !strings.Contains(string(out), row+": 3 objects are sound, 0 were removed") {
		t.Errorf("verify: %s", out)
	}

	dir := filepath.Join(t.TempDir(), "data")
	mustCommand(t, nil, "archive", "pull", depot, "--data-dir", dir)
	calls := newCallCounter(t, r.d.NodeURL())
	p = launch(t, "quorate ready", "serve", "--http-port", "0", "--data-dir", dir, "--log-display-level", "error", "--node-url", calls.URL, "--primary=off")
	r.awaitWhole(t, p.url)
	poll(t, 100*time.Millisecond, "the pages are the same", func() bool { // the names of tokens come a little later
		return maps.Equal(tokenless(t, p.url), pages)
	})
	if n := calls.blocks.Load(); n > 450 || n < 353 { // 353 blocks are above the last span
		t.Errorf("%d blocks were asked for", n)
	}
	p.stop(t)

	objects, err := filepath.Glob(filepath.Join(strings.TrimPrefix(depot, "file://"), "v1", "*", "*", "evm", "*.span"))
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	if err := os.Truncate(objects[1], 1000); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", depot}, {"pull", depot, "--data-dir", filepath.Join(t.TempDir(), "data")}} {
		code, out, told := command(t, nil, append([]string{"archive"}, args...)...)
		if code != exitFailed || !strings.Contains(string(out)+told, filepath.Base(objects[1])) {
			t.Errorf("%s of an object that was cut off: exit code %d, %s%s", args[0], code, out, told)
		}
	}
	for _, bad := range [][]string{{"ls", "http://x"}, {"push", "s3://"}, {"pull"}, {"ls"}} {
		if code, _, told := command(t, nil, append([]string{"archive"}, bad...)...); code != exitUsage {
			t.Errorf("%v: exit code %d, %s", bad, code, told)
		}
	}
}

// TestServeArchive: a server puts its history into a depot as it becomes whole. One that begins
// from there asks its node for what is above only, and serves the same pages; of what is spoiled
// there it asks the node, too.
func TestServeArchive(t *testing.T) {
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Validators: 2, Blocks: 2400, TxsPerBlock: 1})
	store := t.TempDir()
	r.args = []string{"--archive", "file://" + store}
	p := r.start(t)
	r.awaitWhole(t, p.url)
	pages := tokenless(t, p.url)
	poll(t, 50*time.Millisecond, "whole spans are in the depot", func() bool {
		return counters(t, p.url)[`quorate_depot_spans_total{chain="C",way="put"}`] == 2
	})
	p.stop(t)

	above := int64(r.c.Tip() - 2047)
	begin := func() (dir string, asked int64) {
		calls := newCallCounter(t, r.d.NodeURL())
		dir = filepath.Join(t.TempDir(), "data")
		p := launch(t, "quorate ready", "serve", "--http-port", "0", "--data-dir", dir, "--log-display-level", "error",
			"--node-url", calls.URL, "--primary=off", "--archive", "file://"+store)
		r.awaitWhole(t, p.url)
		asked = calls.blocks.Load()
		poll(t, 100*time.Millisecond, "the pages are the same", func() bool { return maps.Equal(tokenless(t, p.url), pages) })
		p.stop(t)
		if left, err := os.ReadDir(filepath.Join(dir, "depot.tmp")); err != nil || len(left) > 0 {
			t.Errorf("left of what was on its way: %v, %v", left, err)
		}
		return dir, asked
	}
	dir, asked := begin()
	if asked < above || asked > above+above/50+5 {
		t.Errorf("%d blocks were asked for, %d are above the last span", asked, above)
	}
	if digest(t, dir, r.c) != digest(t, r.dir, r.c) {
		t.Error("the rows are others")
	}
	objects, err := filepath.Glob(filepath.Join(store, "v1", "*", "*", "evm", "*.span"))
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	b, err := os.ReadFile(objects[1])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(objects[1], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, asked := begin(); asked < above+1024 {
		t.Errorf("%d blocks were asked for though a span is spoiled", asked)
	}
	if err := errors.Join(os.RemoveAll(store), os.WriteFile(store, nil, 0o600)); err != nil { // the store is away
		t.Fatal(err)
	}
	r.args = append(r.args, "--log-display-level", "off")
	p = r.start(t)
	advance(r.c, 3)
	r.awaitWhole(t, p.url)
	p.stop(t)
}

// TestKillArchive kills servers at any moment while they put blocks into a depot and take them
// from there: what is in the depot is sound, and whoever goes on has all rows.
func TestKillArchive(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Validators: 2, Blocks: 5200, TxsPerBlock: 1})
	store := "file://" + t.TempDir()
	kills := killCount(t, 50)
	rng := rand.New(rand.NewPCG(uint64(kills), 7))
	serve := func(dir string) []string {
		return []string{"serve", "--node-url", r.d.NodeURL(), "--http-port", "0", "--data-dir", dir, "--log-display-level", "error", "--primary=off", "--archive", store}
	}
	putting, taking := r.dir, t.TempDir()
	for range kills {
		killed(t, time.Duration(200+rng.IntN(2500))*time.Millisecond, serve(putting)...)
		killed(t, time.Duration(100+rng.IntN(1500))*time.Millisecond, serve(taking)...)
	}
	var sums [][32]byte
	for _, dir := range []string{putting, taking, t.TempDir()} {
		p := launch(t, "quorate ready", serve(dir)...)
		r.awaitWhole(t, p.url)
		if dir == putting {
			poll(t, 50*time.Millisecond, "all whole spans are in the depot", func() bool {
				out, _ := mustCommand(t, nil, "archive", "ls", store)
				return strings.Contains(string(out), "0      5119  5      0        0")
			})
		}
		p.stop(t)
		sums = append(sums, digest(t, dir, r.c))
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		t.Errorf("the rows differ: %x", sums)
	}
	mustCommand(t, nil, "archive", "verify", store)
	mustCommand(t, nil, "verify-data", "--data-dir", taking)
}

// tokenless returns pages without their tokens: each server makes its own.
func tokenless(t *testing.T, url string) map[string]string {
	pages, _ := backupPages(t, url)
	for path, body := range pages {
		pages[path], _, _ = strings.Cut(body, `"nextPageToken"`)
	}
	return pages
}

// callCounter is a node that counts for how many blocks it is asked.
type callCounter struct {
	*httptest.Server
	blocks atomic.Int64
}

func newCallCounter(t *testing.T, node string) *callCounter {
	t.Helper()
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	c := new(callCounter)
	pass := httputil.NewSingleHostReverseProxy(to)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server was stopped
		}
		c.blocks.Add(int64(bytes.Count(body, []byte(`"eth_getBlockReceipts"`))))
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}
