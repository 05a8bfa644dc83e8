// Package warp reads and writes Avalanche warp messages: the unsigned message,
// its payloads, and the form signed by a set of validators. All integers are
// big-endian. Parsers look only at the bytes given and never keep more of them.
//
//	unsigned: u16 0 | u32 networkID | 32 sourceChainID | u32 len | payload
//	signed:   unsigned | u32 0 | u32 len | signers | 96-byte aggregate
//	signers:  minimal big-endian integer, bit i = canonical validator i
package warp

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"quorate/engine/chain"
)

const (
	// MaxPayload bounds a payload in bytes; validators refuse longer ones.
	MaxPayload = 24 << 10
	// SignatureLen is the length of an aggregate signature in bytes.
	SignatureLen = 96
	// MaxSigners bounds the signer bit set in bytes: 64 Ki validators.
	MaxSigners = 8 << 10

	headerLen    = 2 + 4 + chain.IDLen + 4
	codecVersion = 0
	// bitSetSignature is the type number of the only signature form there is.
	bitSetSignature = 0
)

// ErrMalformed is wrapped by every parse error of this package.
var ErrMalformed = errors.New("malformed warp message")

// Unsigned is a warp message that validators sign. It is immutable.
type Unsigned struct {
	NetworkID     uint32
	SourceChainID chain.ID
	// Payload aliases Bytes.
	Payload []byte

	bytes []byte
	id    chain.ID
}

// New builds an unsigned message.
func New(networkID uint32, source chain.ID, payload []byte) (*Unsigned, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("%w: payload of %d bytes, at most %d", ErrMalformed, len(payload), MaxPayload)
	}
	b := make([]byte, 0, headerLen+len(payload))
	b = binary.BigEndian.AppendUint16(b, codecVersion)
	b = binary.BigEndian.AppendUint32(b, networkID)
	b = append(b, source[:]...)
	b = appendBytes(b, payload)
	return Parse(b)
}

// Parse reads an unsigned message. It keeps b, which must not change afterwards.
func Parse(b []byte) (*Unsigned, error) {
	u, rest, err := parseHead(b)
	if err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the payload", ErrMalformed, len(rest))
	}
	return u, nil
}

// Bytes returns the message as validators sign it. The caller must not change it.
func (u *Unsigned) Bytes() []byte { return u.bytes }

// ID returns the message's ID, the SHA-256 of its bytes.
func (u *Unsigned) ID() chain.ID { return u.id }

func parseHead(b []byte) (*Unsigned, []byte, error) {
	if len(b) < headerLen {
		return nil, nil, fmt.Errorf("%w: %d bytes, at least %d", ErrMalformed, len(b), headerLen)
	}
	if v := binary.BigEndian.Uint16(b); v != codecVersion {
		return nil, nil, fmt.Errorf("%w: codec version %d", ErrMalformed, v)
	}
	u := &Unsigned{NetworkID: binary.BigEndian.Uint32(b[2:])}
	copy(u.SourceChainID[:], b[6:])
	payload, rest, err := takeBytes(b[headerLen-4:], MaxPayload)
	if err != nil {
		return nil, nil, err
	}
	u.Payload = payload
	u.bytes = b[: len(b)-len(rest) : len(b)-len(rest)]
	u.id = sha256.Sum256(u.bytes)
	return u, rest, nil
}

// Signed is a warp message with the aggregate signature of its signers.
type Signed struct {
	*Unsigned
	// Signers is the minimal big-endian bit set of canonical validator indices.
	Signers   []byte
	Signature [SignatureLen]byte
}

// AppendSigned appends the signed form to dst. signers must be minimal
// (see [Bits.Signers]) and unsigned the bytes of an unsigned message.
func AppendSigned(dst, unsigned, signers []byte, sig *[SignatureLen]byte) []byte {
	dst = append(dst, unsigned...)
	dst = binary.BigEndian.AppendUint32(dst, bitSetSignature)
	dst = appendBytes(dst, signers)
	return append(dst, sig[:]...)
}

// SignedLen is the length in bytes that [AppendSigned] adds.
func SignedLen(unsigned, signers []byte) int {
	return len(unsigned) + 8 + len(signers) + SignatureLen
}

// ParseSigned reads a signed message. It keeps b.
func ParseSigned(b []byte) (*Signed, error) {
	u, rest, err := parseHead(b)
	if err != nil {
		return nil, err
	}
	if len(rest) < 4 {
		return nil, fmt.Errorf("%w: no signature", ErrMalformed)
	}
	if typ := binary.BigEndian.Uint32(rest); typ != bitSetSignature {
		return nil, fmt.Errorf("%w: signature type %d", ErrMalformed, typ)
	}
	signers, rest, err := takeBytes(rest[4:], MaxSigners)
	if err != nil {
		return nil, err
	}
	if len(signers) > 0 && signers[0] == 0 {
		return nil, fmt.Errorf("%w: signer bits start with a zero byte", ErrMalformed)
	}
	if len(rest) != SignatureLen {
		return nil, fmt.Errorf("%w: signature of %d bytes, want %d", ErrMalformed, len(rest), SignatureLen)
	}
	return &Signed{Unsigned: u, Signers: signers, Signature: [SignatureLen]byte(rest)}, nil
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b))) // lengths are bounded by callers
	return append(dst, b...)
}

// takeBytes cuts a length-prefixed byte string of at most limit bytes off b.
func takeBytes(b []byte, limit int) (head, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("%w: truncated length", ErrMalformed)
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	if uint64(n) > uint64(limit) {
		return nil, nil, fmt.Errorf("%w: length %d, at most %d", ErrMalformed, n, limit)
	}
	if int(n) > len(b) {
		return nil, nil, fmt.Errorf("%w: length %d, only %d bytes left", ErrMalformed, n, len(b))
	}
	return b[:n:n], b[n:], nil
}
