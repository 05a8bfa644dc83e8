package evm

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

var errHex = errors.New("malformed hex")

// nibbles has the value of each hex digit, 0xff for all other bytes.
var nibbles = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		t[c] = byte(10 + i)
	}
	return t
}()

func digits(s []byte) ([]byte, bool) {
	if len(s) < 2 || s[0] != '0' || s[1]|0x20 != 'x' {
		return nil, false
	}
	return s[2:], true
}

func hexErr(want string, s []byte) error {
	return fmt.Errorf("%w: want %s, got %.24q", errHex, want, s)
}

// hexFixed reads 0x and two digits for each byte of dst.
func hexFixed(dst, s []byte) error {
	d, ok := digits(s)
	if !ok || len(d) != 2*len(dst) {
		return hexErr(fmt.Sprintf("0x and %d hex digits", 2*len(dst)), s)
	}
	for i := range dst {
		hi, lo := nibbles[d[2*i]], nibbles[d[2*i+1]]
		if hi|lo > 0xf {
			return hexErr("hex digits", s)
		}
		dst[i] = hi<<4 | lo
	}
	return nil
}

func hexAddress(s []byte) (a evm.Address, err error) {
	err = hexFixed(a[:], s)
	return a, err
}

func hexHash(s []byte) (h evm.Hash, err error) {
	err = hexFixed(h[:], s)
	return h, err
}

// hexUint reads 0x and 1 to 16 digits.
func hexUint(s []byte) (v uint64, err error) {
	d, ok := digits(s)
	if !ok || len(d) == 0 || len(d) > 16 {
		return 0, hexErr("a number of up to 64 bits in hex", s)
	}
	for _, c := range d {
		n := nibbles[c]
		if n > 0xf {
			return 0, hexErr("a number in hex", s)
		}
		v = v<<4 | uint64(n)
	}
	return v, nil
}

// hexUint256 reads 0x and 1 to 64 digits into v.
func hexUint256(v *uint256.Int, s []byte) error {
	d, ok := digits(s)
	if !ok || len(d) == 0 || len(d) > 64 {
		return hexErr("a number of up to 256 bits in hex", s)
	}
	v.Clear()
	for i, c := range d {
		n := nibbles[c]
		if n > 0xf {
			return hexErr("a number in hex", s)
		}
		at := len(d) - 1 - i // the digit's place
		v[at/16] |= uint64(n) << (at % 16 * 4)
	}
	return nil
}

// hexLen is the number of bytes that s stands for.
func hexLen(s []byte) (int, error) {
	d, ok := digits(s)
	if !ok || len(d)%2 != 0 {
		return 0, hexErr("0x and pairs of hex digits", s)
	}
	return len(d) / 2, nil
}

// hexBytes reads 0x and any number of bytes into memory of a.
func (a *arena) hexBytes(s []byte) ([]byte, error) {
	n, err := hexLen(s)
	if err != nil || n == 0 {
		return nil, err
	}
	b := a.bytes(n)
	if _, err := hex.Decode(b, s[2:]); err != nil {
		return nil, hexErr("hex digits", s)
	}
	return b, nil
}

// number writes v as nodes read it.
func number(v uint64) string { return fmt.Sprintf("%#x", v) }

// arena hands out memory of a block in few pieces.
type arena struct {
	free  []byte
	chunk int // the usual piece
	nums  []uint256.Int
}

func (a *arena) bytes(n int) []byte {
	if n > len(a.free) {
		a.free = make([]byte, max(n, a.chunk))
	}
	b := a.free[:n:n]
	a.free = a.free[n:]
	return b
}

func (a *arena) num() *uint256.Int {
	if len(a.nums) == 0 {
		a.nums = make([]uint256.Int, 32)
	}
	v := &a.nums[0]
	a.nums = a.nums[1:]
	return v
}
