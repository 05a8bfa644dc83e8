package evmchain

import (
	"encoding/binary"
	"math/bits"

	"github.com/holiman/uint256"
)

// appendBytes appends the RLP of a byte string.
func appendBytes(dst, b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return append(dst, b[0])
	}
	return append(appendHead(dst, 0x80, len(b)), b...)
}

// appendUint appends the RLP of a number.
func appendUint(dst []byte, v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return appendBytes(dst, b[bits.LeadingZeros64(v)/8:])
}

// appendWide appends the RLP of a wide number.
func appendWide(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return appendUint(dst, v.Uint64())
	}
	b := v.Bytes32()
	return appendBytes(dst, b[32-v.ByteLen():])
}

// appendHead appends the head of a string (base 0x80) or list (0xc0) of n bytes.
func appendHead(dst []byte, base byte, n int) []byte {
	if n < 56 {
		return append(dst, base+byte(n))
	}
	size := byte(bits.Len(uint(n))+7) / 8 // not negative
	dst = append(dst, base+55+size)
	for shift := 8 * (int(size) - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(n>>shift))
	}
	return dst
}

// headLen is how many bytes appendHead appends.
func headLen(n int) int {
	if n < 56 {
		return 1
	}
	return 1 + (bits.Len(uint(n))+7)/8 // not negative
}

// listOf wraps the RLP of elements into a list.
func listOf(elements []byte) []byte {
	out := make([]byte, 0, headLen(len(elements))+len(elements))
	return append(appendHead(out, 0xc0, len(elements)), elements...)
}
