package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"quorate/devnet"
)

// oldFolder is a data folder as the program of commit 29c0794 has left it, which had no
// archives and no versions of tables, after it had followed oldNetwork.
const oldFolder = "testdata/folder-29c0794.tar.zst"

var oldNetwork = devnet.Config{Blocks: 40, TxsPerBlock: 2}

// TestOldFolder: a data folder of before there were archives serves its rows from the
// first moment on, while the archive is filled behind them; the user does nothing. In the
// end its rows are those of a new folder, and follow from the archive.
//
// QUORATE_OLD names a program of that commit, which makes the folder anew first: that is
// needed when the simulated chain is another one.
func TestOldFolder(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, oldNetwork)
	if old := os.Getenv("QUORATE_OLD"); old != "" {
		makeOldFolder(t, r, old)
	}
	unpackFolder(t, oldFolder, r.dir)
	_, number := cChain(r.d)
	page := "/v1/chains/" + number + "/transactions?pageSize=60"

	p := r.start(t)
	old := hashesOf(t, p.url+page, 50)
	t.Logf("served with an archive up to block %v", counters(t, p.url)[`quorate_archive_last_block{chain="C"}`])
	advance(r.c, 5)
	r.awaitWhole(t, p.url)
	awaitNothingStale(t, p.url)
	all := hashesOf(t, p.url+page, 50) // the newest come first
	if at := slices.Index(all, old[0]); at < 1 || !slices.Equal(old[:len(all)-at], all[at:]) {
		t.Errorf("at first %v were served, in the end %v", old, all)
	}
	p.stop(t)
	if got := digest(t, r.dir, r.c); got != honestDigest(t, r.d, r.c) {
		t.Error("the rows are not those of a new folder")
	}
	if got := fromArchive(t, r.dir, r.c); got != honestDigest(t, r.d, r.c) {
		t.Error("the rows that follow from the archive are not those of a new folder")
	}
	if out, _ := mustCommand(t, nil, "check", "--data-dir", r.dir); !strings.Contains(string(out), " 0 differ") {
		t.Errorf("check: %s", out)
	}
}

// hashesOf returns the transactions of a page, which has at least so many.
func hashesOf(t *testing.T, url string, least int) (hashes []string) {
	t.Helper()
	status, body := get(t, url)
	if status != http.StatusOK {
		t.Errorf("%s: status %d: %s", url, status, body)
	}
	if hashes = regexp.MustCompile(`"txHash":"0x[0-9a-f]{64}"`).FindAllString(string(body), -1); len(hashes) < least {
		t.Fatalf("%s: %d transactions: %s", url, len(hashes), body)
	}
	return hashes
}

// awaitNothingStale waits until a server has no tables to make again.
func awaitNothingStale(t *testing.T, url string) {
	t.Helper()
	poll(t, 100*time.Millisecond, "all tables are of today", func() bool {
		return counters(t, url)[`quorate_chain_work_blocks{chain="C",work="rebuild"}`] == 0 && healthOf(t, url).Healthy
	})
}

// makeOldFolder has an old program follow the network and packs the data that it leaves
// behind.
func makeOldFolder(t *testing.T, r *archiveRig, old string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), old, "serve", "--node-url", r.node.url(), "--http-port", "19897", "--data-dir", dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, number := cChain(r.d)
	poll(t, 100*time.Millisecond, "the old program has indexed all", func() bool {
		resp, err := new(http.Client).Get("http://127.0.0.1:19897/v1/chains/" + number + "/blocks/40/transactions")
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(body), `"txHash"`)
	})
	if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"logs", "staker.pem"} {
		removeAll(t, filepath.Join(dir, name))
	}
	packFolder(t, dir, oldFolder)
}

func packFolder(t *testing.T, dir, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func unpackFolder(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
