package consensus

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"

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

func FuzzProof(f *testing.F) {
	for _, s := range readVectors(f).States {
		for _, p := range s.Proofs {
			var all []byte
			for _, n := range p.Nodes {
				all = append(all, data(n)...)
			}
			a := addr(p.Address)
			f.Add(a[:], all)
		}
	}
	f.Fuzz(func(t *testing.T, address, nodes []byte) {
		var a evm.Address
		copy(a[:], address)
		var proof [][]byte
		for len(nodes) > 0 {
			_, _, rest, err := rlp.Split(nodes)
			if err != nil {
				break
			}
			proof, nodes = append(proof, nodes[:len(nodes)-len(rest)]), rest
		}
		if len(proof) == 0 {
			return
		}
		acc, err := ProveAccount(evm.Keccak(proof[0]), a, proof)
		if err != nil && acc != (Account{}) {
			t.Errorf("%+v and %v", acc, err)
		}
	})
}
