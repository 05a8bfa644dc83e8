package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quorate/bench"
)

func TestBench(t *testing.T) {
	t.Parallel()
	facts := filepath.Join(t.TempDir(), "facts.json")
	if err := os.WriteFile(facts, []byte(`{"signature":{"network":"testnet","message":"0x0a","messages":["0x0a","0x0b","0x0c"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Message string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/signatureAggregator/testnet/aggregateSignatures" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		if body.Message == "0c" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"message":"busy: very"}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"signedMessage":"`+body.Message+`ff"}`)
	}))
	t.Cleanup(server.Close)

	code, out, errs := quorate(t, "", "bench", "aggregate", "--url", server.URL, "--facts", facts, "--concurrency", "1", "--json")
	var report bench.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || errs != "" {
		t.Fatalf("exit code %d, %v, stderr %q, stdout %s", code, err, errs, out)
	}
	s := report.Servers[0]
	if s.OK != 2 || s.Failed != 1 || len(s.Errors) != 1 || s.Errors[0].Kind != "503 busy" || !report.Exhausted {
		t.Errorf("%s", out)
	}
	code, out, errs = quorate(t, "", "bench", "aggregate", "--url", server.URL, "--facts", facts, "--concurrency", "2")
	if code != exitDone || errs != "" || !strings.Contains(out, "all 3 messages were asked for") || !strings.Contains(out, "1 times 503 busy") {
		t.Errorf("exit code %d, stderr %q, stdout %s", code, errs, out)
	}

	fails := func(want int, text string, args ...string) {
		t.Helper()
		code, _, errs := quorate(t, "", append([]string{"bench"}, args...)...)
		if code != want || !strings.Contains(errs, text) {
			t.Errorf("%q: exit code %d, stderr %q; want %q", args, code, errs, text)
		}
	}
	fails(exitUsage, "no command given")
	fails(exitUsage, `there is no command "agregate"`, "agregate")
	fails(exitUsage, "--facts is required", "aggregate")
	fails(exitUsage, "must be positive", "aggregate", "--facts", facts, "--concurrency", "0")
	fails(exitUsage, "not on this machine's loopback", "aggregate", "--facts", facts, "--url", "http://192.0.2.1:1")
	fails(exitUsage, `style "snake"`, "aggregate", "--facts", facts, "--style", "snake")
	fails(exitFailed, "no such file", "aggregate", "--facts", facts+"x")
	server.Close()
	fails(exitFailed, "gave not one good answer", "aggregate", "--facts", facts, "--url", server.URL)
}
