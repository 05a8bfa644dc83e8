package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
		return serveIndexed(t, d, append([]string{"--api-keys-file", keys, "--rate-limit", "on", "--limits", "rate-limit-units=20"}, args...)...).url
	}
	get := func(url, key string) (int, http.Header) {
		t.Helper()
		status, header, _ := ask(t, http.MethodGet, url+"/v1/chains/43112/transactions", "", "x-service-api-key", key)
		return status, header
	}
	closed, open := serve("--require-api-key"), serve()
	for key, want := range map[string]int{"": 401, "another": 401, m[1]: 200} {
		if status, _ := get(closed, key); status != want {
			t.Errorf("key %q: status %d, want %d", key, status, want)
		}
	}
	var status int
	var header http.Header
	for range 4 { // of 20 units each
		status, header = get(open, "")
	}
	if status != 429 || header.Get("Retry-After") == "" {
		t.Errorf("above the rate: status %d, headers %v", status, header)
	}
	if status, _ := get(open, m[1]); status != 200 {
		t.Errorf("with a key: status %d", status)
	}
	noWayRound(t, closed, open)
}

// noWayRound fails unless signing for relayers and chain RPC need a key where one is
// required, and have a rate, which is used up, as everything else has.
func noWayRound(t *testing.T, closed, open string) {
	t.Helper()
	post := func(url, body string) int {
		t.Helper()
		status, _, _ := ask(t, http.MethodPost, url, body)
		return status
	}
	for path, body := range map[string]string{
		"/aggregate-signatures": `{"message":"00"}`,
		"/ext/bc/C/rpc":         `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`,
	} {
		if status := post(closed+path, body); status != 401 {
			t.Errorf("%s without a key: status %d", path, status)
		}
		limited := false
		for range 30 {
			limited = limited || post(open+path, body) == 429
		}
		if !limited {
			t.Errorf("%s: 30 requests passed a rate of 20 units a minute", path)
		}
	}
}

// TestAutoRate: rates apply wherever others than this machine can ask.
func TestAutoRate(t *testing.T) {
	t.Parallel()
	f := func(off bool, host string, l limitFlags) {
		t.Helper()
		if got := l.off(host); got != off {
			t.Errorf("%s, %+v: off %v, want %v", host, l, got, off)
		}
	}
	f(true, "127.0.0.1", limitFlags{rate: "auto"})
	f(true, "::1", limitFlags{rate: "auto"})
	f(true, "localhost", limitFlags{rate: "auto"})
	f(false, "0.0.0.0", limitFlags{rate: "auto"})
	f(false, "", limitFlags{rate: "auto"})
	f(false, "192.0.2.1", limitFlags{rate: "auto"})
	f(false, "127.0.0.1", limitFlags{rate: "auto", proxies: []string{"127.0.0.1"}})
	f(true, "127.0.0.1", limitFlags{rate: "off", proxies: []string{"127.0.0.1"}})
	f(true, "0.0.0.0", limitFlags{rate: "off"})
	f(false, "127.0.0.1", limitFlags{rate: "on"})
}

// TestLimitUsage: what cannot be meant is wrong usage.
func TestLimitUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"key"}, {"key", "a", "b"},
		{"serve", "--devnet", "--limits", "rate-limit-units=0"},
		{"serve", "--devnet", "--limits", "rate-limit-units=-5"},
	} {
		if code, _, errs := quorate(t, "", args...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}

// TestBrokenKeys: at the first start there are no keys from before that could stay
// in force, and nothing says so.
func TestBrokenKeys(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte("tiers: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := quorate(t, "", "serve", "--devnet", "--data-dir", t.TempDir(), "--http-port", "0", "--api-keys-file", keys)
	if code != exitFailed || !strings.Contains(errs, "API keys: "+keys) || strings.Contains(errs, "in force") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
