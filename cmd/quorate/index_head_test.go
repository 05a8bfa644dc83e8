package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/validator"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

// sent is a warp message that a block of the devnet sends.
type sent struct {
	tx  evm.Hash
	raw []byte
	msg *warp.Unsigned
}

// sentIn reads the warp messages of the blocks from..to from the node.
func sentIn(t *testing.T, d *devnet.Devnet, from, to uint64) (out []sent) {
	t.Helper()
	c, _ := cChain(d)
	return sentBy(t, chainClient(t, d, c), from, to)
}

func sentBy(t testing.TB, client *evmsource.Client, from, to uint64) (out []sent) {
	t.Helper()
	blocks, err := client.Fetch(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		for i := range b.Txs {
			for k := range b.Txs[i].Logs {
				raw, ok := index.WarpMessage(&b.Txs[i].Logs[k])
				if !ok {
					continue
				}
				msg, err := warp.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, sent{b.Txs[i].Hash, raw, msg})
			}
		}
	}
	return out
}

// newMessage lets the chain grow until a block sends a warp message.
func newMessage(t *testing.T, d *devnet.Devnet, c *evmchain.Chain) sent {
	t.Helper()
	client := chainClient(t, d, c)
	for range 2000 {
		c.Advance()
		if list := sentBy(t, client, c.Tip(), c.Tip()); len(list) > 0 {
			return list[0]
		}
	}
	t.Fatal("no warp message in 2000 blocks")
	return sent{}
}

// allRequests returns the number of signature requests that validators got.
func allRequests(d *devnet.Devnet) (n uint64) {
	for i := range d.World().Validators() {
		n += d.RequestCount(i)
	}
	return n
}

// signedOf asks for the signed message of a transaction.
func signedOf(t *testing.T, url string, tx evm.Hash) (status int, signed string) {
	t.Helper()
	status, body := get(t, url+endpoint1+"/"+tx.String())
	var answer struct {
		SignedMessage string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return status, answer.SignedMessage
}

// serveIndexed starts a server that has caught up with the C-Chain.
func serveIndexed(t *testing.T, d *devnet.Devnet, args ...string) *program {
	t.Helper()
	p := launch(t, "quorate ready", append([]string{"serve", "--node-url", d.NodeURL(), "--http-port", "0",
		"--data-dir", t.TempDir(), "--log-display-level", "error"}, args...)...)
	c, _ := cChain(d)
	awaitIndexed(t, p.url, c)
	return p
}

// TestSignAhead: the message of a new block is signed before it is asked for, so
// that asking for it, by its bytes or by its transaction, asks no validator.
func TestSignAhead(t *testing.T) {
	campaign(t)
	const blocks = 300
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: blocks, TxsPerBlock: 2})
	c, _ := cChain(d)
	p := serveIndexed(t, d)
	// Of the history only what is recent is signed ahead.
	recent := sentIn(t, d, blocks-256, blocks)
	poll(t, 100*time.Millisecond, "the recent messages are signed", func() bool {
		return counters(t, p.url)["quorate_ahead_signed_total"] >= float64(len(recent))
	})
	old := sentIn(t, d, 1, blocks-257)
	if len(old) == 0 || len(recent) == 0 {
		t.Fatalf("%d old messages, %d recent ones: the chain is too short", len(old), len(recent))
	}

	m := newMessage(t, d, c)
	poll(t, 20*time.Millisecond, "the new message is signed", func() bool {
		have := counters(t, p.url)
		return have["quorate_ahead_signed_total"] >= float64(len(recent)+1) && have["quorate_ahead_waiting"] == 0
	})
	if d.MessageRequests(m.msg.ID()) == 0 {
		t.Error("no validator was asked for the new message")
	}
	asked := allRequests(d)
	status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, m.raw))
	byBytes, _ := answer["signedMessage"].(string)
	statusByTx, byTx := signedOf(t, p.url, m.tx)
	if status != http.StatusCreated || statusByTx != http.StatusCreated || strings.TrimPrefix(byBytes, "0x") != strings.TrimPrefix(byTx, "0x") {
		t.Errorf("status %d by its bytes and %d by its transaction, the same answer: %v", status, statusByTx, byBytes == byTx)
	}
	if err := newJudge(t, d).valid(byTx, m.msg, 67); err != nil {
		t.Error(err)
	}
	if n := allRequests(d); n != asked {
		t.Errorf("validators were asked %d times for what was signed ahead", n-asked)
	}
	for _, o := range old {
		if n := d.MessageRequests(o.msg.ID()); n != 0 {
			t.Errorf("a message of long ago was signed ahead: %d requests", n)
		}
	}
	p.stop(t)
}

// TestSignAheadOff: with the flag nothing is signed before it is asked for.
func TestSignAheadOff(t *testing.T) {
	campaign(t)
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 100, TxsPerBlock: 4})
	c, number := cChain(d)
	p := serveIndexed(t, d, "--sign-ahead=false")
	m := newMessage(t, d, c)
	awaitIndexed(t, p.url, c)
	if status, body := get(t, p.url+"/v1/chains/"+number+"/transactions/"+m.tx.String()); status != http.StatusOK {
		t.Errorf("the transaction: status %d, %s", status, body)
	}
	if n := allRequests(d); n != 0 {
		t.Errorf("validators were asked %d times before anyone asked us", n)
	}
	status, signed := signedOf(t, p.url, m.tx)
	if err := newJudge(t, d).valid(signed, m.msg, 67); status != http.StatusCreated || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	if n := d.MessageRequests(m.msg.ID()); n == 0 {
		t.Error("no validator was asked for what is signed")
	}
	if n := counters(t, p.url)["quorate_ahead_signed_total"]; n != 0 {
		t.Errorf("%v messages were signed ahead", n)
	}
	p.stop(t)
}

// TestSignAheadBounded: when no validator answers, some few messages are being
// signed and the others wait, whatever number blocks send; what a client asks
// for does not wait behind them.
func TestSignAheadBounded(t *testing.T) {
	campaign(t)
	silent := make(map[int]devnet.Behaviour)
	for i := range 5 {
		silent[i] = validator.Silent
	}
	const blocks, atOnce, room = 100, 4, 1024
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: blocks, TxsPerBlock: 8, Behaviours: silent})
	p := serveIndexed(t, d, "--limits", "request-timeout=60s")
	messages := sentIn(t, d, 1, blocks)
	poll(t, 100*time.Millisecond, "messages are being signed", func() bool {
		return allRequests(d) >= atOnce
	})
	have := counters(t, p.url)
	if n := have["quorate_ahead_waiting"]; n > room || len(messages) < 2*atOnce {
		t.Errorf("%v of %d messages wait", n, len(messages))
	}
	begun := 0
	for _, m := range messages {
		if d.MessageRequests(m.msg.ID()) > 0 {
			begun++
		}
	}
	// Those given up meanwhile have made room for others.
	given := int(counters(t, p.url)["quorate_ahead_failed_total"])
	if begun == 0 || begun > atOnce+given {
		t.Errorf("%d messages were begun, %d given up", begun, given)
	}
	// Validators that answer now sign a client's message at once.
	for i := range 5 {
		d.SetBehaviour(i, validator.Honest)
	}
	status, signed, message := askFor(t, p.url, d, 1, 67, 0)
	if status != http.StatusCreated {
		t.Fatalf("status %d: %s", status, message)
	}
	if err := newJudge(t, d).valid(signed, d.Message(1), 67); err != nil {
		t.Error(err)
	}
	p.stop(t)
}
