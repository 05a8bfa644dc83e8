package main

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/primary"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/warp"
)

// TestSignPlatformTransactions: what the P-Chain attests of an L1's transaction is signed by the
// transaction's ID, for each of the history; what is not true any more is refused by the
// validators, and a transaction of which the P-Chain attests nothing is a 404.
func TestSignPlatformTransactions(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 20, Validators: 4, PrimaryBlocks: 3000, HeightInterval: time.Hour, BlockInterval: time.Hour})
	c := startChild(t, d, t.TempDir())
	poll(t, 50*time.Millisecond, "the P-Chain is indexed", func() bool {
		return counters(t, c.url)[`quorate_index_height{chain="P"}`] == primaryTips(d)["P"]
	})
	type claim struct {
		id     chain.ID
		status int
		want   []byte // the end of the payload
	}
	var claims []claim
	seen := make(map[string]int)
	d.Primary().Read(func(s *primary.State) {
		for id, tx := range s.Txs {
			var want claim
			switch body := tx.Body.(type) {
			case *platform.ConvertSubnetToL1:
				conversion := s.Subnets[body.Subnet].ConversionID
				want = claim{id, http.StatusCreated, conversion[:]}
			case *platform.RegisterL1Validator:
				v := registeredBy(s, id)
				if want = (claim{id, http.StatusCreated, append(v.ValidationID[:], 1)}); v.Weight == 0 {
					want.status = http.StatusBadRequest
				}
			case *platform.SetL1ValidatorWeight:
				m, err := warp.ParseSigned(body.Message)
				if err != nil {
					t.Fatal(err)
				}
				call, err := warp.ParseAddressedCall(m.Payload)
				if err != nil {
					t.Fatal(err)
				}
				change, err := platform.ParseL1Weight(call.Payload)
				if err != nil {
					t.Fatal(err)
				}
				v := s.L1Validators[change.ValidationID]
				switch {
				case change.Weight == 0:
					want = claim{id, http.StatusCreated, append(v.ValidationID[:], 0)}
				case v.Weight != 0 && v.MinNonce == change.Nonce+1:
					want = claim{id, http.StatusCreated, call.Payload[2:]} // the P-Chain's word has the same form
				default:
					want = claim{id, http.StatusBadRequest, nil}
				}
			default:
				if want = (claim{id, http.StatusNotFound, nil}); seen["others"] > 20 {
					continue
				}
				seen["others"]++
				claims = append(claims, want)
				continue
			}
			seen[tx.Body.Kind().String()+http.StatusText(want.status)]++
			claims = append(claims, want)
		}
	})
	if len(seen) < 5 {
		t.Fatalf("the history has %v alone", seen)
	}
	for _, of := range claims {
		status, raw := get(t, c.url+"/v1/signatureAggregator/fuji/aggregateSignatures/"+of.id.String())
		if status != of.status {
			t.Errorf("%s: %d, want %d: %s", of.id, status, of.status, raw)
			continue
		}
		if status != http.StatusCreated {
			continue
		}
		var answer struct{ SignedMessage string }
		if err := json.Unmarshal([]byte(raw), &answer); err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(answer.SignedMessage)
		if err != nil {
			t.Fatal(err)
		}
		m, err := warp.ParseSigned(b)
		if err != nil {
			t.Fatal(err)
		}
		call, err := warp.ParseAddressedCall(m.Payload)
		if err != nil || m.SourceChainID != chain.PlatformChainID || !strings.HasSuffix(string(call.Payload), string(of.want)) {
			t.Errorf("%s: %x of %s, want what ends with %x; %v", of.id, call.Payload, m.SourceChainID, of.want, err)
		}
		// The message's own ID, in both forms.
		id := m.Unsigned.ID()
		for _, text := range []string{id.String(), "0x" + hex.EncodeToString(id[:])} {
			if status, again := get(t, c.url+"/v1/signatureAggregator/fuji/aggregateSignatures/"+text); status != http.StatusCreated || string(again) != string(raw) {
				t.Errorf("%s by the message's ID %s: %d %s, want %s", of.id, text, status, again, raw)
			}
		}
	}
	c.stop(t)
}

func registeredBy(s *primary.State, tx chain.ID) *primary.L1Validator {
	for _, v := range s.L1Validators {
		if v.TxID == tx {
			return v
		}
	}
	return nil
}
