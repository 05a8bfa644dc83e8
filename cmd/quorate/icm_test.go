package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/traffic"
)

// TestICM: the messages between two chains that are followed are put together from
// what each of them knows, and say whether they are signed.
func TestICM(t *testing.T) {
	t.Parallel()
	const blocks = 60
	d := startNetwork(t, devnet.Config{Validators: 4, EVMChains: 1, Blocks: blocks, TxsPerBlock: 2})
	c, _ := cChain(d)
	l1 := d.EVMChain(d.World().L1s()[0].ChainID)
	p := serveIndexed(t, d, "--chains-file", chainsFile(t, d, "games"))
	awaitIndexed(t, p.url, c)
	awaitIndexed(t, p.url, l1)
	plan := d.World().Traffic()
	type message struct {
		MessageID, Status, SourceEVMChainID, DestinationEVMChainID string
		MessageExecuted, ReceiptDelivered                          bool
		SourceTransaction, DestinationTransaction                  struct{ TxHash string }
		Signature                                                  struct {
			Signed            bool
			SignedMessagePath string
		}
	}
	read := func(path string, to any) {
		t.Helper()
		status, body := get(t, p.url+path)
		if err := json.Unmarshal(body, to); status != http.StatusOK || err != nil {
			t.Fatalf("%s: status %d, %v, %s", path, status, err, body)
		}
	}
	var page struct{ Messages []message }
	read("/v1/icm/messages?pageSize=100", &page)
	if want := 2 * (blocks / 4); len(page.Messages) != want {
		t.Errorf("%d messages, want %d", len(page.Messages), want)
	}
	listed := map[string]message{}
	for _, m := range page.Messages {
		listed[m.MessageID] = m
	}
	for i := range plan.Chains {
		for nonce := uint64(1); nonce*4+4 <= blocks; nonce++ {
			m, outcome := listed[plan.ID(i, nonce).String()], traffic.OutcomeOf(nonce)
			want := "delivered"
			if outcome == traffic.Pending {
				want = "pending"
			}
			if m.Status != want || m.MessageExecuted != (want == "delivered" && outcome != traffic.Failed && outcome != traffic.Empty &&
				(outcome != traffic.Retried || nonce*4+11 <= blocks)) {
				t.Errorf("message %d of chain %d: %+v, want %s", nonce, i, m, want)
			}
			for hash, number := range map[string]string{m.SourceTransaction.TxHash: m.SourceEVMChainID, m.DestinationTransaction.TxHash: m.DestinationEVMChainID} {
				var tx struct {
					TeleporterMessageInfo struct{ TeleporterMessageID string }
				}
				if hash == "" {
					continue
				}
				if read("/v1/chains/"+number+"/transactions/"+hash, &tx); tx.TeleporterMessageInfo.TeleporterMessageID != m.MessageID {
					t.Errorf("transaction %s: %+v, want message %s", hash, tx, m.MessageID)
				}
			}
		}
	}
	id := plan.ID(0, 2).String()
	var m message
	read("/v1/icm/messages/"+id, &m)
	if status, body := get(t, p.url+m.Signature.SignedMessagePath); status != http.StatusCreated {
		t.Fatalf("%s: status %d, %s", m.Signature.SignedMessagePath, status, body)
	}
	poll(t, 20*time.Millisecond, "the message is signed", func() bool {
		read("/v1/icm/messages/"+id, &m)
		return m.Signature.Signed
	})
	for _, bad := range []string{"/v1/icm/messages/" + fmt.Sprintf("0x%064x", 5), "/v1/icm/messages/x"} {
		if status, body := get(t, p.url+bad); status != http.StatusNotFound && status != http.StatusBadRequest {
			t.Errorf("%s: status %d, %s", bad, status, body)
		}
	}
	p.stop(t)
}
