package evmrpc

import (
	"github.com/goccy/go-json"

	"quorate/devnet/form"
	"quorate/engine/chain/evm"
)

// maxProofKeys is how many storage slots nodes prove at a time.
const maxProofKeys = 1024

// proves reports whether the node has eth_getProof.
func (h *node) proves() bool { return h.chain.Config().StateProofs && !h.traits.NoProofs }

// proof is eth_getProof. Storage slots are all empty but slot 0 of contracts.
func (h *node) proof(dst []byte, a args) ([]byte, error) {
	account, err := a.address(0)
	if err != nil {
		return dst, err
	}
	var keys []string
	if err := json.Unmarshal(a[1], &keys); err != nil {
		return dst, invalid("invalid argument 1: %v", err)
	}
	if len(keys) > maxProofKeys {
		return dst, invalid("too many keys (got %d, limit %d)", len(keys), maxProofKeys)
	}
	height, err := h.stateAt(a, 2)
	if err != nil {
		return dst, err
	}
	p, _ := h.chain.Proof(account, height)
	w := form.Writer(dst)
	w.Open('{')
	w.Name("address").Hex(account[:])
	nodes(w.Name("accountProof"), p.Nodes)
	w.Name("balance").Wide(&p.Balance)
	w.Name("codeHash").Hex(p.Code[:])
	w.Name("nonce").Uint(p.Nonce)
	w.Name("storageHash").Hex(p.StorageRoot[:])
	w.Name("storageProof").Open('[')
	for _, text := range keys {
		var slot evm.Hash
		if err := fixed(text, slot[:]); err != nil {
			return dst, invalid("unable to decode storage key: %v", err)
		}
		var value uint64
		if slot.IsZero() {
			value = p.Slot
		}
		w.Open('{')
		w.Name("key").Hex(slot[:])
		w.Name("value").Uint(value)
		nodes(w.Name("proof"), p.SlotNodes)
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	return w, nil
}

func nodes(w *form.Writer, nodes [][]byte) {
	w.Open('[')
	for _, n := range nodes {
		w.Hex(n)
	}
	w.Close(']')
}
