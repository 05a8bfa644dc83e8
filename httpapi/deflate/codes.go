package deflate

import (
	"cmp"
	"math/bits"
	"slices"
)

// code is a Huffman code with its extra bits behind it, the first bit lowest.
type code struct {
	bits uint32
	len  uint8
}

func (c code) bits64() uint64 { return uint64(c.bits) }

const (
	endOfBlock  = 256
	firstLength = 257
	maxBits     = 15
	// literalCodes and distanceCodes are all that there are.
	literalCodes  = 286
	distanceCodes = 30
)

// pair is the codes of two literals, with their length in the lowest bits; noPair if
// they are too long. The sum of four pairs has the sum of their lengths in its lowest
// bits, and each noPair makes that more than can be written at once.
type pair uint32

const (
	pairLen  = 8 // bits of the length, so that there is room for the sum of four
	maxPairs = 1<<pairLen - 1
	longPair = 32 - pairLen
	noPair   = 63
)

func newPair(a, b code) pair {
	n := a.len + b.len
	if n > longPair {
		return noPair
	}
	return pair((a.bits|b.bits<<a.len)<<pairLen | uint32(n))
}

// table has all codes of a block, and the block's header, which says what they are.
type table struct {
	literals  [endOfBlock + 1]code
	lengths   [maxMatch + 1]code // with extra bits
	distances [distanceCodes]code
	// pairs has the codes of two literals one after the other, the first one lowest in
	// the index: in the digits of hashes, which are most of what is left of a page, that
	// is half of the work. What is hot of it are some 6 KiB. A byte that is zero has no
	// code here: with such ones, what is less than eight bytes is filled up.
	pairs [1 << 16]pair
	head  []byte
	rest  code // the bits of the header that are no whole byte
}

// codes are those of every block.
var codes = *newTable()

// weights says how often symbols are met in JSON about chains: the digits of hashes,
// the letters of checksummed addresses, and names only now and then.
func weights() (literals [literalCodes]int, distances [distanceCodes]int) {
	for i := range literals {
		literals[i] = 1
	}
	set := func(weight int, symbols string) {
		for _, c := range []byte(symbols) {
			literals[c] = weight
		}
	}
	set(40, "ghijklmnopqrstuvwxyz_-.GHIJKLMNOPQRSTUVWXYZ /{}[]")
	set(60, "\",:")
	set(300, "ABCDEF")
	set(700, "abcdef")
	set(900, "0123456789")
	for i := firstLength; i < literalCodes; i++ {
		literals[i] = 90
	}
	for i := range distances {
		distances[i] = 2 + i*i
	}
	return literals, distances
}

func newTable() *table {
	t := &table{}
	literalWeights, distanceWeights := weights()
	literals, distances := lengthsOf(literalWeights[:]), lengthsOf(distanceWeights[:])
	all := canonical(literals)
	copy(t.literals[:], all)
	for i := range t.pairs {
		t.pairs[i] = newPair(t.literals[i&0xff], t.literals[i>>8])
	}
	for i := range 256 {
		t.pairs[i] = newPair(t.literals[i], code{})
		t.pairs[i<<8] = newPair(code{}, t.literals[i])
	}
	t.pairs[0] = 0
	copy(t.distances[:], canonical(distances))
	for n := 3; n <= maxMatch; n++ {
		symbol, extra, base := lengthSymbol(n)
		c := all[firstLength+symbol]
		t.lengths[n] = code{c.bits | uint32(n-base)<<c.len, c.len + extra}
	}
	t.writeHead(literals, distances)
	return t
}

// distance returns the code of a distance with its extra bits.
func (t *table) distance(d int) code {
	d--
	if d < 4 {
		return t.distances[d]
	}
	extra := bits.Len32(uint32(d)) - 2
	c := t.distances[2*extra+d>>extra]
	low := uint32(d) & (1<<extra - 1)
	return code{c.bits | low<<c.len, c.len + uint8(extra)}
}

// lengthSymbol returns the symbol of a length above the first one, the number of its
// extra bits, and the shortest length that it has.
func lengthSymbol(n int) (symbol int, extra uint8, base int) {
	if n == maxMatch {
		return 28, 0, maxMatch
	}
	v := n - 3
	if v < 8 {
		return v, 0, n
	}
	e := bits.Len32(uint32(v)) - 3
	return 4*e + v>>e, uint8(e), v>>e<<e + 3
}

// lengthsOf returns the lengths of Huffman codes for symbols of some weights: 0 for
// those that are never met. There are at least two others.
func lengthsOf(weights []int) []uint8 {
	type node struct {
		weight      int
		left, right int // -1: a symbol
	}
	nodes := make([]node, 0, 2*len(weights))
	open := make([]int, 0, len(weights)) // roots of trees
	for i, w := range weights {
		nodes = append(nodes, node{w, -1, -1})
		if w > 0 {
			open = append(open, i)
		}
	}
	for len(open) > 1 {
		slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(nodes[b].weight, nodes[a].weight) })
		a, b := open[len(open)-1], open[len(open)-2]
		nodes = append(nodes, node{nodes[a].weight + nodes[b].weight, a, b})
		open = append(open[:len(open)-2], len(nodes)-1)
	}
	lengths := make([]uint8, len(weights))
	var walk func(at int, depth uint8)
	walk = func(at int, depth uint8) {
		if nodes[at].left < 0 {
			lengths[at] = depth
			return
		}
		walk(nodes[at].left, depth+1)
		walk(nodes[at].right, depth+1)
	}
	walk(open[0], 0)
	if slices.Max(lengths) > maxBits {
		panic("deflate: the weights of symbols differ too much")
	}
	return lengths
}

// canonical returns the codes of some lengths, as RFC 1951 3.2.2 makes them.
func canonical(lengths []uint8) []code {
	var next [maxBits + 2]uint32
	for _, n := range lengths {
		if n > 0 {
			next[n+1]++
		}
	}
	for n := 1; n <= maxBits+1; n++ {
		next[n] = (next[n] + next[n-1]) << 1
	}
	list := make([]code, len(lengths))
	for i, n := range lengths {
		if n > 0 {
			list[i] = code{bits.Reverse32(next[n] << (32 - n)), n}
			next[n]++
		}
	}
	return list
}

// Symbols of the code for the lengths of codes, and the order in which its own
// lengths are written.
const (
	repeatLast  = 16 // 3 to 6 times, in two bits
	lengthCodes = 19
)

var lengthOrder = [lengthCodes]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// writeHead writes the header of a block with dynamic codes that is the last one,
// RFC 1951 3.2.7.
func (t *table) writeHead(literals, distances []uint8) {
	all := slices.Concat(literals, distances)
	type step struct {
		symbol int
		times  uint32
	}
	var steps []step
	counts := make([]int, lengthCodes)
	for at := 0; at < len(all); {
		run := 1
		for at+run < len(all) && all[at+run] == all[at] && run < 7 {
			run++
		}
		steps = append(steps, step{symbol: int(all[at])})
		if run > 3 {
			steps = append(steps, step{repeatLast, uint32(run - 1 - 3)})
		} else {
			run = 1
		}
		at += run
	}
	for _, s := range steps {
		counts[s.symbol]++
	}
	lengths := lengthsOf(counts)
	symbols := canonical(lengths)

	w := writer{out: make([]byte, 1024)}
	put := func(v uint32, n uint8) { w.put(uint64(v), uint(n)) }
	put(1, 1) // the last block
	put(2, 2) // dynamic codes
	put(literalCodes-firstLength, 5)
	put(distanceCodes-1, 5)
	put(lengthCodes-4, 4)
	for _, symbol := range lengthOrder {
		put(uint32(lengths[symbol]), 3)
	}
	for _, s := range steps {
		put(symbols[s.symbol].bits, symbols[s.symbol].len)
		if s.symbol == repeatLast {
			put(s.times, 2)
		}
	}
	t.head, t.rest = w.out[:w.at], code{uint32(w.acc), uint8(w.n)}
}
