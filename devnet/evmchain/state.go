package evmchain

import (
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// MaxProvenTxs bounds the transactions of a history with [Config.StateProofs]:
// each leaves some 10 kB of the trie behind.
const MaxProvenTxs = 50_000

// noCode is the code hash of accounts without code.
var noCode = evm.Keccak(nil)

// stateNode is a node of a Merkle-Patricia trie. It never changes, so the tries of the
// accounts after all blocks share what is equal in them.
type stateNode struct {
	path     []byte          // of a leaf or an extension, in nibbles
	value    []byte          // of a leaf
	children *[16]*stateNode // of a branch
	child    *stateNode      // of an extension: a branch
	hash     evm.Hash        // zero until someone asks
}

// encode is the node's RLP. No node is so short that it lies in its parent: accounts,
// transactions and receipts are too long, and so are paths to two of them.
func (n *stateNode) encode() []byte {
	switch {
	case n.children != nil:
		var hashes [17]any // the last one is a value, which there is not: no key ends here
		for i, c := range n.children {
			if c != nil {
				hashes[i] = c.sum()[:]
			}
		}
		return encode(hashes[:])
	case n.child != nil:
		return encode([]any{packed(n.path, 0), n.child.sum()[:]})
	default:
		return encode([]any{packed(n.path, 2), n.value})
	}
}

// sum is the node's hash.
func (n *stateNode) sum() *evm.Hash {
	if n.hash.IsZero() {
		n.hash = evm.Keccak(n.encode())
	}
	return &n.hash
}

// packed packs nibbles behind a flag, which is 2 for the end of a key.
func packed(nibbles []byte, flag byte) []byte {
	if len(nibbles)%2 == 1 {
		nibbles = append([]byte{flag + 1}, nibbles...)
	} else {
		nibbles = append([]byte{flag, 0}, nibbles...)
	}
	for i := range len(nibbles) / 2 {
		nibbles[i] = nibbles[2*i]<<4 | nibbles[2*i+1]
	}
	return nibbles[:len(nibbles)/2]
}

// nibbles splits bytes in two.
func nibbles(b []byte) []byte {
	out := make([]byte, 0, 2*len(b))
	for _, v := range b {
		out = append(out, v>>4, v&0xf)
	}
	return out
}

// listRoot is the root of the trie of a list, each value under the RLP of its index.
func listRoot(n int, value func(i int) []byte) evm.Hash {
	if n == 0 {
		return emptyRoot
	}
	var trie *stateNode
	for i := range n {
		trie = trie.with(nibbles(rlp.AppendUint64(nil, uint64(i))), value(i)) // not negative
	}
	return *trie.sum()
}

// with is the trie with a value under what is left of a key. n may be nil.
func (n *stateNode) with(key, value []byte) *stateNode {
	switch {
	case n == nil:
		return &stateNode{path: key, value: value}
	case n.children != nil:
		children := *n.children
		children[key[0]] = children[key[0]].with(key[1:], value)
		return &stateNode{children: &children}
	}
	same := 0
	for same < len(n.path) && n.path[same] == key[same] {
		same++
	}
	switch {
	case same == len(n.path) && n.child == nil:
		return &stateNode{path: n.path, value: value}
	case same == len(n.path):
		return &stateNode{path: n.path, child: n.child.with(key[same:], value)}
	}
	var children [16]*stateNode
	children[n.path[same]] = n.below(same + 1)
	children[key[same]] = (*stateNode)(nil).with(key[same+1:], value)
	branch := &stateNode{children: &children}
	if same == 0 {
		return branch
	}
	return &stateNode{path: key[:same], child: branch}
}

// below is a leaf or an extension without the beginning of its path.
func (n *stateNode) below(skip int) *stateNode {
	if n.child != nil && skip == len(n.path) {
		return n.child
	}
	return &stateNode{path: n.path[skip:], value: n.value, child: n.child}
}

// proof is the nodes from the root to where a key is or would be.
func (n *stateNode) proof(key []byte) (nodes [][]byte) {
	for n != nil {
		nodes = append(nodes, n.encode())
		switch {
		case n.children != nil:
			n, key = n.children[key[0]], key[1:]
		case n.child != nil && string(key[:len(n.path)]) == string(n.path):
			n, key = n.child, key[len(n.path):]
		default:
			return nodes
		}
	}
	return nodes
}

// storage is the one slot that stands for all that a contract keeps: how often it changed.
type storage struct{ count uint32 }

// slotKey is the key of slot 0 in the trie of a contract's storage.
var slotKey = evm.Keccak(make([]byte, wordLen))

// leaf is the storage's trie, which has one node at most.
func (s storage) leaf() *stateNode {
	return (*stateNode)(nil).with(nibbles(slotKey[:]), encode(uint64(s.count)))
}

func (s storage) root() evm.Hash {
	if s.count == 0 {
		return emptyRoot
	}
	return *s.leaf().sum()
}

// storageOf is a contract's storage after a block.
func (l *ledger) storageOf(account, height uint32) storage {
	return storage{numberAt(l.touches[account], height, 0)}
}

// touch notes that a contract's storage changed.
func (l *ledger) touch(account, height uint32) {
	if l.dirty == nil {
		return
	}
	l.dirty[account] = struct{}{}
	l.touches[account] = setNumber(l.touches[account], height, numberAt(l.touches[account], height, 0)+1)
}

// accountRLP is what the trie has of an account after a block. On the C-Chain it
// says besides that the account holds no other assets.
func (l *ledger) accountRLP(account, height uint32, cChain bool) []byte {
	e := l.state(account, height)
	wei, root, code := e.wei(), l.storageOf(account, height).root(), l.codeHash(account, height)
	list := []any{uint64(e.nonce), &wei, root[:], code[:]}
	if cChain {
		list = append(list, uint64(0))
	}
	return encode(list)
}

func (l *ledger) codeHash(account, height uint32) evm.Hash {
	if code := codeOf(&l.accounts[account], height); len(code) > 0 {
		return evm.Keccak(code)
	}
	return noCode
}

// prove brings the trie up to date with what changed in a block.
func (l *ledger) prove(trie *stateNode, height uint32, cChain bool) *stateNode {
	for account := range l.dirty {
		key := evm.Keccak(l.accounts[account].address[:])
		trie = trie.with(nibbles(key[:]), l.accountRLP(account, height, cChain))
	}
	clear(l.dirty)
	trie.sum()
	return trie
}

// Proof is what eth_getProof returns for an account.
type Proof struct {
	Nodes             [][]byte // from the root down
	Balance           uint256.Int
	Nonce             uint64
	Code, StorageRoot evm.Hash // zero for an account that is not there
	// Slot is the value of storage slot 0, SlotNodes its proof, and that of the
	// absence of all other slots.
	Slot      uint64
	SlotNodes [][]byte
}

// Proof proves an account after a block; false on a chain without [Config.StateProofs].
// The height must exist.
func (c *Chain) Proof(a evm.Address, height uint64) (p Proof, ok bool) {
	defer c.read()()
	if !c.cfg.StateProofs {
		return p, false
	}
	key := evm.Keccak(a[:])
	p.Nodes = c.states[height].proof(nibbles(key[:]))
	index, ok := c.ledger.byAddr[a]
	at := uint32(height) // bounded
	e := entry{}
	if ok {
		e = c.ledger.state(index, at)
	}
	if p.Balance, p.Nonce = e.wei(), uint64(e.nonce); p.Nonce == 0 && p.Balance.IsZero() {
		return p, true
	}
	s := c.ledger.storageOf(index, at)
	p.Code, p.StorageRoot = c.ledger.codeHash(index, at), s.root()
	if s.count > 0 {
		p.Slot, p.SlotNodes = uint64(s.count), [][]byte{s.leaf().encode()}
	}
	return p, true
}
