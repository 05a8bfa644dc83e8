package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/nodeapi"
	"quorate/devnet/world"
)

// TestPrimaryFuture: a network goes on by rules that this release does not know. The indexes
// of the P- and the X-Chain stand before the first block that cannot be read, each by itself;
// health, pages and answers say where, since when, and what a release needs; the log says it
// once; all else goes on, and so do the chains when their blocks can be read.
func TestPrimaryFuture(t *testing.T) {
	campaign(t)
	t.Parallel()
	const p, x = 151, 20
	for name, noIndex := range map[string]bool{"with an index": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startNetwork(t, devnet.Config{Blocks: 60, Validators: 2, PrimaryBlocks: 240, HeightInterval: time.Hour, BlockInterval: time.Hour})
			traits := nodeapi.PrimaryTraits{
				NoIndex: noIndex, FutureP: p, FutureX: x, Version: "avalanchego/1.16.0",
				Upgrades: map[string]time.Time{"avogadroTime": time.Unix(1_700_000_000, 0), "zetaTime": time.Now().Add(1000 * time.Hour)},
			}
			d.Node(0).SetPrimaryTraits(traits)
			dir := t.TempDir()
			_, out, _ := quorate(t, "", "serve", "--check=nodes", "--node-url", d.NodeURL(), "--data-dir", dir, "--http-port", "0")
			for _, want := range []string{"avogadro of 2023-11-14T22:13:20Z", "zeta of 20"} {
				if !strings.Contains(out, "knows the upgrade "+want) {
					t.Errorf("--check=nodes does not say %q:\n%s", want, out)
				}
			}
			args := []string{"--health-check-frequency", "250ms", "--genesis-file", fmt.Sprintf("%d=%s", world.NetworkID, writeFile(t, "genesis", fmt.Sprintf("%x", d.Genesis())))}
			stands := func(c *child) {
				t.Helper()
				// What a release needs, and which upgrades are announced, is known when the nodes
				// have been asked, which may be after a chain has met the block.
				poll(t, 50*time.Millisecond, "the chains stand, and what they need is known", func() bool {
					health := healthOf(t, c.url)
					if upgrades := health.Checks["upgrades"]; upgrades.Error == "" || !strings.Contains(string(upgrades.Message), "zeta") {
						return false
					}
					stands := func(chain string) bool {
						said := health.Checks[chain].Error
						return strings.Contains(said, "stands at block") && strings.Contains(said, "knows avalanchego")
					}
					return stands("P") && stands("X")
				})
				health := healthOf(t, c.url)
				for chain, from := range map[string]int{"P": p, "X": x} {
					said := health.Checks[chain].Error
					for _, part := range []string{
						fmt.Sprintf("the index stands at block %d since 20", from-1), fmt.Sprintf("block %d (", from), "type not allowed: 99",
						"knows avalanchego 1.16.0 and upgrade avogadro of 2023-11-14",
					} {
						if !strings.Contains(said, part) {
							t.Errorf("%s: %q lacks %q", chain, said, part)
						}
					}
					if strings.Contains(said, "bytes after the end") {
						t.Errorf("%s: %q", chain, said)
					}
					path := "/v1/networks/fuji/blockchains/" + strings.ToLower(chain) + "-chain/blocks?pageSize=1"
					gaps, height := standingOf(t, c.url+path)
					if want := fmt.Sprintf("unreadable %d-", from); !strings.HasPrefix(gaps, want) || !strings.Contains(gaps, `needs="avalanchego 1.16.0`) || height != fmt.Sprint(from-1) {
						t.Errorf("%s: %q at %s, want %q", chain, gaps, height, want)
					}
					if !noIndex && !strings.Contains(gaps, "; time=20") {
						t.Errorf("%s: %q has no time", chain, gaps)
					}
					if _, page := get(t, c.url+"/primary/"+strings.ToLower(chain)); !strings.Contains(string(page), "cannot be read by this release of Quorate") {
						t.Errorf("%s: the page does not say it", chain)
					}
				}
				if said := health.Checks["upgrades"].Error; !strings.Contains(said, "avogadro came at 2023-11-14T22:13:20Z") || strings.Contains(said, "zeta") {
					t.Errorf("upgrades: %q", said)
				}
				if message := string(health.Checks["upgrades"].Message); !strings.Contains(message, "zeta comes at 20") {
					t.Errorf("upgrades: %s", message)
				}
				if said := health.Checks["C"].Error; said != "" {
					t.Errorf("C: %s", said)
				}
				poll(t, 50*time.Millisecond, "two chains are stopped on the first page", func() bool { // which is kept for a moment
					_, page := browse(t, c.url+"/", nil)
					return strings.Count(page, ">stopped<") == 2
				})
				if status, signed, err := c.ask(d, 1); err != nil || status != http.StatusCreated || signed == "" {
					t.Errorf("a message: %d, %v", status, err)
				}
			}
			c := startChild(t, d, dir, args...)
			stands(c)
			log := c.stderr.String()
			if n := strings.Count(log, "stands still"); n != 2 {
				t.Errorf("%d lines that a chain stands still", n)
			}
			for _, none := range []string{"does not answer as it should", "answers again", "not the chain's"} {
				if strings.Contains(log, none) {
					t.Errorf("the log blames the node: %q in\n%s", none, log)
				}
			}
			c.stop(t)
			// A release that knows the blocks.
			c = startChild(t, d, dir, args...)
			stands(c)
			traits.FutureP, traits.FutureX = 0, 0
			d.Node(0).SetPrimaryTraits(traits)
			poll(t, 50*time.Millisecond, "all is indexed", func() bool {
				have, tips := counters(t, c.url), primaryTips(d)
				return have[`quorate_index_height{chain="P"}`] == tips["P"] && have[`quorate_index_height{chain="X"}`] == tips["X"]
			})
			poll(t, 50*time.Millisecond, "the chains are well", func() bool {
				health := healthOf(t, c.url)
				return health.Checks["P"].Error == "" && health.Checks["X"].Error == ""
			})
			c.stop(t)
		})
	}
}

// standingOf returns what the headers of an answer say of the chain's gaps, and how far its index is.
func standingOf(t *testing.T, url string) (gaps, height string) {
	t.Helper()
	_, header, _ := ask(t, http.MethodGet, url, "")
	return header.Get("X-Chain-Gaps"), header.Get("X-Indexed-Height")
}
