// Package consensus holds the encodings that the hashes of EVM chains cover, and
// computes those hashes: headers of the C-Chain (coreth) and of L1s (subnet-evm)
// of all upgrades, transactions of types 0 to 4, receipts, the roots over both,
// the filter of logs, account proofs and the senders that signatures show.
//
// It does no I/O and believes nothing: each parser takes bytes from outside,
// accepts only the one canonical encoding of a value, and returns errors.
//
// RLP is taken apart and secp256k1 computed by go-ethereum's packages rlp and
// crypto/secp256k1, which bring four and one further packages with them. Its
// packages trie and core/types would bring 40 and more, so the root of an ordered
// list is computed here.
package consensus

import (
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
)

var (
	// ErrEncoding is wrapped by all errors about bytes that are no canonical
	// encoding of what they should be.
	ErrEncoding = errors.New("malformed encoding")
	// ErrUnknownType is wrapped by errors about transactions of a type that is not
	// known here.
	ErrUnknownType = errors.New("unknown type of transaction")
	// ErrSignature is wrapped by errors about signatures that no account can have made.
	ErrSignature = errors.New("impossible signature")
)

// EmptyRoot is the root of no transactions and of no receipts, and the hash of
// empty ExtData: the hash of an empty string.
var EmptyRoot = evm.Keccak([]byte{0x80})

// EmptyUncles is the hash of an empty list. All blocks have it: there are no uncles.
var EmptyUncles = evm.Keccak([]byte{0xc0})

// ExtDataHash is what a header of the C-Chain says of its block's ExtData.
func ExtDataHash(data []byte) evm.Hash {
	if len(data) == 0 {
		return EmptyRoot
	}
	return evm.Keccak(AppendString(make([]byte, 0, len(data)+9), data))
}

// Mismatch is the error about a part of a block that does not fit the block's hash.
type Mismatch struct {
	Number uint64
	// Field is the JSON name of the member that does not fit, with the index of
	// its transaction if it is of one.
	Field     string
	Got, Want string
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("block %d: %s is %s, computed %s", m.Number, m.Field, m.Got, m.Want)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrEncoding, fmt.Errorf(format, args...))
}
