package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/libevm/ethclient"
)

// TestHundredMessages has a hundred new messages signed by all five validators, over links that
// last.
func TestHundredMessages(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	messages := w.emit(t, 100)
	for _, n := range w.Nodes {
		accepted(t, n.URL, messages[len(messages)-1].Block) // a validator refuses what it does not know yet
	}
	begin := time.Now()
	for _, m := range messages {
		signed, _ := s.aggregate(t, m.Unsigned, fullBuffer)
		wantSigners(t, w, mustVerify(t, w.oracle, signed, m.Unsigned), -1)
	}
	t.Logf("100 messages signed by all five validators in %v, one after the other", time.Since(begin).Round(time.Millisecond))
	if n := s.metric(t, metricOnRequest); n != 0 {
		t.Errorf("%v nodes with sybil protection take the server for a validator", n)
	}
}

// accepted waits until a node has accepted a block of the C-Chain.
func accepted(t *testing.T, node string, block uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	client, err := ethclient.DialContext(ctx, node+"/ext/bc/C/rpc")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	await(ctx, t, "block accepted", func() (string, bool) {
		height, err := client.BlockNumber(ctx)
		return fmt.Sprintf("height %d, %v", height, err), err == nil && height >= block
	})
}

// TestMessageForms sends one message in each form that the contract allows: the
// answer is the same bytes.
func TestMessageForms(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	m := w.emit(t, 1)[0]
	want, _ := s.aggregate(t, m.Unsigned, fullBuffer)
	wantSigners(t, w, mustVerify(t, w.oracle, want, m.Unsigned), -1)
	primary := constants.PrimaryNetworkID
	for _, c := range []struct{ name, message, subnet string }{
		{"0x prefix", "0x" + hex.EncodeToString(m.Unsigned), ""},
		{"data of the log", hex.EncodeToString(m.LogData), ""},
		{"subnet in cb58", hex.EncodeToString(m.Unsigned), primary.String()},
		{"subnet in hex", hex.EncodeToString(m.Unsigned), primary.Hex()},
	} {
		r := request(nil, fullBuffer)
		r.Message, r.SigningSubnetID = c.message, c.subnet
		got, err := s.post(t, r).Signed()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", c.name, got, want)
		}
	}
}

// TestDropIn checks the form of the existing relayer aggregator: its answers are
// those of endpoint 1, whichever is asked first.
func TestDropIn(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	for i, m := range w.emit(t, 2) {
		r := request(m.Unsigned, fullBuffer)
		r.SigningSubnetID = constants.PrimaryNetworkID.String()
		dropIn := func() []byte {
			answer, err := s.client.AggregateDropIn(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			signed, err := answer.SignedDropIn()
			if err != nil {
				t.Fatal(err)
			}
			return signed
		}
		var first, second []byte
		if i == 0 {
			first, _ = s.aggregate(t, m.Unsigned, fullBuffer)
			second = dropIn()
		} else {
			first = dropIn()
			second, _ = s.aggregate(t, m.Unsigned, fullBuffer)
		}
		wantSigners(t, w, mustVerify(t, w.oracle, first, m.Unsigned), -1)
		if !bytes.Equal(first, second) {
			t.Errorf("message %d: first %x\nthen %x", i, first, second)
		}
	}

	r := request(nil, 0)
	r.Message = "0xzz"
	answer, err := s.client.AggregateDropIn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]string
	if err := json.Unmarshal(answer.Body, &body); err != nil || len(body) != 1 || body["error"] == "" {
		t.Errorf("error body of the drop-in: %s (%v)", answer.Body, err)
	}
	if answer.Status != http.StatusBadRequest {
		t.Errorf("malformed message: status %d, want 400", answer.Status)
	}
}

// TestUnknownMessage asks for a message that no block carries: the validators
// refuse, and since a block may still carry it, the answer says to ask again.
func TestUnknownMessage(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	unsigned := bytes.Clone(w.emit(t, 1)[0].Unsigned)
	unsigned[len(unsigned)-1] ^= 0xff
	answer := s.post(t, request(unsigned, 0))
	failure, err := answer.Failure()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d after %v: %s", answer.Status, answer.Took.Round(time.Millisecond), failure.Message)
	if answer.Status != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", answer.Status)
	}
}

// TestRepeatSurvivesKill has a message signed, kills the server, and asks it again
// after a restart, while no other validator can answer: the result was kept.
func TestRepeatSurvivesKill(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	m := w.emit(t, 1)[0]
	first, took := s.aggregate(t, m.Unsigned, fullBuffer)
	if s.metric(t, metricRequests) == 0 {
		t.Errorf("%s is 0 after a collection: it cannot tell that nothing was asked", metricRequests)
	}
	s.kill(t)
	s.restart(t)
	for i := range w.Nodes {
		if i != entryNode {
			if err := w.Pause(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	second, tookAgain := s.aggregate(t, m.Unsigned, fullBuffer)
	if !bytes.Equal(first, second) {
		t.Errorf("before the kill %x\nafter it %x", first, second)
	}
	if n := s.metric(t, metricRequests); n != 0 {
		t.Errorf("%v requests went to validators for a message that was signed before", n)
	}
	t.Logf("first answer %v, after kill and restart %v", took, tookAgain)
}
