package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
)

// command runs a command line that ends by itself, and returns what it says.
func command(t *testing.T, stdin []byte, args ...string) (code int, stdout []byte, stderr string) {
	t.Helper()
	var out, fault bytes.Buffer
	code = run(context.Background(), args, streams{bytes.NewReader(stdin), &out, &fault})
	return code, out.Bytes(), fault.String()
}

func mustCommand(t *testing.T, stdin []byte, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	code, stdout, stderr := command(t, stdin, args...)
	if code != exitDone {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// backupPages are pages that a restored server must answer as the other one does.
func backupPages(t *testing.T, url string) (pages map[string]string, next string) {
	t.Helper()
	pages = make(map[string]string)
	for _, path := range []string{
		"/v1/chains/C/transactions?startBlock=20&endBlock=60&pageSize=10", "/v1/chains/C/transactions?pageSize=50", "/v1/chains/C/blocks/60/transactions",
		"/v2/chains/C/metrics/txCount?timeInterval=hour&pageSize=100&endTimestamp=4102444800",
	} {
		status, body := get(t, url+path)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, status, body)
		}
		pages[path] = string(body)
		if next == "" {
			var page struct{ NextPageToken string }
			if err := json.Unmarshal(body, &page); err != nil || page.NextPageToken == "" {
				t.Fatalf("no page token: %v", err)
			}
			next = path + "&pageToken=" + page.NextPageToken
		}
	}
	return pages, next
}

// TestBackup copies the data of a server while it serves, restores them elsewhere,
// and has a server there serve the same pages.
func TestBackup(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 70, TxsPerBlock: 3})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	message := r.d.Facts("").Signature.Messages[0]
	status, _ := post(t, p.url+"/v1/signatureAggregator/fuji/aggregateSignatures", fmt.Sprintf(`{"message":%q}`, message))
	if status/100 != 2 {
		t.Fatalf("aggregate: status %d", status)
	}
	to := filepath.Join(t.TempDir(), "backup")
	mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", to)
	advance(r.c, 10)
	r.awaitWhole(t, p.url)
	_, told := mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", to)
	stream, _ := mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", "-", "--with-identity")
	if out, _ := mustCommand(t, nil, "verify-data", "--data-dir", r.dir); !strings.Contains(string(out), "not checked: a server uses it") ||
		!strings.Contains(string(out), "blocks 0 to 80") {
		t.Errorf("verify-data: %s", out)
	}
	if code, _, told := command(t, nil, "restore", "--data-dir", r.dir, "--from", to); code != exitFailed || !strings.Contains(told, "a server uses") {
		t.Errorf("a restore under a server: %s", told)
	}
	pages, next := backupPages(t, p.url)
	_, after := get(t, p.url+next)
	p.stop(t)
	if !strings.Contains(told, "were copied") {
		t.Errorf("backup: %s", told)
	}

	key, err := os.ReadFile(r.path("staker.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{to, "-"} {
		dir := filepath.Join(t.TempDir(), "data")
		mustCommand(t, stream, "restore", "--data-dir", dir, "--from", from, fmt.Sprintf("--as-the-same=%t", from == "-"))
		moved, err := os.ReadFile(filepath.Join(dir, "staker.pem"))
		if same := bytes.Equal(moved, key); same != (from == "-") {
			t.Errorf("from %s: the identity came along: %v, %v", from, same, err)
		}
		other := &archiveRig{d: r.d, c: r.c, node: r.node, dir: dir}
		p := other.start(t)
		other.awaitWhole(t, p.url)
		poll(t, 100*time.Millisecond, "the pages are the same", func() bool { // the names of tokens come a little later
			again, _ := backupPages(t, p.url)
			return maps.Equal(again, pages)
		})
		if status, body := get(t, p.url+next); status != http.StatusOK || string(body) != string(after) {
			t.Errorf("from %s: the next page: status %d: %s", from, status, body)
		}
		p.stop(t)
		if out, _ := mustCommand(t, nil, "verify-data", "--data-dir", dir); !allSound(out, r.c, true) {
			t.Errorf("verify-data: %s", out)
		}
		if code, _, told := command(t, stream, "restore", "--data-dir", dir, "--from", from); code != exitFailed || !strings.Contains(told, "--force") {
			t.Errorf("a restore over data: %s", told)
		}
		flipArchive(t, dir)
		if code, out, _ := command(t, nil, "verify-data", "--data-dir", dir); code != exitFailed || !strings.Contains(string(out), "DAMAGED") {
			t.Errorf("verify-data of a damaged archive: %s", out)
		}
		mustCommand(t, stream, "restore", "--data-dir", dir, "--from", from, "--force")
		if out, _ := mustCommand(t, nil, "verify-data", "--data-dir", dir); !allSound(out, r.c, false) {
			t.Errorf("verify-data: %s", out)
		}
	}
}

// allSound reports whether verify-data found all sound, the chain's archive and signed
// messages among it, and the index or not.
func allSound(out []byte, c *evmchain.Chain, index bool) bool {
	text := string(out)
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "sound\n") && !strings.HasSuffix(line, " decoded and encoded again\n") {
			return false
		}
	}
	return strings.Contains(text, "chain "+c.Config().ID.String()+": ") && strings.Contains(text, "database results: ") &&
		strings.Contains(text, "database index: ") == index
}

// flipArchive flips a bit in an archive.
func flipArchive(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "archive", "*", "*.live"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// killed runs a command in a process that is killed at some moment, and reports
// whether it ended before.
func killed(t *testing.T, after time.Duration, args ...string) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// TestBackupKilled kills backup and restore at any moment: the backup is the one before
// or the new one, and the data folder has what it had or all of the backup, after
// restore was called again.
func TestBackupKilled(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 40, TxsPerBlock: 3})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	to := filepath.Join(t.TempDir(), "backup")
	mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", to)
	began := time.Now()
	mustCommand(t, nil, "backup", "--data-dir", r.dir, "--to", "-")
	took := max(time.Since(began), 20*time.Millisecond)
	rng := rand.New(rand.NewPCG(1, 1))
	dir := filepath.Join(t.TempDir(), "data")
	for round := range killCount(t, 50) {
		advance(r.c, 3)
		r.awaitWhole(t, p.url)
		killed(t, 2*took/3+time.Duration(rng.Int64N(int64(2*took))), "backup", "--data-dir", r.dir, "--to", to)
		// Whatever it is, it can be restored.
		fresh := filepath.Join(t.TempDir(), "fresh")
		mustCommand(t, nil, "restore", "--data-dir", fresh, "--from", to)
		if out, _ := mustCommand(t, nil, "verify-data", "--data-dir", fresh); !allSound(out, r.c, false) {
			t.Fatalf("round %d: verify-data: %s", round, out)
		}
		done := killed(t, took/2+time.Duration(rng.Int64N(int64(4*took))), "restore", "--data-dir", dir, "--from", to, "--force")
		if !done {
			if _, err := os.Stat(filepath.Join(dir, "archive")); err == nil {
				if _, err := os.Stat(filepath.Join(dir, "restore.tmp", "COMPLETE")); errors.Is(err, fs.ErrNotExist) {
					mustCommand(t, nil, "verify-data", "--data-dir", dir) // what was there before
				}
			}
			mustCommand(t, nil, "restore", "--data-dir", dir, "--from", to, "--force")
		}
		if out, _ := mustCommand(t, nil, "verify-data", "--data-dir", dir); !allSound(out, r.c, false) {
			t.Fatalf("round %d: verify-data: %s", round, out)
		}
	}
}
