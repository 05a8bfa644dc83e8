package index

import (
	"encoding/binary"

	"quorate/engine/chain/evm"
)

// Lengths of keys and their parts in bytes.
const (
	leadLen   = 1 + 4 // table and chain
	heightLen = 8
	hashKey   = 16 // of a hash, in the tables that find by hash
	nftLen    = evm.AddressLen + evm.HashLen
)

// key builds a key piece by piece.
type key []byte

func (k key) addr(a *evm.Address) key      { return append(k, a[:]...) }
func (k key) u64(v uint64) key             { return binary.BigEndian.AppendUint64(k, v) }
func (k key) u32(v uint32) key             { return binary.BigEndian.AppendUint32(k, v) }
func (k key) u16(v uint16) key             { return binary.BigEndian.AppendUint16(k, v) }
func (k key) hash(h *evm.Hash) key         { return append(k, h[:hashKey]...) }
func (k key) word(w [evm.HashLen]byte) key { return append(k, w[:]...) }
