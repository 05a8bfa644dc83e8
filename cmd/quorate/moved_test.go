package main

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"quorate/devnet"
)

var txHashes = regexp.MustCompile(`"txHash":"0x[0-9a-f]+"`)

// TestMovedFolder: a data folder that is used with a node at another address, which does
// not answer, is served at once, and followed on when that node comes.
func TestMovedFolder(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 30, TxsPerBlock: 2})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	const page = "/v1/chains/C/transactions?startBlock=5&endBlock=30"
	read := func(url string) (int, string) {
		status, body := get(t, url+page)
		// What contracts call themselves is known some time after their blocks.
		return status, fmt.Sprintf("%s", txHashes.FindAll(body, -1))
	}
	_, want := read(p.url)
	p.stop(t)

	r.node.close()
	r.node = newPit(t, r.d.NodeURL(), passing) // elsewhere
	r.node.close()
	p = r.start(t)
	poll(t, 50*time.Millisecond, "the chain is served", func() bool {
		status, _ := read(p.url)
		return status == http.StatusOK
	})
	if _, got := read(p.url); got != want {
		t.Errorf("%.500s\nbefore: %.500s", got, want)
	}
	if said := healthOf(t, p.url).Checks["C"].Error; said == "" {
		t.Error("health does not say that the node is down")
	}
	r.node = r.node.reopen(t)
	advance(r.c, 5)
	r.awaitWhole(t, p.url)
	awaitHealth(t, p.url, http.StatusOK)
	p.stop(t)
}
