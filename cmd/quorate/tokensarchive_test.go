package main

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"quorate/devnet"
)

// askedAt is when a contract was asked for a balance: at the height of the answer
// while there is a node, or else the last time that it said something else.
var askedAt = regexp.MustCompile(`,"balanceBlockNumber":"\d+"`)

// TestTokensWithoutNode: what contracts said is in the archive. An index that is made
// again while the node is down says the same of tokens that no event tells.
func TestTokensWithoutNode(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 120, TxsPerBlock: 6})
	odd := r.c.Sample().Odd
	p := r.start(t)
	r.awaitWhole(t, p.url)
	poll(t, 100*time.Millisecond, "the uneven tokens are found and asked", func() bool {
		have := counters(t, p.url)
		return have[`quorate_tokens_uneven{chain="C"}`] > 1 && have[`quorate_tokens_queued{chain="C"}`] == 0 &&
			have[`quorate_tokens_visits_total{chain="C"}`] > 10
	})
	holder := r.c.Sample().Busy.String()
	paths := []string{"/v1/chains/C/addresses/" + holder + "/balances:listErc20?pageSize=500&filterSpamTokens=false"}
	for _, token := range [...]string{odd.Rebasing.String(), odd.Renamed.String(), odd.Wide.String(), odd.Revealed.String()} {
		paths = append(paths, "/v1/chains/C/tokens/"+token+"/transfers?pageSize=100")
	}
	read := func(p *program) (out []string) {
		t.Helper()
		for _, path := range paths {
			status, body := get(t, p.url+path)
			if status != http.StatusOK {
				t.Fatalf("%s: status %d: %s", path, status, body)
			}
			out = append(out, askedAt.ReplaceAllString(string(body), ""))
		}
		return out
	}
	want := read(p)
	p.stop(t)
	r.remove(t, "index")
	r.node.close()
	p = r.start(t)
	r.awaitWhole(t, p.url)
	poll(t, 100*time.Millisecond, "what contracts said is back", func() bool {
		return counters(t, p.url)[`quorate_tokens_uneven{chain="C"}`] > 1
	})
	for i, got := range read(p) {
		if got != want[i] {
			t.Errorf("%s:\nwithout a node %s\nwith it        %s", paths[i], got, want[i])
		}
	}
	p.stop(t)
}
