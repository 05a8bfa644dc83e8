// Package proposer reads and writes the header that consensus puts around a block
// of the P-, the X- and the C-Chain: who proposed it, when, and by which height of
// the P-Chain. The Index API returns blocks with it, and so their IDs there are
// those of the header: the block itself has an ID of its own.
//
// Source: vms/proposervm/block and staking of avalanchego v1.14.2.
package proposer

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/staking"
)

const version = 0

// ErrSignature means that a signature is missing, wrong, or where none should be.
var ErrSignature = errors.New("proposer's signature is not valid")

// Kind is the type ID of a header.
type Kind uint32

// The kinds. The numbers are those of the encoding.
const (
	// Plain is a header without an epoch, before Granite.
	Plain Kind = 0
	// Option is that of an option, which follows from the proposal before it:
	// parent and block, and nothing else.
	Option Kind = 1
	// Granite is a header with an epoch.
	Granite Kind = 2
)

// Epoch is the height of the P-Chain that validator sets are taken from, and for
// how long (ACP-181).
type Epoch struct {
	PChainHeight uint64
	Number       uint64
	StartTime    int64 // Unix seconds
}

// Header is a block with the proposer's header around it.
type Header struct {
	// ID is the SHA-256 of the header's bytes without the signature.
	ID   chain.ID
	Kind Kind

	Parent       chain.ID // the ID of the header before
	Time         int64    // Unix seconds
	PChainHeight uint64
	Epoch        Epoch // zero before Granite
	// Certificate is the proposer's, in DER form. Without one anybody could
	// propose, and that are unsigned.
	Certificate []byte
	Signature   []byte
	// Block is what the chain's own rules know.
	Block []byte
}

// Proposer returns the node that proposed the block, or zero if none signed it.
func (h *Header) Proposer() chain.NodeID {
	if len(h.Certificate) == 0 {
		return chain.NodeID{}
	}
	return chain.NodeIDFromCert(h.Certificate)
}

// Parse reads a header. It checks no signature.
func Parse(b []byte) (*Header, error) {
	h := new(Header)
	err := codec.Decode(b, version, codec.MaxLen, h.code)
	if err == nil && len(h.Certificate) > staking.MaxCertificateLen {
		err = fmt.Errorf("%w: certificate of %d bytes", codec.ErrTooLong, len(h.Certificate))
	}
	if err != nil {
		return nil, fmt.Errorf("proposer's header: %w", err)
	}
	unsigned := b
	if h.Kind != Option {
		unsigned = b[:len(b)-4-len(h.Signature)]
	}
	h.ID = sha256.Sum256(unsigned)
	return h, nil
}

// Bytes returns the form that [Parse] reads.
func (h *Header) Bytes() ([]byte, error) { return codec.Append(nil, version, h.code) }

func (h *Header) code(c *codec.Coder) {
	codec.Type(c, &h.Kind, func(k Kind) bool { return k <= Granite })
	c.Fixed(h.Parent[:])
	if h.Kind == Option {
		c.Bytes(&h.Block)
		return
	}
	c.Int64(&h.Time)
	c.Uint64(&h.PChainHeight)
	c.Bytes(&h.Certificate)
	c.Bytes(&h.Block)
	if h.Kind == Granite {
		c.Uint64(&h.Epoch.PChainHeight)
		c.Uint64(&h.Epoch.Number)
		c.Int64(&h.Epoch.StartTime)
	}
	c.Bytes(&h.Signature)
}

// Open reads what the Index API returns of a chain: a block with a header, or, from
// before Apricot's fourth phase, without one. A block without one could by chance
// read as a header, so parse must accept what is inside, as nodes do it. The header
// is nil where there is none. With a header and an error it is the block inside that
// parse refuses: the error is about that one.
func Open[B any](container []byte, parse func([]byte) (B, error)) (*Header, B, error) {
	h, err := Parse(container)
	if err != nil {
		block, err := parse(container)
		return nil, block, err
	}
	block, inside := parse(h.Block)
	if inside == nil {
		return h, block, nil
	}
	if bare, err := parse(container); err == nil {
		return nil, bare, nil
	}
	return h, block, inside
}

// SignedHash returns what the proposer signs: the SHA-256 of the chain, the parent
// and the header's ID.
func (h *Header) SignedHash(chainID chain.ID) [sha256.Size]byte {
	b := make([]byte, 0, codec.VersionLen+3*chain.IDLen)
	b = append(b, version>>8, version&0xff)
	b = append(b, chainID[:]...)
	b = append(b, h.Parent[:]...)
	b = append(b, h.ID[:]...)
	return sha256.Sum256(b)
}
