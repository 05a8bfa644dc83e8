// Package bls signs and verifies BLS signatures over the curve BLS12-381 as
// Avalanche uses them: public keys in G1 (48 bytes compressed), signatures in
// G2 (96 bytes compressed). It is built for many signatures over one message:
// decompress each on arrival, add them up, and check only the sum.
//
// # What a check of the sum proves, and what not
//
// For signers with keys pk_i = sk_i·g1, a message with hash H and parts s_i,
// [Verify] tests that S = Σ s_i lies in the subgroup of order r and that
// e(g1, S) = e(Σ pk_i, H), which holds for exactly one point of the subgroup:
// S = (Σ sk_i)·H. No weights are needed, because S and the signer set are what
// is passed on, and because a destination chain makes the very same test. A
// signer set cannot be forged by a key made to cancel others (pk' = x·g1 - pk)
// since a validator's key is registered only with a proof that its owner
// knows the secret key. (The sum of keys of one message is all that is
// tested, so this package must never be fed keys without that proof.)
//
// It does not prove the parts: s_a + D and s_b - D have a valid sum for any
// point D. So validity belongs to the set: a part that was seen only inside a
// valid sum may be used again only inside a sum that is checked again, or after
// a check by itself.
//
// # Subgroups
//
// The curve of G2 has points outside the subgroup; its cofactor is divisible by
// 13² and 23², so there are points of order 13. [DecodeSignature] does not look
// for them, which costs more than decoding, since one check of the sum covers
// what is passed on. Components outside the subgroup that cancel in the sum
// change nothing: the sum is what it would be without them.
package bls

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	blst "github.com/supranational/blst/bindings/go"
)

const (
	// PublicKeyLen is the length of a compressed public key in bytes.
	PublicKeyLen = blst.BLST_P1_COMPRESS_BYTES
	// UncompressedLen is the length of an uncompressed public key in bytes.
	UncompressedLen = blst.BLST_P1_SERIALIZE_BYTES
	// SignatureLen is the length of a compressed signature in bytes.
	SignatureLen = blst.BLST_P2_COMPRESS_BYTES
	// SecretKeyLen is the length of a secret key in bytes.
	SecretKeyLen = blst.BLST_SCALAR_BYTES

	signatureDST = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
	proofDST     = "BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
)

// Errors of the parsers; errors.Is tells them apart.
var (
	ErrLength    = errors.New("wrong length")
	ErrEncoding  = errors.New("not a compressed point of the curve")
	ErrInfinity  = errors.New("point at infinity")
	ErrSubgroup  = errors.New("point outside the subgroup")
	ErrSecretKey = errors.New("secret key is zero or not below the group order")
)

// SecretKey signs. It is immutable and safe for concurrent use.
type SecretKey struct {
	sk *blst.SecretKey
	pk *PublicKey
}

// SecretKeyFromSeed derives a key from a seed of any length: the same seed
// always returns the same key, which is as secret as the seed.
func SecretKeyFromSeed(seed []byte) *SecretKey {
	ikm := sha256.Sum256(seed)
	return newSecretKey(blst.KeyGen(ikm[:]))
}

func newSecretKey(sk *blst.SecretKey) *SecretKey {
	pk := new(PublicKey)
	pk.p.From(sk)
	copy(pk.compressed[:], pk.p.Compress())
	copy(pk.uncompressed[:], pk.p.Serialize())
	return &SecretKey{sk: sk, pk: pk}
}

// PublicKey returns the public key.
func (k *SecretKey) PublicKey() *PublicKey { return k.pk }

// Bytes returns the 32-byte big-endian form.
func (k *SecretKey) Bytes() [SecretKeyLen]byte { return [SecretKeyLen]byte(k.sk.Serialize()) }

// Sign signs msg as validators sign warp messages.
func (k *SecretKey) Sign(msg []byte) [SignatureLen]byte { return k.sign(msg, signatureDST) }

// SignProof signs msg in the domain of proofs of possession, which also signs
// the addresses of the peer protocol.
func (k *SecretKey) SignProof(msg []byte) [SignatureLen]byte { return k.sign(msg, proofDST) }

func (k *SecretKey) sign(msg []byte, dst string) [SignatureLen]byte {
	var sig blst.P2Affine
	sig.Sign(k.sk, msg, []byte(dst))
	return [SignatureLen]byte(sig.Compress())
}

// PublicKey is a valid public key: on the curve, in the subgroup, not infinity.
// It is immutable.
type PublicKey struct {
	p            blst.P1Affine
	compressed   [PublicKeyLen]byte
	uncompressed [UncompressedLen]byte
}

// ParsePublicKey reads the 48-byte compressed form and validates the key.
func ParsePublicKey(b []byte) (*PublicKey, error) {
	if len(b) != PublicKeyLen {
		return nil, fmt.Errorf("public key: %w: want %d bytes, got %d", ErrLength, PublicKeyLen, len(b))
	}
	k := &PublicKey{compressed: [PublicKeyLen]byte(b)}
	if k.p.Uncompress(b) == nil {
		return nil, fmt.Errorf("public key: %w", ErrEncoding)
	}
	if k.p == (blst.P1Affine{}) {
		return nil, fmt.Errorf("public key: %w", ErrInfinity)
	}
	if !k.p.InG1() {
		return nil, fmt.Errorf("public key: %w", ErrSubgroup)
	}
	copy(k.uncompressed[:], k.p.Serialize())
	return k, nil
}

// Compressed returns the 48-byte form that [ParsePublicKey] reads. Each key has only one.
func (k *PublicKey) Compressed() [PublicKeyLen]byte { return k.compressed }

// Uncompressed returns x and y, 48 bytes big-endian each.
func (k *PublicKey) Uncompressed() [UncompressedLen]byte { return k.uncompressed }

// Compare orders keys as a warp message orders validators: by their
// uncompressed bytes. (The compressed ones have the sign of y in their first
// byte and so another order.)
func (k *PublicKey) Compare(o *PublicKey) int {
	return bytes.Compare(k.uncompressed[:], o.uncompressed[:])
}

// Message is a message hashed to the curve. It is immutable.
type Message struct {
	h blst.P2Affine
}

// HashMessage hashes msg to the curve, the costly first step of every check:
// do it once per message.
func HashMessage(msg []byte) *Message {
	return &Message{h: *blst.HashToG2(msg, []byte(signatureDST)).ToAffine()}
}

// Signature is one signer's signature: a point of the curve, not infinity, but
// not known to be in the subgroup (see the package comment).
type Signature struct {
	p blst.P2Affine
}

// DecodeSignature reads the 96-byte compressed form. It does not check the
// subgroup: use the result only in sums that are verified.
func DecodeSignature(b []byte) (*Signature, error) {
	s := new(Signature)
	if err := DecodeSignatureInto(s, b); err != nil {
		return nil, err
	}
	return s, nil
}

// DecodeSignatureInto is [DecodeSignature] into the caller's memory. After an
// error the content of dst must not be used.
func DecodeSignatureInto(dst *Signature, b []byte) error { return decode(&dst.p, b) }

func decode(dst *blst.P2Affine, b []byte) error {
	if len(b) != SignatureLen {
		return fmt.Errorf("signature: %w: want %d bytes, got %d", ErrLength, SignatureLen, len(b))
	}
	if dst.Uncompress(b) == nil {
		return fmt.Errorf("signature: %w", ErrEncoding)
	}
	if *dst == (blst.P2Affine{}) {
		return fmt.Errorf("signature: %w", ErrInfinity)
	}
	return nil
}

// InSubgroup reports whether the signature is in the subgroup, as a valid one is.
func (s *Signature) InSubgroup() bool { return s.p.InG2() }
