// Package deflate packs JSON as gzip (RFC 1951 and 1952), several times as fast as
// a general compressor and about as small.
//
// Two things make it cheap. Matches are looked for only where a string begins or
// ends, at quotation marks: there the names of members begin, and values that were
// there before; what lies between, mostly the digits of hashes and amounts, matches
// nothing, unless it is long. And the Huffman codes are always the same ones, made once for such text,
// so that one pass is enough. Whatever is packed comes out as it was; what is not
// JSON only becomes less small, or larger.
package deflate

import (
	"bytes"
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
	// runBytes is how many literals are written between two looks at the room in the
	// output, at up to two bytes each.
	runBytes = 512
)

// places has, for each hash, one more than the position where it was seen last.
type places [1 << hashBits]uint32

var pool = sync.Pool{New: func() any { return new(places) }}

// header is that of a gzip member without a name or a time: the fastest compressor,
// an unknown system.
var header = [10]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

// AppendGzip appends src as a gzip member to dst.
func AppendGzip(dst, src []byte) []byte {
	dst = append(dst, header[:]...)
	w := writer{out: dst}
	seen, _ := pool.Get().(*places)
	clear(seen[:])
	w.block(src, seen)
	pool.Put(seen)
	dst = w.end()
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(src))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
}

// writer writes bits, the lowest first.
type writer struct {
	out []byte
	acc uint64
	n   uint // bits in acc
}

// flush writes whole bytes, so that less than eight bits are left. There is room
// for eight bytes behind out.
func (w *writer) flush() {
	at := len(w.out)
	binary.LittleEndian.PutUint64(w.out[at:at+8], w.acc)
	whole := w.n >> 3
	w.out = w.out[:at+int(whole)]
	w.acc >>= whole * 8
	w.n &= 7
}

func (w *writer) put(c code) {
	w.acc |= uint64(c.bits) << w.n
	w.n += uint(c.len)
}

// end writes what is left.
func (w *writer) end() []byte {
	w.out = slices.Grow(w.out, 16)
	w.n = (w.n + 7) &^ 7
	w.flush()
	return w.out
}

// block writes all of src as the one and last block.
func (w *writer) block(src []byte, seen *places) {
	w.out = append(w.out, codes.head...)
	w.acc, w.n = codes.rest.bits64(), uint(codes.rest.len)
	from := 0  // what lies before is written
	quote := 0 // the next one, or the end
	for at := 0; ; {
		if quote < at {
			quote = len(src)
			if next := bytes.IndexByte(src[at:], '"'); next >= 0 {
				quote = at + next
			}
		}
		if quote-at < longText {
			at = quote
		}
		if at+hashBytes > len(src) {
			break
		}
		head := binary.LittleEndian.Uint64(src[at:])
		slot := &seen[head*0x9e3779b97f4a7c15>>(64-hashBits)]
		last := int(*slot) - 1
		*slot = uint32(at + 1)
		if last < 0 || at-last > window || binary.LittleEndian.Uint64(src[last:]) != head {
			at++
			continue
		}
		n := hashBytes + same(src[last+hashBytes:], src[at+hashBytes:])
		back := 0
		for at-back > from && last > back && src[at-back-1] == src[last-back-1] {
			back++
		}
		w.literals(src[from : at-back])
		w.match(n+back, at-last)
		at += n
		if more, distance := value(src, at, seen); more > 0 {
			w.match(more, distance)
			at += more
		}
		from = at
	}
	w.literals(src[from:])
	w.out = slices.Grow(w.out, 16)
	w.put(codes.literals[endOfBlock])
}

// value looks for the value that begins shortly before at: a match of a member's name
// goes on into it, and ends where another value came behind that name before. It
// returns how many bytes from at on match, 0 if there are too few.
func value(src []byte, at int, seen *places) (n, distance int) {
	begin := at - 1
	for begin > at-hashBytes && src[begin] != '"' {
		begin--
	}
	if src[begin] != '"' || begin+hashBytes > len(src) {
		return 0, 0
	}
	head := binary.LittleEndian.Uint64(src[begin:])
	slot := &seen[head*0x9e3779b97f4a7c15>>(64-hashBits)]
	last := int(*slot) - 1
	*slot = uint32(begin + 1)
	if last < 0 || last == begin || begin-last > window || binary.LittleEndian.Uint64(src[last:]) != head {
		return 0, 0
	}
	n = begin + hashBytes + same(src[last+hashBytes:], src[begin+hashBytes:]) - at
	if n < shortest {
		return 0, 0
	}
	return n, begin - last
}

// same counts the bytes that a and the shorter b have in common at their beginning.
func same(a, b []byte) (n int) {
	for ; n+8 <= len(b); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// literals writes bytes as they are.
func (w *writer) literals(src []byte) {
	for len(src) > 0 {
		run := src[:min(len(src), runBytes)]
		src = src[len(run):]
		w.out = slices.Grow(w.out, 2*runBytes+16)
		acc, n, at, out := w.acc, w.n, len(w.out), w.out[:cap(w.out)]
		for len(run) > 0 {
			var a, b pair
			if len(run) >= 4 {
				four := binary.LittleEndian.Uint32(run)
				a, b = codes.pairs[four&0xffff], codes.pairs[four>>16]
			}
			if a != 0 && b != 0 {
				acc |= uint64(a>>pairLen) << (n & 63)
				n += uint(a & (1<<pairLen - 1))
				acc |= uint64(b>>pairLen) << (n & 63)
				n += uint(b & (1<<pairLen - 1))
				run = run[4:]
			} else {
				c := codes.literals[run[0]]
				acc |= uint64(c.bits) << (n & 63)
				n += uint(c.len)
				run = run[1:]
			}
			binary.LittleEndian.PutUint64(out[at:], acc)
			at += int(n >> 3)
			acc >>= n & 56
			n &= 7
		}
		w.acc, w.n, w.out = acc, n, out[:at]
	}
}

// match writes n bytes that lie distance bytes back.
func (w *writer) match(n, distance int) {
	far := codes.distance(distance)
	for n > 0 {
		part := min(n, maxMatch)
		if rest := n - part; rest > 0 && rest < 3 { // the shortest that can be written
			part -= 3
		}
		w.out = slices.Grow(w.out, 16)
		w.put(codes.lengths[part]) // 20 bits at most
		w.put(far)                 // 28 bits at most
		w.flush()
		n -= part
	}
}
