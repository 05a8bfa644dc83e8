package index

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain/evm"
	"quorate/rollup"
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

// cursor is how far a chain is indexed.
type cursor struct {
	head evm.Head
	// bareFrom is the first height from which on native balances are not known,
	// since a block was not traced; noBare if there is none.
	bareFrom uint64
	// rolled is how far metrics are made, if they are. It has a row of its own.
	rolled rollup.State
	// places says where the tables lie. They have a row of their own too.
	places *places
}

const (
	cursorVersion = 1
	cursorLen     = 1 + 8 + evm.HashLen + 8 + 8
	noBare        = ^uint64(0)
)

func (c *cursor) append(dst []byte) []byte {
	dst = append(dst, cursorVersion)
	dst = binary.BigEndian.AppendUint64(dst, c.head.Number)
	dst = append(dst, c.head.Hash[:]...)
	dst = binary.BigEndian.AppendUint64(dst, c.head.TimeMilli)
	return binary.BigEndian.AppendUint64(dst, c.bareFrom)
}

func (c *cursor) decode(b []byte) error {
	if len(b) != cursorLen || b[0] != cursorVersion {
		return fmt.Errorf("%w: cursor", errCodec)
	}
	c.head.Number = binary.BigEndian.Uint64(b[1:])
	copy(c.head.Hash[:], b[9:])
	c.head.TimeMilli = binary.BigEndian.Uint64(b[9+evm.HashLen:])
	c.bareFrom = binary.BigEndian.Uint64(b[17+evm.HashLen:])
	return nil
}
