package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestReady: a node that is away, and a chain that stands still, do not make a server useless
// for reads: health is red, and readiness is not. It is red while the index is behind what its
// node has, and before a stop, during which all is answered.
func TestReady(t *testing.T) {
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Validators: 3, Blocks: 30, TxsPerBlock: 2})
	r.args = []string{"--health-check-frequency", "50ms", "--drain", "1s"}
	p := r.start(t)
	r.awaitWhole(t, p.url)
	status := func(path string) int {
		code, _ := get(t, p.url+path)
		return code
	}
	for _, path := range []string{"/ready", "/readyz", "/livez", "/ready?sign=fuji"} {
		if code, body := get(t, p.url+path); code != http.StatusOK || string(body) != `{"status":"up"}` {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	poll(t, 20*time.Millisecond, "health is green", func() bool { return status("/healthz") == http.StatusOK })
	if code, body := get(t, p.url+"/ready?sign=mainnet"); code != http.StatusServiceUnavailable || !strings.Contains(string(body), "no such network") {
		t.Errorf("a network that is not followed: %d %s", code, body)
	}
	if code := status("/ready?sign=x"); code != http.StatusBadRequest {
		t.Errorf("no network: %d", code)
	}
	r.node.close()
	poll(t, 20*time.Millisecond, "health is red", func() bool { return status("/health") == http.StatusServiceUnavailable })
	if code, body := get(t, p.url+"/ready"); code != http.StatusOK {
		t.Errorf("without a node: %d %s", code, body)
	}
	if code := status("/v1/chains/C/transactions"); code != http.StatusOK {
		t.Errorf("a page without a node: %d", code)
	}
	p.cancel()
	poll(t, 10*time.Millisecond, "readiness is red before the stop", func() bool { return status("/ready") == http.StatusServiceUnavailable })
	if code := status("/v1/chains/C/transactions"); code != http.StatusOK {
		t.Errorf("a page while the server waits for its stop: %d", code)
	}
	p.stop(t)
}
