package platform

import (
	"bytes"
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/proposer"
	"quorate/engine/chain/utxo"
)

const heliconBlocks = "testdata/helicon/p-blocks.jsonl.gz"

// Each block, transaction and reward of a real network that crosses Helicon says what its
// node said of it, and encodes to the same bytes.
func TestHelicon(t *testing.T) {
	t.Parallel()
	kinds, rewards, name := make(map[TxKind]int), 0, ""
	for _, e := range chaintest.Helicon(t, heliconBlocks) {
		b, err := ParseBlock(e.Block)
		if err != nil {
			t.Fatalf("block %d: %v", e.Height, err)
		}
		if name = b.ID.String(); b.Height != e.Height || len(b.Txs) != len(e.Txs) {
			t.Fatalf("block %d: got %d with %d transactions", e.Height, b.Height, len(b.Txs))
		}
		// The network's addresses have another prefix than those of these tests.
		chaintest.SameJSON(t, name, jsonBlock(b), e.JSON, "addresses")
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: name, Bytes: chaintest.Hex(e.Block)}, chaintest.Recoder(ParseBlock))
		if e.Container != nil {
			h, inner, err := proposer.Open(e.Container.Bytes, ParseBlock)
			if err != nil || inner.ID != b.ID {
				t.Fatalf("container %d: %v", e.Height, err)
			}
			if raw, err := h.Bytes(); h.Kind != proposer.Plain && (err != nil || !bytes.Equal(raw, e.Container.Bytes)) {
				t.Errorf("container %d is written as %x, %v", e.Height, raw, err)
			}
		}
		for i, tx := range e.Txs {
			alone, err := ParseTx(tx.Tx)
			if err != nil || alone.ID.String() != tx.ID || alone.ID != b.Txs[i].ID {
				t.Fatalf("transaction %s: %v", tx.ID, err)
			}
			chaintest.RoundTrip(t, &chaintest.Encoded{Name: tx.ID, Bytes: chaintest.Hex(tx.Tx)}, chaintest.Recoder(ParseTx))
			kinds[alone.Body.Kind()]++
			for _, raw := range tx.RewardUTXOs.UTXOs {
				rewards++
				chaintest.RoundTrip(t, &chaintest.Encoded{Name: tx.ID, Bytes: chaintest.Hex(raw)}, recodeUTXO)
			}
		}
	}
	if rewards < 15 || kinds[KindAddAutoRenewedValidator] != 4 || kinds[KindSetAutoRenewedValidatorConfig] != 3 || kinds[KindRewardAutoRenewedValidator] < 15 {
		t.Errorf("%d rewards, transactions %v", rewards, kinds)
	}
}

// What validation always refuses of an auto-renewed validator cannot be written either.
func TestRenewedRefused(t *testing.T) {
	t.Parallel()
	tx := &Tx{Body: &AddAutoRenewedValidator{Signer: &Signer{}}}
	raw, err := tx.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	const node = codec.VersionLen + 4 + 4 + chain.IDLen + 4 + 4 + 4
	if raw[node+3] != chain.NodeIDLen {
		t.Fatalf("no node ID at %d: %x", node, raw)
	}
	short := bytes.Clone(raw)
	short[node+3]-- // and one byte fewer
	if _, err := ParseTx(append(short[:node+4], short[node+5:]...)); !errors.Is(err, codec.ErrValue) {
		t.Errorf("a short node ID: %v", err)
	}
	const signer = node + 4 + chain.NodeIDLen
	keyless := append(bytes.Clone(raw[:signer+3]), uint8(noSigner))
	if _, err := ParseTx(append(keyless, raw[signer+4+signerLen:]...)); !errors.Is(err, codec.ErrValue) {
		t.Errorf("without a key: %v", err)
	}
	if raw, err := (&Tx{Body: &AddAutoRenewedValidator{}}).Bytes(); !errors.Is(err, codec.ErrValue) {
		t.Errorf("without a key: %x, %v", raw, err)
	}
}

// A block may be as long as a message since Helicon, and no longer.
func TestLongest(t *testing.T) {
	t.Parallel()
	b := Block{Kind: BanffStandard, Txs: []Tx{{Body: &Base{Base: utxo.Base{Memo: []byte{1}}}}}}
	raw, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b.Txs[0].Body = &Base{Base: utxo.Base{Memo: make([]byte, 1+codec.MaxLen-len(raw))}}
	if raw, err = b.Bytes(); err != nil || len(raw) != codec.MaxLen {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	got, err := ParseBlock(raw)
	if err != nil || got.Size != codec.MaxLen {
		t.Errorf("2 MiB: %v", err)
	}
	b.Txs[0].Body = &Base{Base: utxo.Base{Memo: make([]byte, len(b.Txs[0].Body.Funds().Memo)+1)}}
	if raw, err = b.Bytes(); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseBlock(raw); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("2 MiB and a byte: %v", err)
	}
}
