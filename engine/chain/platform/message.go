package platform

import (
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
)

// The type IDs of what an L1's manager and the P-Chain tell each other. The P-Chain's
// own two, 0 and 2, are in engine/chain/warp.
const (
	registrationType = 1
	weightType       = 3
)

// L1Registration is what a manager asks for by a [RegisterL1Validator]: the payload
// of the addressed call in its message.
type L1Registration struct {
	// ValidationID names the validator from now on: the SHA-256 of the payload.
	ValidationID chain.ID

	Subnet                chain.ID
	NodeID                []byte
	PublicKey             [BLSKeyLen]byte
	Expiry                uint64 // Unix seconds
	RemainingBalanceOwner L1Owner
	DisableOwner          L1Owner
	Weight                uint64
}

// ParseL1Registration reads the payload.
func ParseL1Registration(payload []byte) (*L1Registration, error) {
	r := &L1Registration{ValidationID: sha256.Sum256(payload)}
	if err := codec.Decode(payload, version, codec.MaxLen, r.code); err != nil {
		return nil, fmt.Errorf("L1 validator registration: %w", err)
	}
	return r, nil
}

// Bytes returns the form that [ParseL1Registration] reads.
func (r *L1Registration) Bytes() ([]byte, error) { return codec.Append(nil, version, r.code) }

func (r *L1Registration) code(c *codec.Coder) {
	codeMessageType(c, registrationType)
	c.Fixed(r.Subnet[:])
	c.Bytes(&r.NodeID)
	c.Fixed(r.PublicKey[:])
	c.Uint64(&r.Expiry)
	r.RemainingBalanceOwner.code(c)
	r.DisableOwner.code(c)
	c.Uint64(&r.Weight)
}

// L1Weight is what a manager asks for by a [SetL1ValidatorWeight].
type L1Weight struct {
	ValidationID chain.ID
	// Nonce must not be less than the least that is still accepted.
	Nonce  uint64
	Weight uint64 // zero removes the validator
}

// ParseL1Weight reads the payload.
func ParseL1Weight(payload []byte) (*L1Weight, error) {
	w := new(L1Weight)
	if err := codec.Decode(payload, version, codec.MaxLen, w.code); err != nil {
		return nil, fmt.Errorf("L1 validator weight: %w", err)
	}
	return w, nil
}

// Bytes returns the form that [ParseL1Weight] reads.
func (w *L1Weight) Bytes() ([]byte, error) { return codec.Append(nil, version, w.code) }

func (w *L1Weight) code(c *codec.Coder) {
	codeMessageType(c, weightType)
	c.Fixed(w.ValidationID[:])
	c.Uint64(&w.Nonce)
	c.Uint64(&w.Weight)
}

func codeMessageType(c *codec.Coder, want uint32) {
	kind := want
	codec.Type(c, &kind, func(k uint32) bool { return k == want })
}
