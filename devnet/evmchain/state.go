package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// MaxProvenTxs bounds the transactions of a history with [Config.StateProofs]:
// each leaves some 10 kB of the trie behind.
const MaxProvenTxs = 50_000

// noCode is the code hash of accounts without code.
var noCode = evm.Keccak(nil)

// stateNode is a node of the trie of all accounts. It never changes, so the tries
// of all blocks share what is equal in them.
type stateNode struct {
	path     []byte          // of a leaf or an extension, in nibbles
	value    []byte          // of a leaf
	children *[16]*stateNode // of a branch
	child    *stateNode      // of an extension: a branch
	hash     evm.Hash
}

// encode is the node's RLP. No node is so short that it lies in its parent:
// accounts are too long, and so are paths to two of them.
func (n *stateNode) encode() []byte {
	switch {
	case n.children != nil:
		body := make([]byte, 0, 17*33)
		for _, c := range n.children {
			if c == nil {
				body = append(body, 0x80)
				continue
			}
			body = appendBytes(body, c.hash[:])
		}
		return listOf(append(body, 0x80))
	case n.child != nil:
		return appendPair(nil, appendPath(nil, n.path, false), n.child.hash[:])
	default:
		return appendPair(nil, appendPath(nil, n.path, true), n.value)
	}
}

func (n *stateNode) hashed() *stateNode {
	n.hash = evm.Keccak(n.encode())
	return n
}

// with is the trie with a value under what is left of a key. n may be nil.
func (n *stateNode) with(key, value []byte) *stateNode {
	switch {
	case n == nil:
		return (&stateNode{path: key, value: value}).hashed()
	case n.children != nil:
		children := *n.children
		children[key[0]] = children[key[0]].with(key[1:], value)
		return (&stateNode{children: &children}).hashed()
	}
	same := 0
	for same < len(n.path) && n.path[same] == key[same] {
		same++
	}
	switch {
	case same == len(n.path) && n.child == nil:
		return (&stateNode{path: n.path, value: value}).hashed()
	case same == len(n.path):
		return (&stateNode{path: n.path, child: n.child.with(key[same:], value)}).hashed()
	}
	var children [16]*stateNode
	children[n.path[same]] = n.below(same + 1)
	children[key[same]] = (*stateNode)(nil).with(key[same+1:], value)
	branch := (&stateNode{children: &children}).hashed()
	if same == 0 {
		return branch
	}
	return (&stateNode{path: key[:same], child: branch}).hashed()
}

// below is a leaf or an extension without the beginning of its path.
func (n *stateNode) below(skip int) *stateNode {
	if n.child != nil && skip == len(n.path) {
		return n.child
	}
	return (&stateNode{path: n.path[skip:], value: n.value, child: n.child}).hashed()
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
	return (*stateNode)(nil).with(nibbles(slotKey[:]), appendUint(nil, uint64(s.count)))
}

func (s storage) root() evm.Hash {
	if s.count == 0 {
		return emptyRoot
	}
	return s.leaf().hash
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
	body := appendWide(appendUint(make([]byte, 0, 112), uint64(e.nonce)), &wei)
	body = appendBytes(appendBytes(body, root[:]), code[:])
	if cChain {
		body = append(body, 0x80)
	}
	return listOf(body)
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
