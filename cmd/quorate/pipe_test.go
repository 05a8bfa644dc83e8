package main

import (
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
)

// TestLogPipeClosed: a server whose log nobody reads any more goes on, and ends in order.
func TestLogPipeClosed(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 4})
	logs, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "serve", noIndex, "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "debug")
	cmd.Env, cmd.Stderr = append(os.Environ(), asProgram+"=1"), theirs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // the test has failed
			_ = cmd.Wait()
		}
	})
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if err := logs.Close(); err != nil { // before its first line, or after it
		t.Fatal(err)
	}
	url := readyURL(t, out, "quorate ready", &lockedBuffer{})
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		resp, err := (&http.Client{Timeout: time.Minute}).Get(url + "/ext/health/liveness") // a line of the log each
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			t.Error(resp.StatusCode, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
