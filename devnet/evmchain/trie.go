package evmchain

import "quorate/engine/chain/evm"

// leaf is an entry of a Merkle-Patricia trie; the key is in nibbles.
type leaf struct{ key, value []byte }

// trieRoot is the root of the trie of some leaves, in the order of their keys.
// No key may be the beginning of another.
func trieRoot(leaves []leaf) evm.Hash {
	if len(leaves) == 0 {
		return emptyRoot
	}
	return evm.Keccak(trieNode(nil, leaves, 0))
}

// trieNode appends the encoding of the node that holds some leaves, whose keys
// agree in their first depth nibbles.
func trieNode(dst []byte, leaves []leaf, depth int) []byte {
	first, last := leaves[0].key, leaves[len(leaves)-1].key
	if len(leaves) == 1 {
		path := appendPath(nil, first[depth:], true)
		return appendPair(dst, path, leaves[0].value)
	}
	same := depth
	for first[same] == last[same] {
		same++
	}
	if same > depth { // an extension
		child := trieChild(nil, leaves, same)
		path := appendBytes(nil, appendPath(nil, first[depth:same], false))
		return append(append(appendHead(dst, 0xc0, len(path)+len(child)), path...), child...)
	}
	list := make([]byte, 0, 17*33)
	for nibble, i := byte(0), 0; nibble < 16; nibble++ {
		from := i
		for i < len(leaves) && leaves[i].key[depth] == nibble {
			i++
		}
		if i == from {
			list = append(list, 0x80)
			continue
		}
		list = trieChild(list, leaves[from:i], depth+1)
	}
	list = append(list, 0x80) // no value: no key ends here
	return append(appendHead(dst, 0xc0, len(list)), list...)
}

// trieChild appends how a node names one below it: a short one as it is.
func trieChild(dst []byte, leaves []leaf, depth int) []byte {
	node := trieNode(nil, leaves, depth)
	if len(node) < evm.HashLen {
		return append(dst, node...)
	}
	sum := evm.Keccak(node)
	return appendBytes(dst, sum[:])
}

// appendPair appends a list of two byte strings.
func appendPair(dst, a, b []byte) []byte {
	body := appendBytes(appendBytes(make([]byte, 0, len(a)+len(b)+12), a), b)
	return append(appendHead(dst, 0xc0, len(body)), body...)
}

// appendPath packs nibbles, with a flag for the end of a key.
func appendPath(dst, nibbles []byte, end bool) []byte {
	flag := byte(0)
	if end {
		flag = 2
	}
	if len(nibbles)%2 == 1 {
		dst = append(dst, (flag+1)<<4|nibbles[0])
		nibbles = nibbles[1:]
	} else {
		dst = append(dst, flag<<4)
	}
	for i := 0; i < len(nibbles); i += 2 {
		dst = append(dst, nibbles[i]<<4|nibbles[i+1])
	}
	return dst
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
	leaves := make([]leaf, 0, n)
	add := func(i int) {
		leaves = append(leaves, leaf{nibbles(appendUint(nil, uint64(i))), value(i)}) // not negative
	}
	for i := 1; i < min(n, 0x80); i++ { // 0x01 to 0x7f come before 0x80, the RLP of 0
		add(i)
	}
	if n > 0 {
		add(0)
	}
	for i := 0x80; i < n; i++ {
		add(i)
	}
	return trieRoot(leaves)
}
