package consensus

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// ErrProof is wrapped by errors about proofs that prove nothing.
var ErrProof = errors.New("false proof")

// Account is what the state has of an account.
type Account struct {
	Nonce       uint64
	Balance     uint256.Int
	StorageRoot evm.Hash
	CodeHash    evm.Hash
}

// ProveAccount returns what the state with the given root has of an account, by
// the nodes of its trie from the root down to the account, or down to where it
// would be: then the account is empty.
func ProveAccount(root evm.Hash, a evm.Address, proof [][]byte) (Account, error) {
	key := evm.Keccak(a[:])
	value, err := prove(root, key[:], proof)
	if err != nil || value == nil {
		return Account{}, err
	}
	return parseAccount(value)
}

// parseAccount reads an account. On the C-Chain a further member says whether it
// has held other assets.
func parseAccount(value []byte) (acc Account, err error) {
	r := list(value)
	acc.Nonce = r.uint("nonce")
	r.wide("balance", &acc.Balance)
	acc.StorageRoot = r.hash("storageHash")
	acc.CodeHash = r.hash("codeHash")
	if r.more() {
		r.uint("multiCoin")
	}
	if err := r.end(); err != nil {
		return Account{}, fmt.Errorf("%w: account: %w", ErrProof, err)
	}
	return acc, nil
}

func disproved(what string) error { return fmt.Errorf("%w: %s", ErrProof, what) }

// prove returns the value at key in the trie with the given root, nil if there is none.
func prove(root evm.Hash, key []byte, proof [][]byte) ([]byte, error) {
	if root == EmptyRoot && (len(proof) == 0 || len(proof) == 1 && string(proof[0]) == "\x80") {
		return nil, nil
	}
	want, depth := root, 0
	for i, node := range proof {
		if evm.Keccak(node) != want {
			return nil, disproved("a node without the hash that its parent says")
		}
		// Short nodes lie in their parent.
		for {
			next, at, err := step(node, key, depth)
			if err != nil {
				return nil, err
			}
			depth = at
			switch {
			case next.done:
				if i != len(proof)-1 {
					return nil, disproved("nodes behind the last")
				}
				return next.value, nil
			case next.inside != nil:
				node = next.inside
				continue
			}
			want = next.hash
			break
		}
	}
	return nil, disproved("the last nodes are missing")
}

// further is where the way through a trie leads from a node.
type further struct {
	done   bool   // here it ends, at value
	value  []byte // nil: there is none
	inside []byte
	hash   evm.Hash
}

// step goes one node down.
func step(node, key []byte, depth int) (next further, at int, err error) {
	items, err := rlp.SplitListValues(node)
	if err != nil {
		return next, 0, fmt.Errorf("%w: %w", ErrProof, err)
	}
	switch len(items) {
	case 17:
		if depth == 2*len(key) {
			return next, 0, disproved("a branch at the end of the key")
		}
		next, err = child(items[nibble(key, depth)])
		return next, depth + 1, err
	case 2:
		path, leaf, err := readPath(items[0])
		if err != nil {
			return next, 0, err
		}
		if depth+len(path) > 2*len(key) || leaf && depth+len(path) != 2*len(key) || !leaf && len(path) == 0 {
			return next, 0, disproved("a path of the wrong length")
		}
		for i, n := range path {
			if nibble(key, depth+i) != n {
				return further{done: true}, 0, nil // the key is not there
			}
		}
		if !leaf {
			next, err = child(items[1])
			if err == nil && next.done {
				err = disproved("a path to nowhere")
			}
			return next, depth + len(path), err
		}
		value, rest, err := rlp.SplitString(items[1])
		if err != nil || len(rest) > 0 || len(value) == 0 {
			return next, 0, disproved("a leaf without a value")
		}
		return further{done: true, value: value}, 0, nil
	}
	return next, 0, disproved("a node that is none")
}

// child reads what stands for a node in its parent.
func child(item []byte) (further, error) {
	kind, content, _, err := rlp.Split(item)
	switch {
	case err != nil:
		return further{}, fmt.Errorf("%w: %w", ErrProof, err)
	case kind == rlp.List && len(item) < evm.HashLen:
		return further{inside: item}, nil
	case kind == rlp.String && len(content) == 0:
		return further{done: true}, nil
	case kind == rlp.String && len(content) == evm.HashLen:
		return further{hash: evm.Hash(content)}, nil
	}
	return further{}, disproved("a child that is none")
}

// readPath reads nibbles in their compact form.
func readPath(item []byte) (path []byte, leaf bool, err error) {
	b, rest, err := rlp.SplitString(item)
	if err != nil || len(rest) > 0 || len(b) == 0 || b[0] > 0x3f || b[0]&0x1f != 0 && b[0]&0x10 == 0 {
		return nil, false, disproved("a path that is none")
	}
	if b[0]&0x10 != 0 {
		path = append(path, b[0]&0xf)
	}
	for _, c := range b[1:] {
		path = append(path, c>>4, c&0xf)
	}
	return path, b[0]&0x20 != 0, nil
}
