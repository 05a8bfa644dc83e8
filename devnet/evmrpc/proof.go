package evmrpc

import (
	"encoding/json"

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
	dst = append(dst, `{"address":`...)
	dst = appendHex(dst, account[:])
	dst = append(dst, `,"accountProof":`...)
	dst = appendNodes(dst, p.Nodes)
	dst = append(append(append(dst, `,"balance":"`...), p.Balance.Hex()...), `","codeHash":`...)
	dst = appendHex(dst, p.Code[:])
	dst = append(dst, `,"nonce":`...)
	dst = appendQuantity(dst, p.Nonce)
	dst = append(dst, `,"storageHash":`...)
	dst = appendHex(dst, p.StorageRoot[:])
	dst = append(dst, `,"storageProof":[`...)
	for i, text := range keys {
		var slot evm.Hash
		if err := fixed(text, slot[:]); err != nil {
			return dst, invalid("unable to decode storage key: %v", err)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var value uint64
		if slot.IsZero() {
			value = p.Slot
		}
		dst = append(dst, `{"key":`...)
		dst = appendHex(dst, slot[:])
		dst = append(dst, `,"value":`...)
		dst = appendQuantity(dst, value)
		dst = append(dst, `,"proof":`...)
		dst = append(appendNodes(dst, p.SlotNodes), '}')
	}
	return append(dst, ']', '}'), nil
}

func appendNodes(dst []byte, nodes [][]byte) []byte {
	dst = append(dst, '[')
	for i, n := range nodes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHex(dst, n)
	}
	return append(dst, ']')
}
