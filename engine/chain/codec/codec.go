// Package codec reads and writes the encoding that avalanchego's linear codec
// makes: big-endian integers, lists and byte strings behind a length of 32 bits,
// strings behind one of 16, structs as their members in order, and a type ID of
// 32 bits before a value whose type is open. A version of 16 bits starts it all.
// Source: codec/manager.go, codec/linearcodec, codec/reflectcodec and
// utils/wrappers of avalanchego v1.14.2.
//
// A type describes itself once, by a method that names its members in order to a
// [Coder]. The same method reads and writes, so the two cannot differ. What
// [Decode] accepts therefore encodes to the same bytes again: no form of this
// encoding has two spellings.
//
// Bytes come from strangers. Nothing is allocated for a length before the input
// is known to be long enough for it, and no format here nests without bound.
package codec

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
)

const (
	// VersionLen is the length of the version that starts an encoding.
	VersionLen = 2
	// MaxLen bounds an encoding. It is the largest message of the peer protocol, and
	// since Helicon also the largest block and transaction that a node takes: those of
	// before are at most 256 KiB, vertices 1 MiB.
	MaxLen = 2 << 20
	// MaxGenesisLen bounds the genesis state of a chain.
	MaxGenesisLen = 64 << 20
	// chunk is the number of elements up to which a list is allocated at once.
	chunk = 256
)

// Errors that decoding wraps.
var (
	// ErrShort: the input ends inside a value, or a length exceeds what is left.
	ErrShort = errors.New("input too short")
	// ErrTrailing: bytes follow the value.
	ErrTrailing = errors.New("bytes after the end")
	// ErrTooLong: the input or a list exceeds its limit.
	ErrTooLong = errors.New("too long")
	// ErrVersion: another version of the encoding.
	ErrVersion = errors.New("unknown codec version")
	// ErrType: a type ID that is unknown or not allowed at its place.
	ErrType = errors.New("type not allowed")
	// ErrValue: a value that the chain never accepts at its place.
	ErrValue = errors.New("value not allowed")
)

// Coder reads members from an encoding or writes members to one. After the first
// error it does nothing more. Byte strings that were read alias the input.
type Coder struct {
	buf     []byte
	off     int // reading: what has been read
	err     error
	writing bool
}

// Decode reads one value of the given version, which must fill b.
func Decode(b []byte, version uint16, limit int, value func(*Coder)) error {
	if len(b) > limit {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrTooLong, len(b), limit)
	}
	c := newCoder(Coder{buf: b})
	defer c.free()
	var got uint16
	if c.Uint16(&got); c.err == nil && got != version {
		c.err = fmt.Errorf("%w: %d", ErrVersion, got)
	}
	if c.err == nil {
		value(c)
	}
	if c.err == nil && c.off != len(b) {
		c.err = fmt.Errorf("%w: %d", ErrTrailing, len(b)-c.off)
	}
	if c.err != nil {
		return fmt.Errorf("at byte %d: %w", c.off, c.err)
	}
	return nil
}

// coders keeps those that are at rest: values hand them to functions of which the compiler
// does not know whether they keep them, which none does.
var coders = sync.Pool{New: func() any { return new(Coder) }}

func newCoder(as Coder) *Coder {
	c := coders.Get().(*Coder)
	*c = as
	return c
}

func (c *Coder) free() {
	*c = Coder{}
	coders.Put(c)
}

// Append appends the encoding of one value. The value is only read.
func Append(dst []byte, version uint16, value func(*Coder)) ([]byte, error) {
	c := newCoder(Coder{buf: binary.BigEndian.AppendUint16(dst, version), writing: true})
	defer c.free()
	if value(c); c.err != nil {
		return dst, c.err
	}
	return c.buf, nil
}

// Reading reports whether members are filled from the input.
func (c *Coder) Reading() bool { return !c.writing }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail sets the error unless there is one.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Offset is the number of bytes read or written so far.
func (c *Coder) Offset() int {
	if c.writing {
		return len(c.buf)
	}
	return c.off
}

// Since returns the bytes from an earlier offset to here.
func (c *Coder) Since(offset int) []byte {
	end := c.Offset()
	return c.buf[offset:end:end]
}

// take returns the next n bytes of the input, or nil after an error.
func (c *Coder) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.buf)-c.off {
		c.err = fmt.Errorf("%w: want %d bytes, have %d", ErrShort, n, len(c.buf)-c.off)
		return nil
	}
	b := c.buf[c.off : c.off+n : c.off+n]
	c.off += n
	return b
}

// Uint8 codes one byte.
func (c *Coder) Uint8(v *uint8) {
	if c.writing {
		c.buf = append(c.buf, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

// Uint16 codes two bytes.
func (c *Coder) Uint16(v *uint16) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint16(c.buf, *v)
	} else if b := c.take(2); b != nil {
		*v = binary.BigEndian.Uint16(b)
	}
}

// Uint32 codes four bytes.
func (c *Coder) Uint32(v *uint32) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint32(c.buf, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.BigEndian.Uint32(b)
	}
}

// Uint64 codes eight bytes.
func (c *Coder) Uint64(v *uint64) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint64(c.buf, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.BigEndian.Uint64(b)
	}
}

// Int64 codes eight bytes in two's complement.
func (c *Coder) Int64(v *int64) {
	u := uint64(*v)
	c.Uint64(&u)
	if !c.writing {
		*v = int64(u)
	}
}

// Fixed codes len(v) bytes without a length: IDs, addresses, keys, signatures.
func (c *Coder) Fixed(v []byte) {
	if c.writing {
		c.buf = append(c.buf, v...)
	} else {
		copy(v, c.take(len(v)))
	}
}

// Bytes codes a byte string behind its length of 32 bits. An empty one is read as nil.
func (c *Coder) Bytes(v *[]byte) {
	n := c.length(len(*v))
	if c.writing {
		c.buf = append(c.buf, *v...)
		return
	}
	if *v = nil; n > 0 {
		*v = c.take(n)
	}
}

// String codes a string behind its length of 16 bits. The bytes need not be UTF-8.
func (c *Coder) String(v *string) {
	if len(*v) > math.MaxUint16 {
		c.Fail(fmt.Errorf("%w: string of %d bytes", ErrTooLong, len(*v)))
		return
	}
	n := uint16(len(*v))
	c.Uint16(&n)
	if c.writing {
		c.buf = append(c.buf, *v...)
	} else {
		*v = string(c.take(int(n)))
	}
}

// length codes the length of a list or byte string.
func (c *Coder) length(n int) int {
	if n > math.MaxInt32 {
		c.Fail(fmt.Errorf("%w: %d elements", ErrTooLong, n))
		return 0
	}
	v := uint32(n)
	c.Uint32(&v)
	if v > math.MaxInt32 { // as avalanchego
		c.Fail(fmt.Errorf("%w: %d elements", ErrTooLong, v))
	}
	if c.err != nil {
		return 0
	}
	return int(v)
}

// List codes a list behind its length. least is the length of the shortest
// encoding of an element: a list that is longer than the rest of the input can
// hold is refused, and a long one is not allocated before its elements are there.
// An empty list is read as nil.
func List[T any](c *Coder, list *[]T, least int, element func(*Coder, *T)) {
	n := c.length(len(*list))
	if !c.writing {
		*list = nil
		if n > (len(c.buf)-c.off)/least {
			c.Fail(fmt.Errorf("%w: list of %d elements in %d bytes", ErrShort, n, len(c.buf)-c.off))
		}
		if n == 0 || c.err != nil {
			return
		}
		*list = make([]T, min(n, chunk))
	}
	for i := range n {
		if i == len(*list) {
			var zero T
			*list = append(*list, zero)
		}
		if element(c, &(*list)[i]); c.err != nil {
			return
		}
	}
}

// Type codes a type ID. When reading, one that allowed refuses is an error.
func Type[T ~uint32](c *Coder, v *T, allowed func(T) bool) {
	u := uint32(*v)
	if c.Uint32(&u); c.err != nil {
		return
	}
	if !allowed(T(u)) {
		c.err = fmt.Errorf("%w: %d", ErrType, u)
		return
	}
	if !c.writing { // who else encodes the value reads it meanwhile
		*v = T(u)
	}
}

// Choice codes the type ID in front of a value of one of several types. When
// reading, it makes an empty one of the type, in one of those that known accepts.
// It reports whether the value itself can be coded now.
func Choice[T interface {
	comparable
	Kind() K
}, K ~uint32](c *Coder, v *T, known func(K) bool, empty func(K) T) bool {
	var kind K
	if c.writing {
		var none T
		if *v == none {
			c.Fail(fmt.Errorf("%w: nothing of type %T", ErrValue, v))
			return false
		}
		kind = (*v).Kind()
	}
	Type(c, &kind, known)
	if c.err == nil && !c.writing {
		*v = empty(kind)
	}
	return c.err == nil
}

// HashOf returns the SHA-256 of a version and what follows it, and their length: the
// ID of a transaction that stands in a block, where it has no version.
func HashOf(version uint16, b []byte) (sum [sha256.Size]byte, n int) {
	h := sha256.New()
	h.Write([]byte{byte(version >> 8), byte(version)})
	h.Write(b)
	h.Sum(sum[:0])
	return sum, VersionLen + len(b)
}
