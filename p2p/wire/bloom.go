package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"quorate/engine/chain"
)

// ErrBloom is returned for bytes that are not a bloom filter.
var ErrBloom = errors.New("not a bloom filter")

const (
	maxHashes    = 16
	seedLen      = 8
	hashRotation = 17

	// Ten bits and seven hashes an item: one false positive in about 120.
	bloomHashes      = 7
	bloomBitsPerItem = 10
)

// Bloom is the set of known claims that a peer list request carries:
//
//	number of hashes (1 B, 1..16) | seeds (8 B BE each) | bits (at least 1 B)
type Bloom struct {
	seeds []uint64
	bits  []byte
}

// NewBloom returns an empty filter sized for the number of items, with hash
// seeds from seed, which should be random: a fixed one always gives the same
// false positives.
func NewBloom(items int, seed func() uint64) *Bloom {
	f := &Bloom{
		seeds: make([]uint64, bloomHashes),
		bits:  make([]byte, max(1, (items*bloomBitsPerItem+7)/8)),
	}
	for i := range f.seeds {
		f.seeds[i] = seed()
	}
	return f
}

// ParseBloom reads a serialized filter.
func ParseBloom(b []byte) (*Bloom, error) {
	if len(b) == 0 || b[0] < 1 || b[0] > maxHashes {
		return nil, fmt.Errorf("%w: number of hashes", ErrBloom)
	}
	n := int(b[0])
	b = b[1:]
	if len(b) < n*seedLen+1 {
		return nil, fmt.Errorf("%w: too short", ErrBloom)
	}
	f := &Bloom{seeds: make([]uint64, n), bits: slices.Clone(b[n*seedLen:])}
	for i := range f.seeds {
		f.seeds[i] = binary.BigEndian.Uint64(b[i*seedLen:])
	}
	return f, nil
}

// Append appends the serialized filter.
func (f *Bloom) Append(dst []byte) []byte {
	dst = append(dst, byte(len(f.seeds)))
	for _, s := range f.seeds {
		dst = binary.BigEndian.AppendUint64(dst, s)
	}
	return append(dst, f.bits...)
}

// Add puts a claim's hash, see [ClaimHash], into the set.
func (f *Bloom) Add(hash uint64) {
	for _, seed := range f.seeds {
		hash = bits.RotateLeft64(hash, hashRotation) ^ seed
		i := hash % (8 * uint64(len(f.bits)))
		f.bits[i/8] |= 1 << (i % 8)
	}
}

// Contains reports whether the hash may be in the set; false is certain.
func (f *Bloom) Contains(hash uint64) bool {
	for _, seed := range f.seeds {
		hash = bits.RotateLeft64(hash, hashRotation) ^ seed
		i := hash % (8 * uint64(len(f.bits)))
		if f.bits[i/8]&(1<<(i%8)) == 0 {
			return false
		}
	}
	return true
}

// claimPreimage is a node ID and a time, in room meant for a longer ID: the
// rest stays zero and is hashed with it.
const claimPreimage = chain.IDLen + 8

// ClaimHash returns the hash by which filters know a node's claim of that time,
// the first 8 bytes of
//
//	SHA256(SHA256(node ID (20 B) | Unix seconds (u64 BE) | 12 zero bytes) | salt)
func ClaimHash(id chain.NodeID, timestamp uint64, salt []byte) uint64 {
	var preimage [claimPreimage]byte
	copy(preimage[:], id[:])
	binary.BigEndian.PutUint64(preimage[chain.NodeIDLen:], timestamp)
	gossipID := sha256.Sum256(preimage[:])
	salted := make([]byte, 0, len(gossipID)+MaxSalt)
	sum := sha256.Sum256(append(append(salted, gossipID[:]...), salt...))
	return binary.BigEndian.Uint64(sum[:])
}
