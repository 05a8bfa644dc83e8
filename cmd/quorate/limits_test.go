package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"quorate/devnet"
)

// TestKeysAndRates: a key made by quorate key opens a server that asks for one,
// and raises the rate; without one the rate is limited as told.
func TestKeysAndRates(t *testing.T) {
	t.Parallel()
	code, out, errs := quorate(t, "", "key", "acme", "--tier", "partner")
	m := regexp.MustCompile(`(?s)now: (\S+)\n.*\n( +- \{.*\})\n`).FindStringSubmatch(out)
	if code != 0 || m == nil {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	text := "tiers:\n  - {name: partner, unitsPerMinute: 60000}\nkeys:\n" + m[2] + "\n"
	if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startNetwork(t, devnet.Config{Blocks: 20})
	serve := func(args ...string) string {
		return serveIndexed(t, d, append([]string{"--api-keys-file", keys, "--rate-limit", "on", "--rate-limit-units", "60"}, args...)...).url
	}
	get := func(url, key string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/chains/43112/transactions", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("x-service-api-key", key)
		}
		resp, err := new(http.Client).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp
	}
	closed, open := serve("--require-api-key"), serve()
	for key, want := range map[string]int{"": 401, "another": 401, m[1]: 200} {
		if resp := get(closed, key); resp.StatusCode != want {
			t.Errorf("key %q: status %d, want %d", key, resp.StatusCode, want)
		}
	}
	var last *http.Response
	for range 4 { // of 20 units each
		last = get(open, "")
	}
	if last.StatusCode != 429 || last.Header.Get("Retry-After") == "" {
		t.Errorf("above the rate: status %d, headers %v", last.StatusCode, last.Header)
	}
	if resp := get(open, m[1]); resp.StatusCode != 200 {
		t.Errorf("with a key: status %d", resp.StatusCode)
	}
}

func TestNamedChain(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/chains/43112/transactions": "43112", "/v2/chains/5/metrics/txCount": "5", "/v1/avg_tps/7": "7",
		"/v1/chains": "", "/v1/networks/5/subnets": "", "/": "",
	} {
		if got := (chains{}).named([]byte(path)); got != want {
			t.Errorf("%s names %q, want %q", path, got, want)
		}
	}
}
