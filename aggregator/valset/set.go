// Package valset holds canonical validator sets: who may sign for a subnet at a
// P-Chain height, in the order that signed messages refer to. A [Keeper] follows
// the proposed height in the background, so that a request for the current set
// asks no node.
package valset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Member is one node of a validator set, as the P-Chain returns it. The type has
// no name of its own, so that a [Source] need not import this package.
type Member = struct {
	// NodeID may be zero for weight without a key.
	NodeID chain.NodeID
	// PublicKey is the compressed BLS key, or nil.
	PublicKey []byte
	// Weight is the node's stake; of nodes that share a key one may carry it all.
	Weight uint64
}

// L1Validator is a validator of an L1 and its balance in nAVAX; at 0 it is out of balance and
// inactive. A node may have several validations. The type has no name of its own, as [Member].
type L1Validator = struct {
	NodeID          chain.NodeID
	Weight, Balance uint64
}

// ErrMalformed is wrapped by the errors of [New]: the members cannot be a
// validator set.
var ErrMalformed = errors.New("malformed validator set")

// Validator is one entry of a canonical set: a BLS key and the nodes that sign with it.
type Validator struct {
	Key *bls.PublicKey
	// Weight is the stake of all nodes of the key.
	Weight uint64
	// NodeIDs are the nodes with this key, in ascending order. Any of them can be asked.
	NodeIDs []chain.NodeID
	// Underfunded reports that every node is an L1 validator so low on balance that
	// it may be inactive by the time that a signature is verified.
	Underfunded bool
}

// Set is the canonical validator set of a subnet at a height. It is immutable:
// nothing reachable from it may be changed.
type Set struct {
	SubnetID chain.ID
	Height   uint64
	// Digest stands for keys, weights, node IDs and total: sets of one subnet with
	// the same digest are the same set, whatever their height.
	Digest [sha256.Size]byte
	// Validators are in the order of their uncompressed keys: bit i of a signed
	// message is Validators[i].
	Validators []Validator
	// TotalWeight is the weight that quorums are measured against. It includes
	// members that have no key, and those of L1s that are out of balance.
	TotalWeight uint64
	// Inactive is the part of it whose L1 validators are out of balance or were
	// disabled, as far as that is known.
	Inactive uint64
	// OutOfBalance are the validators that are inactive now, as far as they are known: a
	// top-up has them sign again.
	OutOfBalance []L1Validator

	sum   bls.KeySum // of all keys
	index map[chain.NodeID]int32
}

// New builds the canonical set of members: nodes that share a key become one
// entry, and nodes without a key count only in the total. Keys are believed to
// have been registered with a proof of possession, as the P-Chain demands.
// keys may be nil.
func New(subnet chain.ID, height uint64, members []Member, keys *KeyCache) (*Set, error) {
	s := &Set{SubnetID: subnet, Height: height}
	byKey := make(map[*bls.PublicKey]int, len(members))
	parsed := make(map[[bls.PublicKeyLen]byte]*bls.PublicKey, len(members))
	s.index = make(map[chain.NodeID]int32, len(members))
	for i := range members {
		m := &members[i]
		sum, carry := bits.Add64(s.TotalWeight, m.Weight, 0)
		if carry != 0 {
			return nil, fmt.Errorf("%w: sum of weights exceeds 64 bits", ErrMalformed)
		}
		s.TotalWeight = sum
		if m.PublicKey == nil {
			continue
		}
		if _, twice := s.index[m.NodeID]; twice {
			return nil, fmt.Errorf("%w: node %s is in it twice", ErrMalformed, m.NodeID)
		}
		key, err := parseKey(m.PublicKey, parsed, keys)
		if err != nil {
			return nil, fmt.Errorf("%w: node %s: %w", ErrMalformed, m.NodeID, err)
		}
		at, known := byKey[key]
		if !known {
			at = len(s.Validators)
			byKey[key] = at
			s.Validators = append(s.Validators, Validator{Key: key})
		}
		v := &s.Validators[at]
		v.Weight += m.Weight // at most the total
		v.NodeIDs = append(v.NodeIDs, m.NodeID)
		s.index[m.NodeID] = int32(at) // overwritten below; sizes are bounded
	}
	if len(s.Validators) > maxValidators {
		return nil, fmt.Errorf("%w: %d validators, at most %d", ErrMalformed, len(s.Validators), maxValidators)
	}
	s.canonicalize()
	return s, nil
}

// maxValidators is what the signer bits of a message have room for.
const maxValidators = warp.MaxSigners * 8

// parseKey returns the same pointer for the same key within one set, even if the
// cache has dropped it in between.
func parseKey(b []byte, parsed map[[bls.PublicKeyLen]byte]*bls.PublicKey, keys *KeyCache) (*bls.PublicKey, error) {
	if len(b) != bls.PublicKeyLen {
		return bls.ParsePublicKey(b)
	}
	raw := [bls.PublicKeyLen]byte(b)
	if key, ok := parsed[raw]; ok {
		return key, nil
	}
	key, err := keys.Parse(b)
	if err == nil {
		parsed[raw] = key
	}
	return key, err
}

// canonicalize sorts, and derives what follows from the order.
func (s *Set) canonicalize() {
	slices.SortFunc(s.Validators, func(a, b Validator) int { return a.Key.Compare(b.Key) })
	h := sha256.New()
	var num [8]byte
	put := func(n uint64) {
		binary.BigEndian.PutUint64(num[:], n)
		h.Write(num[:])
	}
	h.Write(s.SubnetID[:])
	put(s.TotalWeight)
	all := make([]*bls.PublicKey, len(s.Validators))
	for i := range s.Validators {
		v := &s.Validators[i]
		slices.SortFunc(v.NodeIDs, func(a, b chain.NodeID) int { return bytes.Compare(a[:], b[:]) })
		key := v.Key.Compressed()
		h.Write(key[:])
		put(v.Weight)
		put(uint64(len(v.NodeIDs)))
		for _, id := range v.NodeIDs {
			h.Write(id[:])
			s.index[id] = int32(i) // at most maxValidators
		}
		all[i] = v.Key
	}
	h.Sum(s.Digest[:0])
	s.sum = bls.SumKeys(all)
}

// Index returns the position of the entry that a node signs for.
func (s *Set) Index(id chain.NodeID) (int, bool) {
	i, ok := s.index[id]
	return int(i), ok
}

// KeySum returns the sum of the signers' keys. A large quorum costs as much as
// the few that are missing from it: they are taken off the sum of all.
func (s *Set) KeySum(signers warp.Bits) bls.KeySum {
	n := len(s.Validators)
	in := signers.Count()
	missing := in > n/2
	want := in
	if missing {
		want = n - in
	}
	keys := make([]*bls.PublicKey, 0, want)
	for i := range s.Validators {
		if signers.Has(i) != missing {
			keys = append(keys, s.Validators[i].Key)
		}
	}
	sum := bls.SumKeys(keys)
	if missing {
		return s.sum.Sub(sum)
	}
	return sum
}

// Weight returns the weight of the signers.
func (s *Set) Weight(signers warp.Bits) uint64 {
	var w uint64
	signers.Each(func(i int) { w += s.Validators[i].Weight }) // at most the total
	return w
}

// MeetsQuorum reports whether weight is at least percent of the total, without rounding.
func (s *Set) MeetsQuorum(weight uint64, percent int) bool {
	wantHi, wantLo := bits.Mul64(s.TotalWeight, uint64(max(percent, 0))) // not negative
	hi, lo := bits.Mul64(weight, 100)
	return hi > wantHi || hi == wantHi && lo >= wantLo
}

func (s *Set) appendNodes(ids []chain.NodeID) []chain.NodeID {
	for i := range s.Validators {
		ids = append(ids, s.Validators[i].NodeIDs...)
	}
	return ids
}

// Able is the weight of the validators that can be asked to sign.
func (s *Set) Able() uint64 {
	var w uint64
	for i := range s.Validators {
		if !s.Validators[i].Underfunded {
			w += s.Validators[i].Weight // at most the total
		}
	}
	return w
}

// at returns the same set at another height.
func (s *Set) at(height uint64) *Set {
	out := *s
	out.Height = height
	return &out
}

// marked returns the same set with Underfunded set where each node of an entry
// is in under.
func (s *Set) marked(under map[chain.NodeID]struct{}) *Set {
	out := *s
	out.Validators = slices.Clone(s.Validators)
	for i := range out.Validators {
		v := &out.Validators[i]
		v.Underfunded = !slices.ContainsFunc(v.NodeIDs, func(id chain.NodeID) bool {
			_, low := under[id]
			return !low
		})
	}
	return &out
}
