package main

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"quorate/devnet"
	"quorate/devnet/torture"
)

// TestResidentMemory: while it indexes and while it answers pages that nobody has asked for
// before, a server takes no more than twice --memory, as its documentation says. Pages of
// files that it maps are not counted: the system takes them back when it needs them.
func TestResidentMemory(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: torture.Pick(300, 4000), TxsPerBlock: 100})
	c, number := cChain(d)
	for i, of := range []struct {
		memory string
		bytes  int
	}{{"256MiB", 256 << 20}, {"1GiB", 1 << 30}} {
		dir := t.TempDir()
		s := startChild(t, d, dir, "--memory", of.memory)
		awaitIndexed(t, s.url, c)
		indexing := s.memory(t)
		s.stop(t) // writes all tables
		s = startChild(t, d, dir, "--memory", of.memory)
		addresses := senders(t, s.url, number, 1000)
		reading := 0
		for n := range torture.Pick(400, 20_000) {
			path := fmt.Sprintf("%s/v1/chains/%s/addresses/%s/transactions?pageSize=100&endBlock=%d", s.url, number, addresses[n%len(addresses)], 10_000_000+n)
			if status, answer := get(t, path); status != http.StatusOK {
				t.Fatalf("%d %s", status, answer)
			}
			if n%50 == 0 {
				reading = max(reading, s.memory(t))
			}
		}
		blocks, most := cacheOf(t, s.url, "quorate_cache_bytes"), cacheOf(t, s.url, "quorate_cache_limit_bytes")
		t.Logf("--memory %s: %d MiB at the end of indexing, at most %d MiB while pages are read, blocks %d of %d MiB",
			of.memory, indexing>>20, reading>>20, blocks>>20, most>>20)
		if got := max(indexing, reading); got > raceFactor*2*of.bytes {
			t.Errorf("--memory %s: %d MiB", of.memory, got>>20)
		}
		if blocks == 0 || blocks > most || most < 20<<20<<(2*i) || most > of.bytes/10 {
			t.Errorf("--memory %s: %d bytes of blocks in a cache of %d", of.memory, blocks, most)
		}
		s.stop(t)
	}
}

// cacheOf returns a metric of the cache of blocks.
func cacheOf(t *testing.T, url, name string) int {
	t.Helper()
	_, rest, _ := bytes.Cut(metricsText(t, url), []byte("\n"+name+`{cache="database_blocks"} `))
	var value float64
	if _, err := fmt.Sscan(string(rest), &value); err != nil {
		t.Fatal(err)
	}
	return int(value)
}
