// Package chain holds the plain types every other package speaks in: chain and
// node identifiers and their text forms. It does no I/O and carries no JSON tags.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	//lint:ignore SA1019 node IDs are defined by this hash
	"golang.org/x/crypto/ripemd160"
)

// The numbers of the public networks. Every network but mainnet is a test network.
const (
	MainnetID uint32 = 1
	FujiID    uint32 = 5
)

const (
	// IDLen is the length of an ID in bytes.
	IDLen = 32
	// NodeIDLen is the length of a NodeID in bytes.
	NodeIDLen = 20
	// nodeIDPrefix starts the text form of every node ID.
	nodeIDPrefix = "NodeID-"
)

// ID names a chain, a subnet, a transaction or a message: 32 bytes, written in CB58.
type ID [IDLen]byte

// NodeID names a validator: the RIPEMD-160 of the SHA-256 of its TLS leaf certificate.
type NodeID [NodeIDLen]byte

// PrimaryNetworkID is the subnet ID of the primary network, and PlatformChainID
// the chain ID of the P-Chain: both are 32 zero bytes.
var (
	PrimaryNetworkID ID
	PlatformChainID  ID
)

// Errors of the text forms.
var (
	ErrChecksum = errors.New("invalid checksum")
	ErrLength   = errors.New("wrong length")
)

// String returns the CB58 form.
func (id ID) String() string { return string(id.Append(nil)) }

// Append appends the CB58 form.
func (id *ID) Append(b []byte) []byte { return appendCB58(b, id[:]) }

// IsZero reports whether all bytes are zero.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads the CB58 form.
func ParseID(s string) (ID, error) {
	var id ID
	err := decodeCB58(s, id[:])
	return id, err
}

// ParseIDHexOrCB58 reads 64 hex digits, with or without 0x, or the CB58 form.
func ParseIDHexOrCB58(s string) (ID, error) {
	digits, prefixed := strings.CutPrefix(s, "0x")
	if prefixed || len(digits) == 2*IDLen {
		var id ID
		if len(digits) != 2*IDLen {
			return id, fmt.Errorf("%w: want %d hex digits, got %d", ErrLength, 2*IDLen, len(digits))
		}
		_, err := hex.Decode(id[:], []byte(digits))
		return id, err
	}
	return ParseID(s)
}

// String returns the text form, NodeID-<CB58>.
func (id NodeID) String() string { return string(id.Append(nil)) }

// Append appends the text form.
func (id *NodeID) Append(b []byte) []byte { return appendCB58(append(b, nodeIDPrefix...), id[:]) }

// ParseNodeID reads the text form, NodeID-<CB58>.
func ParseNodeID(s string) (NodeID, error) {
	var id NodeID
	rest, ok := strings.CutPrefix(s, nodeIDPrefix)
	if !ok {
		return id, fmt.Errorf("node ID must start with %q", nodeIDPrefix)
	}
	err := decodeCB58(rest, id[:])
	return id, err
}

// NodeIDFromCert returns the node ID of a TLS leaf certificate in DER form.
func NodeIDFromCert(der []byte) NodeID {
	sum := sha256.Sum256(der)
	h := ripemd160.New()
	h.Write(sum[:])
	var id NodeID
	h.Sum(id[:0])
	return id
}
