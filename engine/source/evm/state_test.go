package evm

import (
	"bytes"
	"maps"
	"slices"
	"sync"

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

	mu    sync.Mutex
	nodes map[subtree][]byte // encoded before
}

func newState(wei map[evm.Address]uint256.Int) *state {
	s := &state{wei: maps.Clone(wei), value: map[evm.Hash][]byte{}, nodes: map[subtree][]byte{}}
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
		s.root = evm.Keccak(s.node(s.keys, 0))
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

// subtree is the node over keys from the one at first on.
type subtree struct {
	first    evm.Hash
	n, depth int
}

// common is the depth at which keys in order begin to differ.
func common(keys []evm.Hash, depth int) int {
	for digit(&keys[0], depth) == digit(&keys[len(keys)-1], depth) {
		depth++
	}
	return depth
}

// under returns the keys with a digit at a depth.
func under(keys []evm.Hash, depth int, d byte) []evm.Hash {
	first := slices.IndexFunc(keys, func(k evm.Hash) bool { return digit(&k, depth) == d })
	if first < 0 {
		return nil
	}
	n := 1
	for first+n < len(keys) && digit(&keys[first+n], depth) == d {
		n++
	}
	return keys[first : first+n]
}

// node encodes the node over keys. Callers hold mu.
func (s *state) node(keys []evm.Hash, depth int) []byte {
	at := subtree{keys[0], len(keys), depth}
	enc, ok := s.nodes[at]
	if !ok {
		enc = s.encode(keys, depth)
		s.nodes[at] = enc
	}
	return enc
}

func (s *state) encode(keys []evm.Hash, depth int) []byte {
	if len(keys) == 1 {
		return must(rlp.EncodeToBytes([][]byte{path(&keys[0], depth, 64, 0x20), s.value[keys[0]]}))
	}
	below := func(keys []evm.Hash, depth int) rlp.RawValue {
		sum := evm.Keccak(s.node(keys, depth)) // accounts are longer than a hash
		return must(rlp.EncodeToBytes(sum))
	}
	if end := common(keys, depth); end > depth {
		return must(rlp.EncodeToBytes([]any{path(&keys[0], depth, end, 0), below(keys, end)}))
	}
	items := make([]any, 17)
	for d := range byte(16) {
		items[d] = []byte{}
		if some := under(keys, depth, d); len(some) > 0 {
			items[d] = below(some, depth+1)
		}
	}
	items[16] = []byte{}
	return must(rlp.EncodeToBytes(items))
}

// prove returns the nodes on the way to an account, as far as there are any.
func (s *state) prove(a evm.Address) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := evm.Keccak(a[:])
	for keys, depth := s.keys, 0; len(keys) > 0; {
		list = append(list, hexData(s.node(keys, depth)))
		if len(keys) == 1 {
			break
		}
		if end := common(keys, depth); end > depth {
			for ; depth < end; depth++ {
				if digit(&key, depth) != digit(&keys[0], depth) {
					return list
				}
			}
			continue
		}
		keys, depth = under(keys, depth, digit(&key, depth)), depth+1
	}
	return list
}
