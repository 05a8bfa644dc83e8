package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmrpc"
)

// firstBlock returns the first block that a server's lists of the C-Chain show.
func firstBlock(t *testing.T, url string) uint64 {
	t.Helper()
	return uint64(counters(t, url)[`quorate_index_first_block{chain="C"}`])
}

// awaitFirst waits until the lists of a server's C-Chain begin with a block.
func awaitFirst(t *testing.T, url string, first uint64) {
	t.Helper()
	poll(t, 20*time.Millisecond, fmt.Sprint("lists begin with block ", first), func() bool { return firstBlock(t, url) == first })
}

// awaitSummed waits until nothing is missing of a server's C-Chain.
func awaitSummed(t *testing.T, url, number string) {
	t.Helper()
	poll(t, 50*time.Millisecond, "sums begin with the first block", func() bool {
		_, body := get(t, url+"/v1/chains/C")
		status, _ := get(t, url+"/v2/chains/"+number+"/metrics/cumulativeTxCount?timeInterval=day")
		return !strings.Contains(string(body), `"gaps"`) && status == http.StatusOK
	})
}

// walkTxs returns the hashes of all pages of a list of transactions.
func walkTxs(t *testing.T, list string, between func()) (hashes []string) {
	t.Helper()
	for token := ""; ; between() {
		status, body := get(t, list+token)
		var page struct {
			Next         string `json:"nextPageToken"`
			Transactions []struct {
				Native struct {
					TxHash string `json:"txHash"`
				} `json:"nativeTransaction"`
			} `json:"transactions"`
		}
		if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", list, status, err, body)
		}
		for _, tx := range page.Transactions {
			hashes = append(hashes, tx.Native.TxHash)
		}
		if token = "&pageToken=" + page.Next; page.Next == "" {
			return hashes
		}
	}
}

// erc20 returns what an address holds of ERC-20 tokens, and how often the answer says
// that contracts said so.
func erc20(t *testing.T, url, holder string) (held map[string]string, said int) {
	t.Helper()
	status, body := get(t, url+"/v1/chains/C/addresses/"+holder+"/balances:listErc20?pageSize=500&filterSpamTokens=false")
	var page struct {
		Balances []struct {
			Address string `json:"address"`
			Balance string `json:"balance"`
			Source  string `json:"balanceSource"`
		} `json:"erc20TokenBalances"`
	}
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	held = map[string]string{}
	for _, b := range page.Balances {
		held[b.Address] = b.Balance
		if b.Source == "contract" {
			said++
		}
	}
	return held, said
}

// TestOlderBlocks: the start block of a folder is lowered, and then no longer named.
// Lists grow downwards, with pages that are read meanwhile; sums say that they lack
// blocks until the first one is there; a node that is lost and blocks that are given
// up at the head change nothing. In the end the folder is that of a server that began
// with the first block.
func TestOlderBlocks(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 200, TxsPerBlock: 2})
	facts := r.d.Facts("")
	_, number := cChain(r.d)
	cumulative := "/v2/chains/" + number + "/metrics/cumulativeTxCount?timeInterval=day"
	r.args = []string{"--start-block", "latest-20"}
	p := r.start(t)
	r.awaitWhole(t, p.url)
	above, said := erc20(t, p.url, facts.Address)
	if said == 0 || said != len(above) {
		t.Errorf("contracts said %d of %d balances", said, len(above))
	}
	p.stop(t)

	// Three blocks at the head are given up meanwhile.
	r.d.SetEVMTraits(r.c.Config().ID, evmrpc.Traits{Unaccepted: 3, NoFinalized: true})
	r.args = []string{"--start-block", "100"}
	p = r.start(t)
	poll(t, 20*time.Millisecond, "blocks that are not accepted are indexed", func() bool { return indexed(t, p.url, number) == r.c.Tip()+3 })
	r.d.SetEVMTraits(r.c.Config().ID, evmrpc.Traits{})
	advance(r.c, 10)
	awaitFirst(t, p.url, 100)
	r.awaitWhole(t, p.url)
	if status, body := get(t, p.url+"/v1/chains"); status != http.StatusOK ||
		!strings.Contains(string(body), `"kind":"below-start","fromBlock":"0","toBlock":"99"`) ||
		!strings.Contains(string(body), `"kind":"unsummed","fromBlock":"100","toBlock":"179"`) {
		t.Errorf("status %d: %s", status, body)
	}
	for path, want := range map[string]int{
		"/v1/chains/C/blocks/100/transactions": http.StatusOK, "/v1/chains/C/blocks/99/transactions": http.StatusNotFound,
		"/v1/chains/C/addresses/" + facts.Address + "/balances:getNative?blockNumber=99": http.StatusNotFound,
	} {
		if status, body := get(t, p.url+path); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, body)
		}
	}
	// After a rewind metrics are not there for a while.
	if status, body := get(t, p.url+cumulative); status != http.StatusNotFound && status != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", status, body)
	}
	p.stop(t)

	r.args = nil
	p = r.start(t)
	r.node.close() // for a while
	list := p.url + "/v1/chains/C/transactions?pageSize=12&startBlock=1&endBlock=180"
	lost := true
	descending := walkTxs(t, list, func() {
		if lost {
			r.node, lost = r.node.reopen(t), false
		}
	})
	ascending := walkTxs(t, list+"&sortOrder=asc", func() {})
	awaitFirst(t, p.url, 0)
	r.awaitWhole(t, p.url)
	all := walkTxs(t, list, func() {})
	if len(descending) < len(all)/3 || !slices.Equal(descending, all[:len(descending)]) {
		t.Errorf("of %d transactions the walk downwards had %d, not the first ones", len(all), len(descending))
	}
	slices.Reverse(ascending)
	if !slices.Equal(ascending, all[:len(ascending)]) {
		t.Errorf("of %d transactions the walk upwards had %d, not the last ones", len(all), len(ascending))
	}
	p.stop(t)
	p = r.start(t)
	awaitSummed(t, p.url, number)
	r.awaitWhole(t, p.url)
	below, said := erc20(t, p.url, facts.Address)
	for token, amount := range above {
		if below[token] == "" {
			t.Errorf("of token %s it held %s, and nothing of it now", token, amount)
		}
	}
	if said == len(below) {
		t.Errorf("contracts said all %d balances", said)
	}
	p.stop(t)
	want := honestDigest(t, r.d, r.c)
	if digest(t, r.dir, r.c) != want {
		t.Error("the index is another one")
	}
	if r.withoutNode(t) != want {
		t.Error("made from the archive the index is another one")
	}
}

// TestKillOlder: however often the server is killed while it fetches older blocks and
// makes sums again, its database ends as that of one that began with the first block.
func TestKillOlder(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills, step := killCount(t, 50), 20
	d := startNetwork(t, devnet.Config{Blocks: step * (kills + 2), TxsPerBlock: 2})
	c, number := cChain(d)
	dir, rnd := t.TempDir(), rand.New(rand.NewPCG(uint64(kills), 6))
	serve := func(start int) *child {
		return startChild(t, d, dir, "--start-block", fmt.Sprint(start), "--log-display-level", "fatal")
	}
	server := serve(step * (kills + 1))
	awaitIndexed(t, server.url, c)
	server.stop(t)
	for n := range kills {
		server = serve(step * (kills - n - 1)) // the last one reaches the first block
		<-time.After(time.Duration(rnd.IntN(400)) * time.Millisecond)
		server.kill(t)
	}
	server = serve(0)
	awaitSummed(t, server.url, number)
	awaitIndexed(t, server.url, c)
	server.stop(t)
	want := honestDigest(t, d, c)
	if digest(t, dir, c) != want || fromArchive(t, dir, c) != want {
		t.Errorf("after %d kills the database is another one", kills)
	}
}

// TestStartBlockMessages: what a start block does to a folder that has blocks is said.
func TestStartBlockMessages(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 60, TxsPerBlock: 1})
	c, _ := cChain(d)
	dir := t.TempDir()
	for _, run := range []struct {
		args  []string
		first uint64
		says  string // "" for nothing
	}{
		{[]string{"--start-block", "40"}, 40, ""},
		{[]string{"--start-block", "40"}, 40, ""},
		{[]string{"--start-block", "50"}, 40, "goes on as it was begun"},
		{[]string{"--start-block", "latest-5"}, 40, "goes on as it was begun"},
		{[]string{"--start-block", "70"}, 40, "has not reached its start block"},
		{[]string{"--start-block", "30", "--archive-keep", "10"}, 40, "the archive keeps only the newest ones"},
		{[]string{"--start-block", "30"}, 30, ""},
		{nil, 0, ""},
		{[]string{"--start-block", "30"}, 0, "goes on as it was begun"},
	} {
		server := serveIn(t, d, dir, run.args...)
		awaitIndexed(t, server.url, c)
		awaitFirst(t, server.url, run.first)
		if run.says != "" {
			poll(t, 10*time.Millisecond, fmt.Sprint(run.args, " says: ", run.says), func() bool { return strings.Contains(server.stderr.String(), run.says) })
		}
		server.stop(t)
		if said := server.stderr.String(); run.says == "" && strings.Contains(said, "start block") {
			t.Errorf("%v: %s", run.args, said)
		}
	}
}

// TestKeptFrom: the archive of a folder that had none is filled from the head down, as
// far as it is kept, and further when more is to be kept.
func TestKeptFrom(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 60, TxsPerBlock: 1})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	p.stop(t)
	want := digest(t, r.dir, r.c)
	r.remove(t, "archive")
	first := func(keep string, want uint64) {
		t.Helper()
		r.args = []string{"--archive-keep", keep}
		p := r.start(t)
		r.awaitWhole(t, p.url)
		poll(t, 20*time.Millisecond, fmt.Sprintf("the archive that keeps %s begins with block %d", keep, want), func() bool {
			return counters(t, p.url)[`quorate_archive_first_block{chain="C"}`] == float64(want)
		})
		p.stop(t)
	}
	first("30", 31)
	first("40", 21)
	first("1GiB", 0)
	if digest(t, r.dir, r.c) != want || fromArchive(t, r.dir, r.c) != want {
		t.Error("the index or the archive is another one")
	}
}
