package consensus

import (
	"sync"

	"github.com/ethereum/go-ethereum/rlp"

	"quorate/engine/chain/evm"
)

// roots computes the Merkle-Patricia roots of lists: the keys are the encodings of
// the indexes, the values are written by append when they are needed, once each.
type roots struct {
	h      *evm.Hasher
	blooms blooms
	bloom  [BloomLen]byte // of the receipt being built
	nodes  []byte         // nodes being built, outer ones first
	value  []byte         // of the leaf being built
	count  int
	append func(dst []byte, i int) []byte
}

var rootPool = sync.Pool{New: func() any {
	h := new(evm.Hasher)
	return &roots{h: h, blooms: blooms{h: h}}
}}

// TxRoot computes a header's transactionsRoot from the encodings of txs.
func TxRoot(txs []evm.Tx) evm.Hash {
	return Root(len(txs), func(dst []byte, i int) []byte { return append(dst, txs[i].Raw...) })
}

// Receipts computes the root and the filter over the receipts of txs. each, if not
// nil, is called with each transaction's index and filter, in no order.
func Receipts(txs []evm.Tx, each func(i int, bloom *[BloomLen]byte)) (root evm.Hash, bloom [BloomLen]byte) {
	gas := appendCumulative(make([]uint64, 0, len(txs)), txs)
	return receipts(len(txs), func(i int) (*evm.Tx, uint64) { return &txs[i], gas[i] }, each)
}

// Blooms calls each with the index and the filter of each transaction, in their order.
func Blooms(txs []evm.Tx, each func(i int, bloom *[BloomLen]byte)) {
	r := rootPool.Get().(*roots)
	defer rootPool.Put(r)
	for i := range txs {
		r.bloom = [BloomLen]byte{}
		r.blooms.logs(&r.bloom, txs[i].Logs)
		each(i, &r.bloom)
	}
}

// JoinedReceipts computes the root and the filter over the receipts of several
// blocks, joined in their order: what a header says of the blocks that it settles
// (ACP-194). The gas of each block's receipts adds up from 0.
func JoinedReceipts(blocks []*evm.Block) (root evm.Hash, bloom [BloomLen]byte) {
	n := 0
	for _, b := range blocks {
		n += len(b.Txs)
	}
	txs, gas := make([]*evm.Tx, 0, n), make([]uint64, 0, n)
	for _, b := range blocks {
		for i := range b.Txs {
			txs = append(txs, &b.Txs[i])
		}
		gas = appendCumulative(gas, b.Txs)
	}
	return receipts(n, func(i int) (*evm.Tx, uint64) { return txs[i], gas[i] }, nil)
}

// appendCumulative appends the cumulativeGasUsed of the receipts of a block.
func appendCumulative(dst []uint64, txs []evm.Tx) []uint64 {
	sum := uint64(0)
	for i := range txs {
		sum += txs[i].GasUsed
		dst = append(dst, sum)
	}
	return dst
}

// receipts computes the root and the filter over n receipts. at returns what each is
// of, and its cumulativeGasUsed.
func receipts(n int, at func(i int) (*evm.Tx, uint64), each func(i int, bloom *[BloomLen]byte)) (root evm.Hash, bloom [BloomLen]byte) {
	r := rootPool.Get().(*roots)
	defer rootPool.Put(r)
	root = r.root(n, func(dst []byte, i int) []byte {
		t, gas := at(i)
		f := &r.bloom
		*f = [BloomLen]byte{}
		r.blooms.logs(f, t.Logs)
		for k := range f {
			bloom[k] |= f[k]
		}
		if each != nil {
			each(i, f)
		}
		return appendReceipt(dst, t, gas, f)
	})
	return root, bloom
}

// Root computes the root of a list of n values. Each is appended once by value.
func Root(n int, value func(dst []byte, i int) []byte) evm.Hash {
	r := rootPool.Get().(*roots)
	defer rootPool.Put(r)
	return r.root(n, value)
}

func (r *roots) root(n int, value func(dst []byte, i int) []byte) evm.Hash {
	if n == 0 {
		return EmptyRoot
	}
	r.count, r.append, r.nodes = n, value, r.nodes[:0]
	r.node(0, n, 0)
	r.append = nil
	if r.nodes[0] == 0x80+evm.HashLen {
		return evm.Hash(r.nodes[1:])
	}
	return *r.h.Sum(r.nodes) // a root is hashed however short it is
}

// key returns the key at place i in the order of keys: that of index 0 is 0x80,
// behind those of 1 to 127 and before the longer ones.
func (r *roots) key(dst []byte, i int) []byte { return rlp.AppendUint64(dst, uint64(r.index(i))) }

func (r *roots) index(i int) int {
	short := min(r.count, 0x80) // indexes with keys of one byte
	switch {
	case i >= short:
		return i
	case i == short-1:
		return 0
	}
	return i + 1
}

// nibble returns place d of the key at i.
func (r *roots) nibble(i, d int) byte {
	var room [9]byte
	return nibble(r.key(room[:0], i), d)
}

func nibble(key []byte, d int) byte { return key[d/2] >> (4 * (1 - d%2)) & 0xf }

// node appends what stands for the node over the keys at from up to to, which
// have the first depth nibbles in common: its hash, or itself if it is short. No
// key is the beginning of another one, so no branch has a value.
func (r *roots) node(from, to, depth int) {
	start := len(r.nodes)
	if to-from == 1 {
		var room [9]byte
		key := r.key(room[:0], from)
		r.nodes = appendPath(r.nodes, key, depth, 2*len(key), 0x20)
		r.value = r.append(r.value[:0], r.index(from))
		r.nodes = AppendString(r.nodes, r.value)
		r.close(start)
		return
	}
	end := depth // what the first and the last key share all share
	for r.nibble(from, end) == r.nibble(to-1, end) {
		end++
	}
	if end > depth {
		var room [9]byte
		r.nodes = appendPath(r.nodes, r.key(room[:0], from), depth, end, 0)
		r.node(from, to, end)
		r.close(start)
		return
	}
	for digit := range byte(16) {
		next := from
		for next < to && r.nibble(next, depth) == digit {
			next++
		}
		if next == from {
			r.nodes = append(r.nodes, 0x80)
			continue
		}
		r.node(from, next, depth+1)
		from = next
	}
	r.nodes = append(r.nodes, 0x80)
	r.close(start)
}

// close makes the elements from start on a node.
func (r *roots) close(start int) {
	r.nodes = closeList(r.nodes, start)
	if node := r.nodes[start:]; len(node) >= evm.HashLen {
		sum := r.h.Sum(node)
		r.nodes = append(append(r.nodes[:start], 0x80+evm.HashLen), sum[:]...)
	}
}

// appendPath appends the nibbles of key from depth up to end in their compact
// form, with the flag of a leaf or of an extension.
func appendPath(dst, key []byte, depth, end int, flag byte) []byte {
	var room [10]byte
	path := room[:1]
	if (end-depth)%2 == 1 {
		flag |= 0x10 | nibble(key, depth)
		depth++
	}
	path[0] = flag
	for ; depth < end; depth += 2 {
		path = append(path, nibble(key, depth)<<4|nibble(key, depth+1))
	}
	return AppendString(dst, path)
}
