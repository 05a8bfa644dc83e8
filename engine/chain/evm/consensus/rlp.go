package consensus

import (
	"errors"
	"math/bits"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// The library's encoder copies each value twice. These helpers append to a
// caller's buffer; a list's head is put in front of its elements once their
// length is known.

// AppendString appends the RLP of a byte string.
func AppendString(dst, b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return append(dst, b[0])
	}
	return append(appendHead(dst, 0x80, len(b)), b...)
}

// appendWide appends the RLP of a number of up to 256 bits.
func appendWide(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return rlp.AppendUint64(dst, v.Uint64())
	}
	b := v.Bytes32()
	return AppendString(dst, b[32-v.ByteLen():])
}

// appendHead appends the head of a string (base 0x80) or list (0xc0) of n bytes.
func appendHead(dst []byte, base byte, n int) []byte {
	if n < 56 {
		return append(dst, base+byte(n))
	}
	size := (bits.Len(uint(n)) + 7) / 8
	dst = append(dst, base+55+byte(size))
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(n>>shift))
	}
	return dst
}

// headLen is the number of bytes that appendHead appends.
func headLen(n int) int {
	if n < 56 {
		return 1
	}
	return 1 + (bits.Len(uint(n))+7)/8
}

// closeList makes what dst holds from start on the elements of a list.
func closeList(dst []byte, start int) []byte {
	n := len(dst) - start
	var room [9]byte
	head := appendHead(room[:0], 0xc0, n)
	dst = append(dst, head...)
	copy(dst[start+len(head):], dst[start:start+n])
	copy(dst[start:], head)
	return dst
}

// reader consumes the elements of a list. After an error it reads zeros.
type reader struct {
	rest []byte
	err  error
}

// list returns a reader of the elements of the list that b is.
func list(b []byte) reader {
	content, rest, err := rlp.SplitList(b)
	if err == nil && len(rest) > 0 {
		err = errors.New("bytes behind the list")
	}
	if err != nil {
		return reader{err: malformed("list: %w", err)}
	}
	return reader{rest: content}
}

func (r *reader) fail(what string, err error) {
	if r.err == nil {
		r.err, r.rest = malformed("%s: %w", what, err), nil
	}
}

func (r *reader) more() bool { return r.err == nil && len(r.rest) > 0 }

// end fails if elements are left.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("list", errors.New("more elements than known"))
	}
	return r.err
}

func (r *reader) bytes(what string) []byte {
	if r.err != nil {
		return nil
	}
	content, rest, err := rlp.SplitString(r.rest)
	if err != nil {
		r.fail(what, err)
		return nil
	}
	r.rest = rest
	return content
}

var errLength = errors.New("wrong length")

func (r *reader) fixed(what string, dst []byte) {
	b := r.bytes(what)
	if r.err == nil && len(b) != len(dst) {
		r.fail(what, errLength)
	}
	copy(dst, b)
}

func (r *reader) hash(what string) (h evm.Hash) {
	r.fixed(what, h[:])
	return h
}

func (r *reader) address(what string) (a evm.Address) {
	r.fixed(what, a[:])
	return a
}

func (r *reader) uint(what string) uint64 {
	if r.err != nil {
		return 0
	}
	v, rest, err := rlp.SplitUint64(r.rest)
	if err != nil {
		r.fail(what, err)
		return 0
	}
	r.rest = rest
	return v
}

func (r *reader) wide(what string, v *uint256.Int) {
	b := r.bytes(what)
	if r.err == nil && (len(b) > 32 || len(b) > 0 && b[0] == 0) {
		r.fail(what, errors.New("no number of up to 256 bits"))
	}
	v.SetBytes(b)
}

// list returns a reader of the elements of the next element.
func (r *reader) list(what string) reader {
	if r.err != nil {
		return reader{err: r.err}
	}
	content, rest, err := rlp.SplitList(r.rest)
	if err != nil {
		r.fail(what, err)
		return reader{err: r.err}
	}
	r.rest = rest
	return reader{rest: content}
}

// join takes over the error of a reader of one of the elements.
func (r *reader) join(inner *reader) {
	if r.err == nil && inner.err != nil {
		r.err, r.rest = inner.err, nil
	}
}
