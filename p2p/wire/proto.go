package wire

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

// ErrMalformed is returned for bytes that are not the protobuf they should be.
var ErrMalformed = errors.New("malformed message")

// open starts a nested message; shut ends it and puts its length in front. The
// content is moved by the one to four bytes of the length, which is cheaper
// than to compute all sizes beforehand.
func open(dst []byte, num protowire.Number) ([]byte, int) {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return dst, len(dst)
}

func shut(dst []byte, start int) []byte {
	n := len(dst) - start
	var prefix [10]byte
	length := protowire.AppendVarint(prefix[:0], uint64(n))
	dst = append(dst, length...)
	copy(dst[start+len(length):], dst[start:start+n])
	copy(dst[start:], length)
	return dst
}

// The append helpers leave out zero values, as proto3 does.

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendBool(dst []byte, num protowire.Number, v bool) []byte {
	if !v {
		return dst
	}
	return appendUint(dst, num, 1)
}

func appendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	if len(b) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

func appendPacked(dst []byte, num protowire.Number, values []uint32) []byte {
	if len(values) == 0 {
		return dst
	}
	dst, start := open(dst, num)
	for _, v := range values {
		dst = protowire.AppendVarint(dst, uint64(v))
	}
	return shut(dst, start)
}

// appendAddr writes the address, 4 bytes or 16, as field num and the port as the next field.
func appendAddr(dst []byte, num protowire.Number, addr netip.AddrPort) []byte {
	dst = appendBytes(dst, num, addr.Addr().Unmap().AsSlice())
	return appendUint(dst, num+1, uint64(addr.Port()))
}

func appendFilter(dst []byte, num protowire.Number, filter, salt []byte) []byte {
	dst, start := open(dst, num)
	dst = appendBytes(dst, 1, filter)
	dst = appendBytes(dst, 2, salt)
	return shut(dst, start)
}

// fields walks over the fields of one message without copying:
//
//	f := fields{rest: b}
//	for f.next() { switch f.num { … } }
//	return f.err
//
// The first error, from next or from one of the readers, ends the walk.
type fields struct {
	rest []byte
	err  error

	num protowire.Number
	typ protowire.Type
	raw []byte // content of a bytes field
	val uint64 // value of a varint field
}

func (f *fields) next() bool {
	if f.err != nil || len(f.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		return f.fail(protowire.ParseError(n))
	}
	if !num.IsValid() {
		return f.fail(errFieldNumber)
	}
	f.rest = f.rest[n:]
	f.num, f.typ, f.raw, f.val = num, typ, nil, 0
	switch typ {
	case protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(f.rest)
	case protowire.VarintType:
		f.val, n = protowire.ConsumeVarint(f.rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, f.rest)
	}
	if n < 0 {
		return f.fail(protowire.ParseError(n))
	}
	f.rest = f.rest[n:]
	return true
}

func (f *fields) fail(err error) bool {
	if f.err == nil {
		f.err = fmt.Errorf("%w: field %d: %w", ErrMalformed, f.num, err)
	}
	return false
}

var (
	errType        = errors.New("unexpected wire type")
	errFieldNumber = errors.New("field number out of range")
)

func (f *fields) bytes() []byte {
	if f.typ != protowire.BytesType {
		f.fail(errType)
	}
	return f.raw
}

func (f *fields) uint64() uint64 {
	if f.typ != protowire.VarintType {
		f.fail(errType)
	}
	return f.val
}

// uint32 cuts off the high bits, as every protobuf decoder does.
func (f *fields) uint32() uint32 { return uint32(f.uint64()) }

func (f *fields) bool() bool { return f.uint64() != 0 }

func (f *fields) id(dst *chain.ID) {
	b := f.bytes()
	if len(b) != chain.IDLen {
		f.fail(fmt.Errorf("want %d bytes, got %d", chain.IDLen, len(b)))
		return
	}
	copy(dst[:], b)
}

// addr reads an address of 4 or 16 bytes; the result is never IPv4 in IPv6.
func (f *fields) addr() netip.Addr {
	addr, ok := netip.AddrFromSlice(f.bytes())
	if !ok {
		f.fail(fmt.Errorf("an address of %d bytes", len(f.raw)))
	}
	return addr.Unmap()
}

func (f *fields) port() uint16 {
	v := f.uint64()
	if v > math.MaxUint16 {
		f.fail(fmt.Errorf("port %d", v))
	}
	return uint16(v)
}

// uint32s reads a repeated number, packed or not.
func (f *fields) uint32s(dst []uint32) []uint32 {
	if f.typ == protowire.VarintType {
		return append(dst, uint32(f.val))
	}
	for b := f.bytes(); len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			f.fail(protowire.ParseError(n))
			return dst
		}
		dst = append(dst, uint32(v))
		b = b[n:]
	}
	return dst
}
