package evm

import (
	"hash"
	"io"

	"github.com/ethereum/go-ethereum/crypto/keccak"
)

// Hasher computes Keccak-256 hashes one after the other in the same memory. The zero
// value is ready; it is not safe for concurrent use.
type Hasher struct {
	state hash.Hash
	out   Hash
}

// Sum returns the hash of data, good until the next call.
func (h *Hasher) Sum(data []byte) *Hash {
	if h.state == nil {
		h.state = keccak.NewLegacyKeccak256()
	}
	h.state.Reset()
	h.state.Write(data)
	// Reading leaves the result without a copy of the state; neither can fail.
	_, _ = h.state.(io.Reader).Read(h.out[:])
	return &h.out
}
