package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// archiveRig is a network behind a door that can be shut, and a data folder.
type archiveRig struct {
	d    *devnet.Devnet
	c    *evmchain.Chain
	node *pit
	dir  string
	args []string
}

func newArchiveRig(t *testing.T, cfg devnet.Config) *archiveRig {
	t.Helper()
	d := startNetwork(t, cfg)
	c, _ := cChain(d)
	return &archiveRig{d: d, c: c, node: newPit(t, d.NodeURL(), passing), dir: t.TempDir()}
}

func (r *archiveRig) start(t *testing.T) *program {
	t.Helper()
	return launch(t, "quorate ready", append([]string{"serve", "--http-port", "0", "--data-dir", r.dir, "--log-display-level", "error",
		"--memory", "256MiB", "--node-url", r.node.url()}, r.args...)...)
}

func (r *archiveRig) path(name ...string) string {
	return filepath.Join(append([]string{r.dir}, name...)...)
}

func (r *archiveRig) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(r.path(name)); err != nil {
		t.Fatal(err)
	}
}

// awaitWhole waits until archive and index both reach the chain's tip.
func (r *archiveRig) awaitWhole(t *testing.T, url string) {
	t.Helper()
	_, number := cChain(r.d)
	poll(t, 50*time.Millisecond, "archive and index are whole", func() bool {
		if !hasBlock(t, url, number, r.c.Tip()) {
			return false
		}
		have, tip := counters(t, url), float64(r.c.Tip())
		return have[`quorate_index_height{chain="C"}`] == tip && have[`quorate_archive_last_block{chain="C"}`] == tip
	})
}

// withoutNode lets a server make the index from the archive while the node is down,
// and returns the index's digest.
func (r *archiveRig) withoutNode(t *testing.T) [32]byte {
	t.Helper()
	r.remove(t, "index")
	r.node.close()
	p := r.start(t)
	r.awaitWhole(t, p.url)
	if status, body := get(t, p.url+"/v1/chains/C/transactions"); status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
	p.stop(t)
	r.node = r.node.reopen(t)
	return digest(t, r.dir, r.c)
}

// TestArchive: the index is made again from the archive without a node. A data
// folder of before there were archives serves its rows at once and goes on, and its
// archive is filled behind them. A bit that flips in the archive costs that range,
// which is fetched again.
func TestArchive(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 60, TxsPerBlock: 2})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	caches := 0.0
	for series, bytes := range counters(t, p.url) {
		if strings.HasPrefix(series, "quorate_cache_limit_bytes{") {
			caches += bytes
		}
	}
	if caches == 0 || caches > 256<<20 {
		t.Errorf("caches of %.0f bytes", caches)
	}
	p.stop(t)
	want := digest(t, r.dir, r.c)
	if got := r.withoutNode(t); got != want {
		t.Error("made from the archive the index is another one")
	}

	r.remove(t, "archive")
	advance(r.c, 20)
	p = r.start(t)
	if status, body := get(t, p.url+"/v1/chains/C/transactions?startBlock=40&endBlock=60"); status != http.StatusOK {
		t.Errorf("an old row: status %d: %s", status, body)
	}
	advance(r.c, 5)
	r.awaitWhole(t, p.url)
	advance(r.c, 5) // by one ingest for both
	r.awaitWhole(t, p.url)
	p.stop(t)
	want = digest(t, r.dir, r.c)
	if got := r.withoutNode(t); got != want {
		t.Error("filled behind the index, the archive makes another one")
	}

	files, err := filepath.Glob(r.path("archive", r.c.Config().ID.String(), "*.live"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/3] ^= 0x10
	if err := os.WriteFile(files[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r.remove(t, "index")
	p = r.start(t)
	r.awaitWhole(t, p.url)
	have := counters(t, p.url)
	if have[`quorate_archive_damages_total{chain="C"}`] == 0 || have[`quorate_archive_damaged_ranges{chain="C"}`] != 0 {
		t.Errorf("%v damages found, %v left", have[`quorate_archive_damages_total{chain="C"}`], have[`quorate_archive_damaged_ranges{chain="C"}`])
	}
	p.stop(t)
	if got := digest(t, r.dir, r.c); got != want {
		t.Error("after a damage the index is another one")
	}
	if got := r.withoutNode(t); got != want {
		t.Error("the mended archive makes another index")
	}
}

// fromArchive makes an index of the chain's archive in a data folder that no server
// uses, and returns its digest.
func fromArchive(t *testing.T, dir string, c *evmchain.Chain) (sum [32]byte) {
	t.Helper()
	a, err := archive.Open(filepath.Join(dir, "archive", c.Config().ID.String()), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.TempDir(), smallStore)
	if err != nil {
		t.Fatal(errors.Join(err, a.Close()))
	}
	rows, err := index.Open(db, c.Config().ID, index.Options{})
	if err == nil {
		err = evmarchive.NewReader(a).Read(t.Context(), 0, c.Tip(), func(b *evm.Block) error {
			return rows.Commit(t.Context(), []*evm.Block{b})
		})
	}
	if err == nil {
		sum, err = rows.Digest(t.Context())
	}
	if err = errors.Join(err, db.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestStartBlock: a chain begins above its first block, says so, goes on after a
// restart, and is made again from its archive.
func TestStartBlock(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 60, TxsPerBlock: 3})
	r.args = []string{"--start-block", "latest-20"}
	p := r.start(t)
	r.awaitWhole(t, p.url)
	check := func(url string) {
		t.Helper()
		if status, body := get(t, url+"/v1/chains"); status != http.StatusOK || !strings.Contains(string(body), `"kind":"below-start","fromBlock":"0","toBlock":"39"`) {
			t.Errorf("status %d: %s", status, body)
		}
		if status, body := get(t, url+"/v1/chains/C/transactions?startBlock=40&endBlock=60"); status != http.StatusOK || !strings.Contains(string(body), `"blockNumber"`) {
			t.Errorf("status %d: %s", status, body)
		}
		if status, body := get(t, url+"/v1/chains/C/blocks/39/transactions"); strings.Contains(string(body), `"txHash"`) {
			t.Errorf("status %d: %s", status, body)
		}
		_, number := cChain(r.d)
		if status, body := get(t, url+"/v2/chains/"+number+"/metrics/cumulativeTxCount?timeInterval=day"); status != http.StatusNotFound || !strings.Contains(string(body), "begins above") {
			t.Errorf("status %d: %s", status, body)
		}
		if status, body := get(t, url+"/v2/chains/"+number+"/metrics/txCount?timeInterval=day"); status != http.StatusOK {
			t.Errorf("status %d: %s", status, body)
		}
	}
	check(p.url)
	p.stop(t)
	want := digest(t, r.dir, r.c)
	r.args = []string{"--start-block", "40"}
	advance(r.c, 5)
	p = r.start(t)
	r.awaitWhole(t, p.url)
	check(p.url)
	p.stop(t)
	if digest(t, r.dir, r.c) == want {
		t.Error("it did not go on")
	}
	want = digest(t, r.dir, r.c)
	if got := r.withoutNode(t); got != want {
		t.Error("made from the archive the index is another one")
	}
}
