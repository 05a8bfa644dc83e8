package avm

import (
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// A vertex is encoded in one of two versions: the second is that of a stop vertex,
// which has neither epoch nor transactions.
const (
	vertexVersion = 0
	stopVersion   = 1
)

// Vertex is a group of transactions from before the linearisation.
type Vertex struct {
	// ID is the SHA-256 of the vertex's bytes. Size is their number.
	ID   chain.ID
	Size int

	// Stop: the vertex ends the graph. The first block's parent is its ID.
	Stop    bool
	ChainID chain.ID
	Height  uint64 // one more than that of its highest parent
	Epoch   uint32 // zero in all vertices so far
	Parents []chain.ID
	Txs     []Tx
}

// ParseVertex reads a vertex.
func ParseVertex(raw []byte) (*Vertex, error) {
	v := &Vertex{ID: sha256.Sum256(raw), Size: len(raw)}
	v.Stop = len(raw) >= codec.VersionLen && raw[0] == 0 && raw[1] == stopVersion
	if err := codec.Decode(raw, v.version(), codec.MaxLen, v.code); err != nil {
		return nil, fmt.Errorf("X-Chain vertex: %w", err)
	}
	return v, nil
}

// Bytes returns the form that [ParseVertex] reads.
func (v *Vertex) Bytes() ([]byte, error) { return codec.Append(nil, v.version(), v.code) }

func (v *Vertex) version() uint16 {
	if v.Stop {
		return stopVersion
	}
	return vertexVersion
}

func (v *Vertex) code(c *codec.Coder) {
	c.Fixed(v.ChainID[:])
	c.Uint64(&v.Height)
	if !v.Stop {
		c.Uint32(&v.Epoch)
	}
	utxo.CodeIDs(c, &v.Parents)
	if !v.Stop {
		codec.List(c, &v.Txs, 4+codec.VersionLen+minTx, codeVertexTx)
	} else if len(v.Txs) > 0 {
		c.Fail(fmt.Errorf("%w: transactions in a stop vertex", codec.ErrValue))
	}
}

// codeVertexTx reads or writes a transaction as it stands in a vertex: a byte string
// with a version of its own.
func codeVertexTx(c *codec.Coder, tx *Tx) {
	if c.Reading() {
		var raw []byte
		if c.Bytes(&raw); c.Err() != nil {
			return
		}
		parsed, err := ParseTx(raw)
		if err != nil {
			c.Fail(err)
			return
		}
		*tx = *parsed
		return
	}
	raw, err := tx.Bytes()
	if err != nil {
		c.Fail(err)
		return
	}
	c.Bytes(&raw)
}
