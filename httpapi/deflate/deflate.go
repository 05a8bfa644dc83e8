// Package deflate packs JSON as gzip (RFC 1951 and 1952), several times as fast as
// a general compressor and about as small.
//
// Two things make it cheap. Matches are looked for only where a string begins or
// ends, at quotation marks: there the names of members begin, and values that were
// there before; what lies between, mostly the digits of hashes and amounts, matches
// nothing, unless it is long. And the Huffman codes are always the same ones, made once
// for such text, so that one pass is enough. Whatever is packed comes out as it was; what is not
// JSON only becomes less small, or larger.
package deflate

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"
)

const (
	hashBits  = 12
	hashBytes = 8 // of which a hash is made: the shortest match that is found
	window    = 32 << 10
	maxMatch  = 258
	shortest  = 4 // match that is worth it
	// longText is how far it is to the next quotation mark where matches are looked for
	// at every byte: in inputs of calls and in texts. Hashes are shorter.
	longText = 80
	// roomBits is how many bits may be written at once, behind up to seven that are left.
	roomBits = 56
	// spare is the room in the output that a match and the end of a block need.
	spare = 64

	ones = 0x0101010101010101 // one in each byte
	tops = 0x80 * ones        // the highest bit of each byte
)

// places has, for each hash, the position where it was seen last. Positions of other
// hashes and the zeros of an empty one are sorted out by looking at the bytes there.
type places [1 << hashBits]uint32

var pool = sync.Pool{New: func() any { return new(places) }}

// header is that of a gzip member without a name or a time: the fastest compressor,
// an unknown system.
var header = [10]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

// AppendGzip appends src as a gzip member to dst.
func AppendGzip(dst, src []byte) []byte {
	dst = append(dst, header[:]...)
	dst = append(dst, codes.head...)
	w := writer{out: dst, at: len(dst), acc: codes.rest.bits64(), n: uint(codes.rest.len)}
	seen, _ := pool.Get().(*places)
	clear(seen[:])
	w.block(src, seen)
	pool.Put(seen)
	last := codes.literals[endOfBlock]
	w.put(last.bits64(), uint(last.len)+7) // and the rest of the last byte
	dst = binary.LittleEndian.AppendUint32(w.out[:w.at], crc32.ChecksumIEEE(src))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
}

// writer writes bits, the lowest first.
type writer struct {
	out []byte // with all of the room that there is
	at  int    // where the next byte goes
	acc uint64
	n   uint // bits in acc, less than eight between two calls
}

// room makes room for n bytes and some more.
func (w *writer) room(n int) {
	if len(w.out)-w.at < n+spare {
		out := slices.Grow(w.out[:w.at], n+spare)
		w.out = out[:cap(out)]
	}
}

// put writes the n lowest bits of v, at most roomBits. There is room for eight bytes.
func (w *writer) put(v uint64, n uint) {
	acc := w.acc | v<<(w.n&63)
	n += w.n
	binary.LittleEndian.PutUint64(w.out[w.at:w.at+8:w.at+8], acc)
	w.at += int(n >> 3)
	w.acc = acc >> (n & 56)
	w.n = n & 7
}

// load returns the eight bytes at i. With the capacity given, this is half of the
// instructions that b[i:] would take.
func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8 : i+8]) }

// look returns where the eight bytes at i were seen last, and puts i there.
func (p *places) look(head uint64, i int) int {
	slot := &p[head*0x9e3779b97f4a7c15>>(64-hashBits)]
	last := int(*slot)
	*slot = uint32(i)
	return last
}

// reaches reports whether a match at i may begin at last.
func reaches(i, last int) bool { return uint(i-last-1) < window }

// block writes all of src as the one and last block.
func (w *writer) block(src []byte, seen *places) {
	from := 0 // what lies before is written
	far := 0  // at every position below, matches are looked for
	end := len(src) - hashBytes
	for at := 0; at <= end; {
		if at >= far {
			if at, far = quote(src, at); at > end {
				break
			}
		}
		head := load(src, at)
		last := seen.look(head, at)
		if !reaches(at, last) || load(src, last) != head {
			at++
			continue
		}
		back := before(src, last, at, at-from)
		to := common(src, last+hashBytes, at+hashBytes)
		w.literals(src, from, at-back)
		w.match(to-at+back, at-last)
		at, from = to, to
		if at > end {
			break
		}
		// The match of a member's name goes on into its value, and ends where another
		// value came behind that name before: that value may be known as well.
		begin, ok := quoteBefore(src, at)
		if !ok {
			continue
		}
		head = load(src, begin)
		last = seen.look(head, begin)
		if !reaches(begin, last) || load(src, last) != head {
			continue
		}
		if to := common(src, last+hashBytes, begin+hashBytes); to-at >= shortest {
			w.match(to-at, begin-last)
			at, from = to, to
		}
	}
	w.literals(src, from, len(src))
}

// quote returns where the next quotation mark is from at on, or the end if there is
// none; if it is a long way, at, and up to where every position counts like one.
func quote(src []byte, at int) (next, far int) {
	for i := at; i <= len(src)-8; i += 8 {
		x := load(src, i) ^ '"'*ones
		if m := (x - ones) &^ x & tops; m != 0 { // the lowest one is right
			return i + bits.TrailingZeros64(m)>>3, 0
		}
		if i-at >= longText-8 {
			return at, at + 8
		}
	}
	return len(src), 0
}

// quoteBefore returns where the last quotation mark in the eight bytes before at is,
// and whether there is one.
func quoteBefore(src []byte, at int) (int, bool) {
	x := load(src, at-8) ^ '"'*ones
	m := ^((x&^tops + ^uint64(tops)) | x | ^uint64(tops)) // exactly the bytes that are zero
	return at - 1 - bits.LeadingZeros64(m)>>3, m != 0
}

// before returns how many bytes before a and b are the same, at most n; if a is not
// far from the beginning, perhaps fewer than there are.
func before(src []byte, a, b, n int) int {
	back := 0
	for back < n && a-back >= 8 {
		same := bits.LeadingZeros64(load(src, a-back-8)^load(src, b-back-8)) >> 3
		back += same
		if same < 8 {
			break
		}
	}
	return min(back, n)
}

// common returns where the bytes from b on begin to differ from those from a on. Close
// to the end, where there are no eight bytes, it may be too early.
func common(src []byte, a, b int) int {
	for b <= len(src)-8 {
		if x := load(src, a) ^ load(src, b); x != 0 {
			return b + bits.TrailingZeros64(x)>>3
		}
		a += 8
		b += 8
	}
	return b
}

// literals writes the bytes from from to to as they are, eight at a time, and makes
// the room that matches need behind them.
func (w *writer) literals(src []byte, from, to int) {
	w.room(2 * (to - from))
	pairs := &codes.pairs
	for ; from < to && from <= len(src)-8; from += 8 {
		word := load(src, from)
		zero := (word - ones) &^ word & tops
		if left := to - from; left < 8 {
			word &= 1<<(uint(left)*8) - 1
		}
		a, b := uint64(pairs[word&0xffff]), uint64(pairs[word>>16&0xffff])
		c, d := uint64(pairs[word>>32&0xffff]), uint64(pairs[word>>48])
		n := (a + b + c + d) & maxPairs
		ab, cd := a>>pairLen|b>>pairLen<<(a&63), c>>pairLen|d>>pairLen<<(c&63)
		switch {
		case zero == 0 && n <= roomBits:
			w.put(ab|cd<<((a+b)&63), uint(n))
		case zero == 0 && (a+b)&maxPairs <= roomBits && (c+d)&maxPairs <= roomBits:
			w.put(ab, uint(a+b)&maxPairs)
			w.put(cd, uint(c+d)&maxPairs)
		default:
			w.bytes(src[from:min(from+8, to)])
		}
	}
	if from < to {
		w.bytes(src[from:to])
	}
}

// bytes writes bytes as they are, whatever they are.
func (w *writer) bytes(src []byte) {
	for _, b := range src {
		c := codes.literals[b]
		w.put(c.bits64(), uint(c.len))
	}
}

// match writes n bytes that lie distance bytes back. There is room for the codes of
// the longest match that needs no more than one.
func (w *writer) match(n, distance int) {
	far := codes.distance(distance)
	for {
		part := min(n, maxMatch)
		if n-part > 0 {
			w.room(0)
			if n-part < 3 { // the shortest that can be written
				part -= 3
			}
		}
		near := codes.lengths[part]                                                    // 20 bits at most
		w.put(near.bits64()|far.bits64()<<(near.len&63), uint(near.len)+uint(far.len)) // 28 more at most
		if n -= part; n == 0 {
			return
		}
	}
}
