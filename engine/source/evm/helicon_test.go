package evm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/proposer"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// heliconBlock is a block of a real network that crosses Helicon, of avalanchego v1.15.0:
// what its node answered about it. The last block of before is lastBefore.
type heliconBlock struct {
	Number          uint64
	Block, Receipts json.RawMessage
	RawHeader       string
	CallTracer      json.RawMessage
	PrestateTracer  json.RawMessage
	Container       *struct{ Bytes chaintest.Checked } // nil at height 0
}

const lastBefore = 69

// helicon reads the recorded blocks, from 0 on.
func helicon(t testing.TB) (list []heliconBlock) {
	t.Helper()
	chaintest.Lines(t, "testdata/helicon/c-blocks.jsonl.gz", func(line []byte) {
		var b heliconBlock
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatal(err)
		}
		if b.Number != uint64(len(list)) {
			t.Fatalf("block %d in place of %d", b.Number, len(list))
		}
		list = append(list, b)
	})
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

// A filter that is not that of its receipt's logs is refused at once, though only a later
// header has the root of the receipts.
func TestHeliconFilter(t *testing.T) {
	t.Parallel()
	check := newChecker(VerifyFull, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	tried := 0
	for _, h := range helicon(t)[lastBefore+1:] {
		const start = `"logsBloom":"0x`
		at := bytes.Index(h.Receipts, []byte(start))
		if at < 0 {
			continue
		}
		tried++
		h.Receipts = bytes.Clone(h.Receipts)
		h.Receipts[at+len(start)] ^= 1 // a digit
		if _, err := h.read(check); !errors.Is(err, ErrFalse) || !strings.Contains(err.Error(), "logsBloom") {
			t.Fatalf("block %d: %v", h.Number, err)
		}
	}
	if tried == 0 {
		t.Error("no block has a filter")
	}
}

// The last accepted block of a node that executes blocks later is its latest one, and how
// many it has yet to execute is known from what it answers for beyond.
func TestExecuting(t *testing.T) {
	t.Parallel()
	recorded := helicon(t)
	executed, accepted := uint64(100), uint64(100)
	client := must(New(Config{Path: "/", AVAXAssetID: avaxID, Node: nodeFunc(func(calls []source.BatchCall) error {
		for i := range calls {
			tag := calls[i].Params.([]any)[0].(string)
			at := map[string]uint64{"latest": executed, "finalized": executed - 3}[tag]
			if at == 0 {
				at = must(hexUint([]byte(tag)))
			}
			text := []byte("null")
			if at <= accepted {
				text = recorded[at].Block
			}
			calls[i].Err = calls[i].Decode(text)
		}
		return nil
	})}))
	for _, c := range []struct{ executed, accepted, executing uint64 }{{100, 100, 0}, {100, 120, 16}, {110, 120, 6}, {121, 121, 0}} {
		executed, accepted = c.executed, c.accepted
		head, err := client.Tip(t.Context())
		if err != nil || head.Height != c.executed || client.Executing() != c.executing {
			t.Errorf("%+v: tip %d, %d executing, %v", c, head.Height, client.Executing(), err)
		}
	}
}

// Each container of the recorded network holds the block that the node answered for, and
// encodes to the same bytes.
func TestHeliconContainers(t *testing.T) {
	t.Parallel()
	headers := 0
	for _, h := range helicon(t) {
		if h.Container == nil {
			continue
		}
		head, block, err := proposer.Open(h.Container.Bytes, consensus.ParseBlock)
		if err != nil || fmt.Sprintf("%#x", block.Header) != h.RawHeader {
			t.Fatalf("container %d: header %x, %v", h.Number, block.Header, err)
		}
		whole := h.Container.Bytes
		if head != nil {
			raw, err := head.Bytes()
			if headers++; err != nil || head.Kind != proposer.Plain && !bytes.Equal(raw, whole) {
				t.Errorf("container %d is written as %x, %v", h.Number, raw, err)
			}
			whole = head.Block
		}
		var header consensus.Header
		if err := header.Parse(block.Header); err != nil || block.Check(&header) != nil || !bytes.Equal(block.Append(nil), whole) {
			t.Errorf("container %d: %v, %v", h.Number, err, block.Check(&header))
		}
	}
	if headers < 200 {
		t.Errorf("%d headers", headers)
	}
}
