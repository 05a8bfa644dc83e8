package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/engine/chain"
)

// TestEpochs: a message of a new block is signed for the proposed set and for the
// set of the running epoch before anybody asks; neither the turn of the epoch nor
// a change of the set asks a validator again.
func TestEpochs(t *testing.T) {
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 40, TxsPerBlock: 2})
	c, _ := cChain(d)
	w := d.World()
	weigh := func(i int) uint64 {
		t.Helper()
		h, err := w.Advance(map[int]uint64{i: w.Validators()[i].Weight - uint64(i) - 1})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	epoch := weigh(0)
	if e := w.TurnEpoch(w.CChainID()); e.Height != epoch || e.Number != 2 {
		t.Fatalf("epoch %+v", e)
	}
	proposed := weigh(1)
	p := serveIndexed(t, d)
	poll(t, 20*time.Millisecond, "the epoch's sets are known", func() bool {
		return total(counters(t, p.url), "quorate_valset_epoch_heights") == 1
	})
	requests := func() float64 {
		all := counters(t, p.url)
		return total(all, `quorate_aggregator_requests_total{answer="collected"`) + total(all, `quorate_aggregator_requests_total{answer="reused"`)
	}
	recent := float64(len(sentIn(t, d, 1, c.Tip())))
	poll(t, 20*time.Millisecond, "the messages of the blocks so far are signed", func() bool {
		return counters(t, p.url)["quorate_ahead_signed_total"] >= recent
	})
	before := requests()
	m := newMessage(t, d, c)
	want := before + float64(2*len(sentIn(t, d, c.Tip(), c.Tip())))
	poll(t, 20*time.Millisecond, "the new message is signed for both sets", func() bool {
		return d.MessageRequests(m.msg.ID()) > 0 && requests() >= want && total(counters(t, p.url), "quorate_ahead_waiting") == 0
	})
	asked := d.MessageRequests(m.msg.ID())
	ask := func(what string, height uint64) {
		t.Helper()
		status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x","pChainHeight":%d}`, m.raw, height))
		if status != http.StatusCreated {
			t.Errorf("%s: status %d, %v", what, status, answer)
		}
		if n := d.MessageRequests(m.msg.ID()); n != asked {
			t.Errorf("%s: validators were asked %d times more", what, n-asked)
		}
	}
	ask("for the epoch", epoch)
	ask("for the proposed height", 0)
	w.TurnEpoch(w.CChainID())
	ask("after the turn", proposed)
	next := weigh(2)
	poll(t, 20*time.Millisecond, "the change is known", func() bool {
		return total(counters(t, p.url), "quorate_valset_height") == float64(next)
	})
	ask("after a change of the set", 0)
	ask("for the epoch before", epoch)
	p.stop(t)
}

// TestEpochOfOwnNode: the followed node does not run the L1, whose own is in the chains file: a
// message for the L1 is signed at the height of the epoch that this one says.
func TestEpochOfOwnNode(t *testing.T) {
	t.Parallel()
	d := smallDevnet(t, devnet.Config{L1s: 1, Validators: 5})
	l1, err := chain.ParseID(d.Facts("").EVMChains[1].BlockchainID)
	if err != nil {
		t.Fatal(err)
	}
	w := d.World()
	height, err := w.Advance(map[int]uint64{0: w.Validators()[0].Weight - 1})
	if err != nil {
		t.Fatal(err)
	}
	w.TurnEpoch(l1)
	proposed, err := w.Advance(map[int]uint64{1: w.Validators()[1].Weight - 1})
	if err != nil || proposed == height {
		t.Fatal(proposed, err)
	}
	followed := nodeGate(t, d.NodeURL(), func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/ext/bc/"+l1.String()) {
			http.NotFound(w, r)
			return false
		}
		return true
	})
	p := launch(t, "quorate ready", "serve", "--node-url", followed.URL, "--http-port", "0", "--log-display-level", "error",
		"--data-dir", t.TempDir(), "--chains-file", chainsFile(t, d, "first"))
	c, _ := cChain(d)
	client := &http.Client{Timeout: time.Second}
	body := fmt.Sprintf(`{"message":"%x","destinationBlockchainId":"%s"}`, newMessage(t, d, c).raw, l1)
	poll(t, 20*time.Millisecond, "the message is signed for the L1's epoch", func() bool {
		resp, err := client.Post(p.url+endpoint1, "application/json", strings.NewReader(body))
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode == http.StatusCreated && resp.Header.Get("X-P-Chain-Height") == strconv.FormatUint(height, 10)
	})
	p.stop(t)
}

// total adds up the metrics whose names with labels begin with prefix.
func total(all map[string]float64, prefix string) (sum float64) {
	for name, v := range all {
		if strings.HasPrefix(name, prefix) {
			sum += v
		}
	}
	return sum
}
