package e2e

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

// depotBlocks is the height of a chain with two whole spans.
const depotBlocks = "2400"

// TestObjectStorage copies the history of a server to a store that speaks S3, which is none of
// ours, and from there into another folder. What was changed there is refused by its name, and
// keys show nowhere.
func TestObjectStorage(t *testing.T) {
	beside(t)
	store := startObjectStore(t)
	dir := testDir(t)
	data := filepath.Join(dir, "data")
	_, f := startDevnet(t, "--validators", "2", "--evm-chains", "1", "--blocks", depotBlocks, "--txs-per-block", "1", "--block-interval", "0")
	s := launch(t, quorate.Config{
		Args:    []string{"serve", "--node-url", f.BaseURL, "--http-port", freePort(t), "--data-dir", data},
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
	s.waitIndexed(t, sdkFacts{ChainID: f.ChainID, EndBlock: f.EndBlock})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.running = false

	const at = "s3://quorate/history"
	if r := store.archive(t, "push", at, "--data-dir", data); r.Code != 0 || !strings.Contains(r.Stderr, ".span\n") {
		t.Fatalf("push: exit code %d: %s", r.Code, r.Stderr)
	}
	if r := store.archive(t, "push", at, "--data-dir", data); r.Code != 0 || !strings.Contains(r.Stderr, " 0 spans were copied") {
		t.Errorf("pushed again: exit code %d: %s", r.Code, r.Stderr)
	}
	if r := store.archive(t, "ls", at); r.Code != 0 || !strings.Contains(r.Stdout, "/evm  0") {
		t.Errorf("ls: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	second := filepath.Join(dir, "second")
	if r := store.archive(t, "pull", at, "--data-dir", second); r.Code != 0 || !strings.Contains(r.Stderr, "spans were copied") {
		t.Errorf("pull: exit code %d: %s", r.Code, r.Stderr)
	}
	if r := command(t, "verify-data", "--data-dir", second); r.Code != 0 || !strings.Contains(r.Stdout, "blocks 0 to 2047") {
		t.Errorf("verify-data: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}

	objects, err := filepath.Glob(filepath.Join(store.dir, "quorate", "history", "v1", "*", "*", "evm", "*.span"))
	if err != nil || len(objects) != 2 {
		t.Fatalf("the store has %v, %v", objects, err)
	}
	b, err := os.ReadFile(objects[1])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(objects[1], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := store.archive(t, "verify", at); r.Code != exitFailed || !strings.Contains(r.Stdout, filepath.Base(objects[1])) {
		t.Errorf("verify: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}

	store.secret = "another-secret"
	if r := store.archive(t, "ls", at); r.Code != exitFailed || r.Stderr == "" || strings.Contains(r.Stderr, store.secret) {
		t.Errorf("with another secret: exit code %d: %s", r.Code, r.Stderr)
	}
}

// objectStore is a running store that speaks S3.
type objectStore struct{ dir, url, secret string }

// startObjectStore builds versitygw and runs it on a folder with an empty bucket.
func startObjectStore(t *testing.T) *objectStore {
	t.Helper()
	dir := testDir(t)
	s := &objectStore{dir: filepath.Join(dir, "store"), url: "http://127.0.0.1:" + freePort(t), secret: "secret-of-the-store"}
	if err := os.MkdirAll(filepath.Join(s.dir, "quorate"), 0o700); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "versitygw")
	output(t, ".", "go", "build", "-modfile=versitygw.mod", "-o", binary, "github.com/versity/versitygw/cmd/versitygw")
	cmd := exec.Command(binary, "--port", strings.TrimPrefix(s.url, "http://"), "--quiet", "posix", s.dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=quorate", "ROOT_SECRET_KEY="+s.secret)
	running, err := shared.spawner.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Kill)
	client := &http.Client{Timeout: commandWait, Transport: &http.Transport{DisableKeepAlives: true}}
	tick, late := time.NewTicker(indexEvery), time.After(testWait)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close() // it answers
			return s
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(err)
		}
	}
}

// archive runs a command of quorate archive on the store.
func (s *objectStore) archive(t *testing.T, args ...string) quorate.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, product(t), append([]string{"archive"}, args...)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+s.url, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=quorate", "AWS_SECRET_ACCESS_KEY="+s.secret)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return quorate.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}
