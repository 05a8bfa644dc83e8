package evm

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// An address is written as 0 and its 20 bytes when the block names it for the first
// time, and as 1 + its number later. A topic is written as
//
//	0          its 32 bytes, which get a number
//	1          the 20 bytes of an address behind 12 zeros, which get the next number of addresses
//	2 + 2n     topic n
//	3 + 2n     12 zeros and address n
//
// The receiver of a transaction that is kept encoded gets a number without being written.

// writer appends a block's payload.
type writer struct {
	out       []byte
	addresses map[evm.Address]uint64
	named     uint64 // numbers of addresses that were given away
	topics    map[evm.Hash]uint64
}

func (w *writer) reset(dst []byte) {
	w.out, w.named = dst, 0
	if w.addresses == nil {
		w.addresses, w.topics = make(map[evm.Address]uint64), make(map[evm.Hash]uint64)
	}
	clear(w.addresses)
	clear(w.topics)
}

func (w *writer) uint(v uint64) { w.out = binary.AppendUvarint(w.out, v) }

func (w *writer) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.out = append(w.out, b...)
}

func (w *writer) wide(v *uint256.Int) {
	var b [32]byte
	v.WriteToArray32(&b)
	n := v.ByteLen()
	w.out = append(append(w.out, byte(n)), b[32-n:]...)
}

// number assigns an address the next number.
func (w *writer) number(a *evm.Address) {
	w.addresses[*a] = w.named
	w.named++
}

func (w *writer) address(a *evm.Address) {
	if n, ok := w.addresses[*a]; ok {
		w.uint(n + 1)
		return
	}
	w.out = append(append(w.out, 0), a[:]...)
	w.number(a)
}

func (w *writer) topic(t *evm.Hash) {
	if [12]byte(t[:]) == [12]byte{} {
		a := evm.Address(t[12:])
		if n, ok := w.addresses[a]; ok {
			w.uint(3 + 2*n)
			return
		}
		// Small numbers are no addresses: they have more zeros.
		if [8]byte(a[:]) != [8]byte{} {
			w.out = append(append(w.out, 1), a[:]...)
			w.number(&a)
			return
		}
	}
	if n, ok := w.topics[*t]; ok {
		w.uint(2 + 2*n)
		return
	}
	w.out = append(append(w.out, 0), t[:]...)
	w.topics[*t] = uint64(len(w.topics))
}

// reader consumes a payload. After an error it reads zeros.
type reader struct {
	rest      []byte
	bad       bool
	addresses []evm.Address
	topics    []evm.Hash
}

func (r *reader) reset(data []byte) {
	*r = reader{rest: data, addresses: r.addresses[:0], topics: r.topics[:0]}
}

func (r *reader) fail() {
	r.bad, r.rest = true, nil
}

func (r *reader) uint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return v
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// take returns the next n bytes.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// bytes returns bytes with their length in front, nil for none.
func (r *reader) bytes() []byte {
	n := r.uint()
	if n == 0 {
		return nil
	}
	return r.take(n)
}

func (r *reader) wide(v *uint256.Int) {
	if len(r.rest) == 0 || r.rest[0] > 32 {
		r.fail()
		return
	}
	if b := r.take(uint64(r.rest[0]) + 1); b != nil {
		v.SetBytes(b[1:])
	}
}

func (r *reader) hash() (h evm.Hash) {
	copy(h[:], r.take(evm.HashLen))
	return h
}

func (r *reader) address() (a evm.Address) {
	if n := r.uint(); n > 0 {
		return r.known(n - 1)
	}
	copy(a[:], r.take(evm.AddressLen))
	r.addresses = append(r.addresses, a)
	return a
}

func (r *reader) known(n uint64) (a evm.Address) {
	if n >= uint64(len(r.addresses)) {
		r.fail()
		return a
	}
	return r.addresses[n]
}

func (r *reader) topic(t *evm.Hash) {
	switch n := r.uint(); {
	case n == 0:
		*t = r.hash()
		r.topics = append(r.topics, *t)
	case n == 1:
		var a evm.Address
		copy(a[:], r.take(evm.AddressLen))
		r.addresses = append(r.addresses, a)
		copy(t[12:], a[:])
	case n%2 == 1:
		a := r.known((n - 3) / 2)
		copy(t[12:], a[:])
	case (n-2)/2 < uint64(len(r.topics)):
		*t = r.topics[(n-2)/2]
	default:
		r.fail()
	}
}

// count returns a number of things of which each has at least so many bytes.
func (r *reader) count(least int) int {
	n := r.uint()
	if n > uint64(len(r.rest)/least) {
		r.fail()
		return 0
	}
	return int(n)
}
