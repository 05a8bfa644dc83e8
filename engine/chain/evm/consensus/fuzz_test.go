package consensus

import (
	"bytes"
	"testing"

	"quorate/engine/chain/evm"
)

// What is read is encoded as it came: there is one encoding of each header.
func FuzzHeader(f *testing.F) {
	for _, h := range readVectors(f).Headers {
		f.Add(data(h.RLP))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var h Header
		if h.Parse(raw) != nil {
			return
		}
		if got := h.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("read %x, encoded %x", raw, got)
		}
		var b evm.Block
		if err := DecodeHeader(raw, &b); err != nil || b.Hash != evm.Keccak(raw) {
			t.Errorf("%x: %v", raw, err)
		}
	})
}

func FuzzTx(f *testing.F) {
	for _, tx := range readVectors(f).Txs {
		f.Add(data(tx.Raw))
	}
	for raw := range setCodeTxs {
		f.Add(data(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tx evm.Tx
		var s Signed
		_, unsigned := Sender(raw)
		if err := ParseTx(raw, &tx, &s); err != nil {
			return
		}
		if got, err := AppendTx(nil, &tx, &s); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("read %x, encoded %x, %v", raw, got, err)
		}
		if !bytes.Equal(Input(raw), tx.Input) {
			t.Errorf("%x: input %x", raw, Input(raw))
		}
		if hash, err := SigningHash(raw); unsigned == nil && (err != nil || hash.IsZero()) {
			t.Errorf("%x: %v", raw, err)
		}
	})
}
