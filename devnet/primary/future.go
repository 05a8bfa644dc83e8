package primary

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain/proposer"
)

// Where the types of the first transaction stand in blocks that hold a list of them, and
// what is there in place of a known one.
const (
	platformTxs = 2 + 4 + 8 + 32 + 8      // codec version, type, time, parent, height
	avmTxs      = 2 + 4 + 32 + 8 + 8 + 32 // codec version, type, parent, height, time, root
	futureType  = 99
)

// Types of the blocks that hold a list of transactions.
const (
	platformStandard = 32
	avmStandard      = 20
)

// Future returns the block of a P- or X-Chain's container as one of a later release: with a
// transaction of a type that is unknown today or, if it has none, of such a type itself. Its
// proposer signs it. The blocks behind it name the one that it was made of.
func (c *Container) Future() *Container {
	f := *c
	raw := c.Block
	if c.load != nil {
		raw, f.load = c.load(), nil
	}
	raw = bytes.Clone(raw)
	at := 2 // of the block's own type
	for kind, txs := range map[uint32]int{platformStandard: platformTxs, avmStandard: avmTxs} {
		if binary.BigEndian.Uint32(raw[2:]) == kind && binary.BigEndian.Uint32(raw[txs:]) > 0 {
			at = txs + 4
		}
	}
	binary.BigEndian.PutUint32(raw[at:], futureType)
	f.Block, f.BlockID = raw, sha256.Sum256(raw)
	f.ID = f.BlockID
	if c.header == nil {
		return &f
	}
	h := *c.header
	h.Block, f.header = raw, &h
	encoded, err := h.Bytes()
	if err != nil {
		panic(fmt.Sprintf("primary: a header: %v", err)) // it was encoded before
	}
	if h.Kind != proposer.Option {
		encoded = encoded[:len(encoded)-4] // the signature's length
	}
	f.ID = sha256.Sum256(encoded)
	return &f
}
