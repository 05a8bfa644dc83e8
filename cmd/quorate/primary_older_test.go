package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
	"quorate/devnet/world"
)

// listedBlocks walks through the blocks of a chain of the primary network, and returns
// how many there are and the last of them.
func listedBlocks(t *testing.T, url, chain string) (count int, last uint64) {
	t.Helper()
	for token := ""; ; {
		status, body := get(t, url+"/v1/networks/fuji/blockchains/"+chain+"/blocks?pageSize=100"+token)
		var page struct {
			Next   string `json:"nextPageToken"`
			Blocks []struct {
				Number uint64 `json:"blockNumber,string"`
			} `json:"blocks"`
		}
		if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v: %s", status, err, body)
		}
		if count += len(page.Blocks); len(page.Blocks) > 0 {
			last = page.Blocks[len(page.Blocks)-1].Number
		}
		if token = "&pageToken=" + page.Next; page.Next == "" {
			return count, last
		}
	}
}

var anyToken = regexp.MustCompile(`"nextPageToken":"[^"]*"`)

// awaitBegun waits until the rows of a chain of the primary network begin with a block.
func awaitBegun(t *testing.T, url, chain string, first float64) {
	t.Helper()
	poll(t, 20*time.Millisecond, fmt.Sprintf("%s begins with block %v", chain, first), func() bool {
		at, ok := counters(t, url)[`quorate_index_first_block{chain="`+chain+`"}`]
		return ok && at == first
	})
}

// TestPrimaryOlderBlocks: the primary network is followed from late blocks on, then from
// earlier ones, and in the end from the first, by servers that are killed meanwhile.
// Lists grow; what follows from all before is missing, with the reason, until the first
// block is there; then answers and rows are those of a server that began with it.
func TestPrimaryOlderBlocks(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{
		Blocks: 5, Validators: 2, PrimaryBlocks: torture.Pick(240, 3000), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	genesis := []string{"--genesis-file", fmt.Sprintf("%d=%s", world.NetworkID, writeFile(t, "genesis", fmt.Sprintf("%x", d.Genesis())))}
	// What follows from all blocks, each with what the answer is of a server without them.
	whole := []struct {
		path   string
		lacked int
	}{
		{"/v2/networks/fuji/metrics/pChainCumulativeFeesBurned", http.StatusNotFound},
		{"/v2/networks/fuji/metrics/xChainCumulativeFeesBurned", http.StatusNotFound},
		{"/v2/networks/fuji/metrics/validatorCount", http.StatusNotFound},
		{"/v1/networks/fuji/delegators?pageSize=100", http.StatusOK},
		{"/v1/networks/fuji/subnets", http.StatusOK},
		{"/v1/networks/fuji/blockchains/p-chain/blocks?pageSize=3", http.StatusOK}, // with the supply
	}
	ask := func(url string, i int) (int, []byte) {
		t.Helper()
		status, body := get(t, url+whole[i].path)
		return status, anyToken.ReplaceAll(body, nil) // of a server's own key
	}
	run := func(dir string, do func(url string), args ...string) {
		t.Helper()
		p := serveIn(t, d, dir, append(args, "--log-display-level", "fatal")...)
		awaitPrimary(t, d, p.url)
		do(p.url)
		p.stop(t)
	}
	honest, dir := t.TempDir(), t.TempDir()
	answers := make([][]byte, len(whole))
	run(honest, func(url string) {
		for i, w := range whole {
			status, body := ask(url, i)
			if answers[i] = body; status != http.StatusOK {
				t.Errorf("%s: status %d: %s", w.path, status, body)
			}
		}
	}, genesis...)
	want, tips := primaryDigests(t, d, honest), primaryTips(d)

	lacks := func(url string) {
		t.Helper()
		for i, w := range whole {
			if status, body := ask(url, i); status != w.lacked || bytes.Equal(body, answers[i]) {
				t.Errorf("%s: status %d, want %d: %s", w.path, status, w.lacked, body)
			}
		}
	}
	grown := func(url string, first map[string]float64) {
		t.Helper()
		for name, path := range map[string]string{"P": "p-chain", "X": "x-chain"} {
			awaitBegun(t, url, name, first[name])
			if count, last := listedBlocks(t, url, path); float64(last) != first[name] || float64(count) != tips[name]-first[name]+1 {
				t.Errorf("%s: %d blocks, the last is %d, want those from %v on", name, count, last, first[name])
			}
		}
	}
	late := map[string]float64{"P": tips["P"] - 20, "X": tips["X"] - 20}
	run(dir, func(url string) {
		grown(url, late)
		lacks(url)
	}, append(genesis, "--start-block", "latest-20")...)
	next := math.Floor(min(late["P"], late["X"]) / 2)
	run(dir, func(url string) {
		grown(url, map[string]float64{"P": next, "X": next})
		lacks(url)
	}, "--start-block", fmt.Sprint(next))
	rnd := rand.New(rand.NewPCG(7, 11))
	for range killCount(t, 30) {
		killAfter(t, d, dir, time.Duration(rnd.Int64N(int64(2*time.Second))))
	}
	run(dir, func(url string) { // the genesis is known from the folder
		grown(url, map[string]float64{"P": 0, "X": 0})
		for i, w := range whole {
			if status, body := ask(url, i); status != http.StatusOK || !bytes.Equal(body, answers[i]) {
				t.Errorf("%s: status %d: %s\nwant %s", w.path, status, body, answers[i])
			}
		}
	})
	for name, sum := range primaryDigests(t, d, dir) {
		if sum != want[name] {
			t.Errorf("the rows of %s are others", name)
		}
	}
	said, _ := mustCommand(t, nil, "check", "--data-dir", dir)
	for _, name := range []string{"p", "x", "vertices", "c"} {
		if !bytes.Contains(said, []byte("chain network-12345-"+name+": ")) {
			t.Errorf("check does not compare %s:\n%s", name, said)
		}
	}
}
