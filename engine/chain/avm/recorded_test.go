package avm

import (
	"bytes"
	_ "embed"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/proposer"
)

// recordedJSON holds what the Index API of a real network returned: e2e/record.
//
//go:embed testdata/recorded.json
var recordedJSON []byte

// Each container of a real network says what the node said of it in JSON, its
// proposer signed it, and the headers follow one another as the blocks do.
func TestRecorded(t *testing.T) {
	t.Parallel()
	var outer, inner chain.ID
	kinds := make(map[TxKind]bool)
	chaintest.Recorded(t, recordedJSON, func(id chain.ID, e *chaintest.Container) {
		h, b, err := proposer.Open(e.Bytes, ParseBlock)
		if err != nil || h == nil {
			t.Fatalf("%s: no header, %v", e.ID, err)
		}
		if err := h.Verify(id); err != nil || h.ID.String() != e.ID || b.Height > 1 && len(h.Certificate) == 0 {
			t.Errorf("%s: got %s, %v", e.ID, h.ID, err)
		}
		if b.Height > 1 && (h.Parent != outer || b.Parent != inner) {
			t.Errorf("%s: not the child of the one before", e.ID)
		}
		outer, inner = h.ID, b.ID
		chaintest.SameJSON(t, e.ID, jsonBlock(b), e.JSON)
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: e.ID, Bytes: h.Block}, chaintest.Recoder(ParseBlock))
		for _, tx := range b.Txs {
			kinds[tx.Body.Kind()] = true
		}
	})
	if len(kinds) != 5 {
		t.Errorf("transactions of %d kinds", len(kinds))
	}
}

// Each block of a network that crosses Helicon says what its node said of it, and encodes
// to the same bytes, in its container too.
func TestHelicon(t *testing.T) {
	t.Parallel()
	count := 0
	for _, e := range chaintest.Helicon(t, "testdata/helicon/x-blocks.jsonl.gz") {
		b, err := ParseBlock(e.Block)
		if err != nil || b.Height != e.Height || len(b.Txs) != len(e.Txs) {
			t.Fatalf("block %d: %+v, %v", e.Height, b, err)
		}
		if e.Height > 0 { // of the first one the node writes null for no transactions
			// The network's addresses have another prefix than those of these tests.
			chaintest.SameJSON(t, b.ID.String(), jsonBlock(b), e.JSON, "addresses")
		}
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: b.ID.String(), Bytes: chaintest.Hex(e.Block)}, chaintest.Recoder(ParseBlock))
		if e.Container != nil {
			h, inner, err := proposer.Open(e.Container.Bytes, ParseBlock)
			if err != nil || inner.ID != b.ID {
				t.Fatalf("container %d: %v", e.Height, err)
			}
			if raw, err := h.Bytes(); h.Kind != proposer.Plain && (err != nil || !bytes.Equal(raw, e.Container.Bytes)) {
				t.Errorf("container %d is written as %x, %v", e.Height, raw, err)
			}
			count++
		}
		for i, tx := range e.Txs {
			if tx.ID != b.Txs[i].ID.String() {
				t.Errorf("block %d: transaction %s", e.Height, tx.ID)
			}
		}
	}
	if count != 7 {
		t.Errorf("%d containers", count)
	}
}
