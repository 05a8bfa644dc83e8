package evm

import (
	"bytes"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// state is what a test's chain has of its accounts, with a trie over it.
type state struct {
	wei map[evm.Address]uint256.Int

	keys  []evm.Hash // in order
	value map[evm.Hash][]byte
	root  evm.Hash
}

func newState(wei map[evm.Address]uint256.Int) *state {
	s := &state{wei: maps.Clone(wei), value: map[evm.Hash][]byte{}}
	empty := evm.Keccak(nil)
	for a, w := range wei {
		if w.IsZero() {
			continue
		}
		key := evm.Keccak(a[:])
		s.value[key] = must(rlp.EncodeToBytes([]any{uint64(1), &w, consensus.EmptyRoot, empty, false}))
		s.keys = append(s.keys, key)
	}
	slices.SortFunc(s.keys, func(a, b evm.Hash) int { return bytes.Compare(a[:], b[:]) })
	if s.root = consensus.EmptyRoot; len(s.keys) > 0 {
		s.root = evm.Keccak(s.node(s.keys, 0, nil, nil))
	}
	return s
}

func digit(key *evm.Hash, i int) byte { return key[i/2] >> (4 * (1 - i%2)) & 0xf }

// path is the compact form of a key from a depth on.
func path(key *evm.Hash, from, to int, flag byte) []byte {
	var b []byte
	if (to-from)%2 == 1 {
		b, from = []byte{flag | 0x10 | digit(key, from)}, from+1
	} else {
		b = []byte{flag}
	}
	for ; from < to; from += 2 {
		b = append(b, digit(key, from)<<4|digit(key, from+1))
	}
	return b
}

// node encodes the node over keys, and adds those on the way to want to proof.
func (s *state) node(keys []evm.Hash, depth int, want *evm.Hash, proof *[][]byte) (enc []byte) {
	at := -1
	if want != nil {
		at = len(*proof)
		*proof = append(*proof, nil)
	}
	defer func() {
		if want != nil {
			(*proof)[at] = enc
		}
	}()
	if len(keys) == 1 {
		return must(rlp.EncodeToBytes([][]byte{path(&keys[0], depth, 64, 0x20), s.value[keys[0]]}))
	}
	end := depth
	for digit(&keys[0], end) == digit(&keys[len(keys)-1], end) {
		end++
	}
	below := func(keys []evm.Hash, depth int, on bool) rlp.RawValue {
		next := want
		if !on {
			next = nil
		}
		sum := evm.Keccak(s.node(keys, depth, next, proof)) // accounts are longer than a hash
		return must(rlp.EncodeToBytes(sum))
	}
	if end > depth {
		on := want != nil
		for i := depth; on && i < end; i++ {
			on = digit(want, i) == digit(&keys[0], i)
		}
		return must(rlp.EncodeToBytes([]any{path(&keys[0], depth, end, 0), below(keys, end, on)}))
	}
	items := make([]any, 17)
	for d := range byte(16) {
		items[d] = []byte{}
		first := slices.IndexFunc(keys, func(k evm.Hash) bool { return digit(&k, depth) == d })
		if first < 0 {
			continue
		}
		n := 1
		for first+n < len(keys) && digit(&keys[first+n], depth) == d {
			n++
		}
		items[d] = below(keys[first:first+n], depth+1, want != nil && digit(want, depth) == d)
	}
	items[16] = []byte{}
	return must(rlp.EncodeToBytes(items))
}

func (s *state) prove(a evm.Address) (list []string) {
	if len(s.keys) == 0 {
		return nil
	}
	var proof [][]byte
	key := evm.Keccak(a[:])
	s.node(s.keys, 0, &key, &proof)
	for _, n := range proof {
		list = append(list, hexData(n))
	}
	return list
}
