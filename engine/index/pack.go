package index

import "bytes"

// Packed bytes: each zero is followed by the number of zeros behind it, up to 255.
// Most of what contracts are called with is words of 32 bytes that begin with zeros.

const maxZeros = 1 << 8 // of zeros

// appendPacked appends b, packed.
func appendPacked(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return append(dst, b...)
		}
		n := 1
		for n < maxZeros && i+n < len(b) && b[i+n] == 0 {
			n++
		}
		dst = append(append(dst, b[:i+1]...), byte(n-1))
		b = b[i+n:]
	}
}

// appendUnpacked appends what was packed to b, or the beginning of it that has most
// bytes or more. ok is false if it was not packed.
func appendUnpacked(dst, b []byte, most int) (_ []byte, ok bool) {
	for most += len(dst); len(dst) < most; {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return append(dst, b...), true
		}
		if i+1 == len(b) {
			return dst, false
		}
		dst = append(append(dst, b[:i]...), zeros[:int(b[i+1])+1]...)
		b = b[i+2:]
	}
	return dst, true
}

var zeros [maxZeros]byte
