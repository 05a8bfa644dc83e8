package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestTwoServersOnOneIdentity: validators silently close the links of a second
// server with the same certificate. It says so, in the log and in its
// readiness, and works as soon as the first one is gone.
func TestTwoServersOnOneIdentity(t *testing.T) {
	t.Parallel()
	d, stop, err := startDevnet(t.Context(), devnet.Config{Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	})
	first, second := t.TempDir(), t.TempDir()
	serve := func(dir string, port int) []string {
		return []string{"serve", noIndex, "--node-url", d.NodeURL(), "--http-port", fmt.Sprint(port), "--data-dir", dir, "--log-display-level", "warn"}
	}
	one := launch(t, "quorate ready", serve(first, 0)...)
	pem, err := os.ReadFile(filepath.Join(first, "staker.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "staker.pem"), pem, 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &lockedBuffer{}
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, serve(second, port), streams{strings.NewReader(""), io.Discard, errs}) }()
	readiness := func() (int, string) {
		resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(fmt.Sprintf("http://127.0.0.1:%d/ext/health/readiness", port))
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	await := func(what string, ok func(status int, body string) bool) {
		t.Helper()
		limit := time.After(patience)
		for {
			status, body := readiness()
			if ok(status, body) {
				return
			}
			select {
			case <-limit:
				t.Fatalf("never %s: %d %s\n%s", what, status, body, errs)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	await("not ready for its certificate", func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, "staker.pem") && strings.Contains(body, "% of the stake are connected")
	})
	if !strings.Contains(errs.String(), "seems to be in use by another server") {
		t.Errorf("the log does not say so:\n%s", errs)
	}
	one.stop(t)
	await("ready when the first one is gone", func(status int, _ string) bool { return status == http.StatusOK })
	cancel()
	if code := <-ended; code != exitDone {
		t.Errorf("exit %d", code)
	}
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
