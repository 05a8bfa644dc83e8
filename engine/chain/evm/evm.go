// Package evm holds the plain types of EVM chains: blocks with all that
// happened in them, as indexes and rollups take them. It does no I/O and
// carries no JSON tags.
package evm

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/crypto/keccak"
	"github.com/holiman/uint256"
)

const (
	// AddressLen is the length of an Address in bytes.
	AddressLen = 20
	// HashLen is the length of a Hash in bytes.
	HashLen = 32
)

// Address is an account.
type Address [AddressLen]byte

// Hash is a Keccak-256 hash, for example of a block, a transaction or a topic.
type Hash [HashLen]byte

// ErrForm is wrapped by errors of the text forms.
var ErrForm = errors.New("malformed")

// Keccak hashes data.
func Keccak(data ...[]byte) (h Hash) {
	d := keccak.NewLegacyKeccak256()
	for _, b := range data {
		d.Write(b) // never fails
	}
	d.Sum(h[:0])
	return h
}

// String returns 0x and lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// IsZero reports whether all bytes are zero.
func (h Hash) IsZero() bool { return h == Hash{} }

// IsZero reports whether all bytes are zero.
func (a Address) IsZero() bool { return a == Address{} }

// String returns the EIP-55 checksummed form.
func (a Address) String() string { return string(a.Append(nil)) }

// Append appends the EIP-55 checksummed form.
func (a Address) Append(b []byte) []byte {
	n := len(b)
	b = hex.AppendEncode(append(b, '0', 'x'), a[:])
	digits := b[n+2:]
	for c, i := a.Capitals(), 0; c != 0; c, i = c>>1, i+1 {
		digits[i] -= byte(c&1) * ('a' - 'A')
	}
	return b
}

// Capitals says which digits of an address' checksummed form are capitals: a bit for
// each of the 40, the first one lowest.
type Capitals uint64

// CapitalsLen is the number of bytes that have all bits of Capitals.
const CapitalsLen = 2 * AddressLen / 8

// Capitals returns the capitals of the EIP-55 checksummed form. It is a Keccak hash.
func (a *Address) Capitals() (c Capitals) {
	var digits [2 * AddressLen]byte
	hex.Encode(digits[:], a[:])
	sum := Keccak(digits[:])
	for i := range a {
		// A digit that is a letter is a capital if the hash's digit is 8 or more.
		if digits[2*i] >= 'a' {
			c |= Capitals(sum[i]>>7) << (2 * i)
		}
		if digits[2*i+1] >= 'a' {
			c |= Capitals(sum[i]>>3&1) << (2*i + 1)
		}
	}
	return c
}

// ParseAddress reads 0x and 40 hex digits of any case; a checksum is not asked for.
func ParseAddress(s string) (a Address, err error) {
	if len(s) == 2+2*len(a) && s[0] == '0' && s[1]|0x20 == 'x' {
		if _, err = hex.Decode(a[:], []byte(s[2:])); err == nil {
			return a, nil
		}
	}
	return a, fmt.Errorf("%w address: want 0x and %d hex digits", ErrForm, 2*len(a))
}

// CreateAddress is the address of the contract that from creates with nonce by
// a transaction or by CREATE: the last 20 bytes of the hash of their RLP list.
func CreateAddress(from Address, nonce uint64) (a Address) {
	list := append([]byte{0, 0x80 + AddressLen}, from[:]...)
	switch {
	case nonce == 0:
		list = append(list, 0x80)
	case nonce < 0x80:
		list = append(list, byte(nonce))
	default:
		n := uint256.NewInt(nonce).Bytes()
		list = append(append(list, 0x80+byte(len(n))), n...)
	}
	list[0] = 0xc0 + byte(len(list)-1)
	h := Keccak(list)
	copy(a[:], h[12:])
	return a
}
