package evm

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
)

// heliconBlock is a block of a real network that crosses Helicon, of avalanchego v1.15.0:
// what its node answered about it. The last block of before is lastBefore.
type heliconBlock struct {
	Number          uint64
	Block, Receipts json.RawMessage
	RawHeader       string
	CallTracer      json.RawMessage
	PrestateTracer  json.RawMessage
}

const lastBefore = 69

// helicon reads the recorded blocks, from 0 on.
func helicon(t testing.TB) (list []heliconBlock) {
	t.Helper()
	f, err := os.Open("testdata/helicon/c-blocks.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var b heliconBlock
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		if b.Number != uint64(len(list)) {
			t.Fatalf("block %d in place of %d", b.Number, len(list))
		}
		list = append(list, b)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// read decodes a recorded block as the client does.
func (h *heliconBlock) read(check *checker) (*evm.Block, error) {
	b, err := decodeBlock(h.Block, h.Number, avaxID, check)
	if err == nil {
		err = decodeReceipts(b, h.Receipts, check)
	}
	return b, err
}

// TestHelicon reads all blocks of a network that crosses Helicon: each is checked by its
// hash, and what it used is what its receipts say, not what its header reserves.
func TestHelicon(t *testing.T) {
	t.Parallel()
	check := newChecker(VerifyFull, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	for _, h := range helicon(t) {
		b, err := h.read(check)
		if err != nil {
			t.Errorf("block %d: %v", h.Number, err)
			continue
		}
		if b.Unverified != "" || fmt.Sprintf("%#x", b.Header) != h.RawHeader {
			t.Errorf("block %d: unverified %q, header %x, want %s", h.Number, b.Unverified, b.Header, h.RawHeader)
		}
		var receipts []struct{ GasUsed, EffectiveGasPrice string }
		if err := json.Unmarshal(h.Receipts, &receipts); err != nil {
			t.Fatal(err)
		}
		gas := uint64(0)
		for i, r := range receipts {
			gas += must(hexUint([]byte(r.GasUsed)))
			if got := b.Txs[i].GasPrice.Hex(); got != r.EffectiveGasPrice {
				t.Errorf("block %d, transaction %d: gas price %s, want %s", h.Number, i, got, r.EffectiveGasPrice)
			}
		}
		if settles := h.Number > lastBefore; b.GasUsed != gas || (b.Reserved != nil) != settles {
			t.Errorf("block %d: %d gas used, want %d; reserved %v", h.Number, b.GasUsed, gas, b.Reserved)
		}
	}
}
