package platform

import (
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
		if err := h.Verify(id); err != nil || h.ID.String() != e.ID {
			t.Errorf("%s: got %s, %v", e.ID, h.ID, err)
		}
		// Anybody may propose the first block: its parent has no header.
		first := b.Height == 1
		if first != (h.Kind == proposer.Plain) || first != (h.Proposer() == chain.NodeID{}) || !first && h.Kind != proposer.Granite {
			t.Errorf("%s: height %d, of kind %d by %s", e.ID, b.Height, h.Kind, h.Proposer())
		}
		if b.Height > 1 && (h.Parent != outer || b.Parent != inner) {
			t.Errorf("%s: not the child of the one before", e.ID)
		}
		outer, inner = h.ID, b.ID
		chaintest.SameJSON(t, e.ID, jsonBlock(b), e.JSON)
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: e.ID, Bytes: h.Block}, chaintest.Recoder(ParseBlock))
		if raw, err := h.Bytes(); err != nil || string(raw) != string(e.Bytes) {
			t.Errorf("%s: the header is written as %x, %v", e.ID, raw, err)
		}
		for _, tx := range b.Txs {
			kinds[tx.Body.Kind()] = true
		}
	})
	if len(kinds) < 12 {
		t.Errorf("transactions of %d kinds", len(kinds))
	}
}
