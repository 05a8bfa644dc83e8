package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quorate/bench"
)

func TestBenchMetrics(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v2/chains/43112/metrics/") || broken.Load() && r.URL.Query().Has("endTimestamp") {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"message":"busy: very"}`)
			return
		}
		_, _ = io.WriteString(w, `{"results":[{"value":1,"timestamp":1700006400},{"value":1,"timestamp":1699920000}]}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	facts := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{facts("a.json", `{"chainId":"43112"}`), facts("b.json", `{"chainId":"7","metricsChainId":"43112"}`)} {
		code, out, errs := quorate(t, "", "bench", "metrics", "--url", server.URL, "--facts", path, "--points", "1,100", "--state", "cold",
			"--duration", "60ms", "--concurrency", "1", "--json")
		var report bench.MetricsReport
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || errs != "" {
			t.Fatalf("exit code %d, %v, stderr %q, stdout %s", code, err, errs, out)
		}
		if report.Chain != "43112" || len(report.Pages) != 2 || report.Pages[1].Points != 100 || report.Pages[1].PointsGiven != 2 ||
			report.Pages[0].Servers[0].OK == 0 {
			t.Errorf("%s", out)
		}
	}
	short := []string{"metrics", "--url", server.URL, "--chain", "43112", "--points", "1", "--duration", "60ms"}
	code, out, errs := quorate(t, "", append([]string{"bench"}, short...)...)
	if code != exitDone || errs != "" || !strings.Contains(out, "17 metrics of chain 43112, 2023-11-14 to 2023-11-15") || !strings.Contains(out, "cold") {
		t.Errorf("exit code %d, stderr %q, stdout %s", code, errs, out)
	}

	fails := func(want int, text string, args ...string) {
		t.Helper()
		code, _, errs := quorate(t, "", append([]string{"bench"}, args...)...)
		if code != want || !strings.Contains(errs, text) {
			t.Errorf("%q: exit code %d, stderr %q; want %q", args, code, errs, text)
		}
	}
	broken.Store(true)
	fails(exitFailed, "gave not one good answer for cold pages of 1 points", short...)
	fails(exitFailed, "503 busy", append(short, "--chain", "7")...)
	fails(exitUsage, "--chain or --facts is required", "metrics")
	fails(exitUsage, "must be positive", append(short, "--concurrency", "0")...)
	fails(exitUsage, "pages of 0 points", append(short, "--points", "0")...)
	fails(exitUsage, `"hot" pages`, append(short, "--state", "hot")...)
	fails(exitUsage, "not on this machine's loopback", append(short, "--url", "http://192.0.2.1:1")...)
	fails(exitFailed, "no such file", "metrics", "--facts", filepath.Join(dir, "none.json"))
	fails(exitFailed, "neither", "metrics", "--facts", facts("c.json", `{}`))
	fails(exitFailed, "c.json", "metrics", "--facts", facts("c.json", `{`))
}

func TestBenchIngest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short := []string{"bench", "ingest", "--dir", dir, "--blocks", "5", "--txs-per-block", "2", "--rounds", "1"}
	code, out, errs := quorate(t, "", append(short, "--json")...)
	var report bench.IngestReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || errs != "" || report.Txs != 10 || report.MetricsRatio.Median <= 0 {
		t.Errorf("exit code %d, %v, stderr %q, stdout %s", code, err, errs, out)
	}
	code, out, errs = quorate(t, "", short...)
	if code != exitDone || errs != "" || !strings.Contains(out, "time with metrics / without") {
		t.Errorf("exit code %d, stderr %q, stdout %s", code, errs, out)
	}
	for text, args := range map[string][]string{"must be positive": {"--rounds", "0"}, "want 1 to 200000 transactions": {"--blocks", "1000000"}} {
		code, _, errs = quorate(t, "", append(short, args...)...)
		if code != exitUsage || !strings.Contains(errs, text) {
			t.Errorf("%q: exit code %d, stderr %q", args, code, errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBenchIngestInterrupted: Ctrl-C ends it in order.
func TestBenchIngestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "bench", "ingest", "--dir", dir, "--blocks", "1000", "--rounds", "100")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	errs := &lockedBuffer{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	fail := func(err error) {
		_ = cmd.Process.Kill()
		t.Fatalf("%v: %s", err, errs)
	}
	deadline := time.After(time.Minute)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if found, err := filepath.Glob(filepath.Join(dir, "*", "index-*")); err != nil || len(found) > 0 {
			tick.Stop()
			break
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("ended: %v: %s", err, errs)
		case <-deadline:
			fail(errors.New("no database was made"))
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		fail(err)
	}
	select {
	case <-ended:
	case <-deadline:
		fail(errors.New("it does not end"))
	}
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(fmt.Sprint(errs), "interrupt") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
