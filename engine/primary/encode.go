package primary

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

// ErrRow is wrapped by errors about rows that are not what was written.
var ErrRow = errors.New("malformed row of the primary network")

// Encoder appends the members of a row's value. Numbers of 64 bits have the variable
// length of package binary: most are small.
type Encoder struct{ B []byte }

// U8 appends a byte.
func (e *Encoder) U8(v uint8) { e.B = append(e.B, v) }

// Bool appends a byte that is 1 for true.
func (e *Encoder) Bool(v bool) {
	if v {
		e.U8(1)
	} else {
		e.U8(0)
	}
}

// Uint appends a number.
func (e *Encoder) Uint(v uint64) { e.B = binary.AppendUvarint(e.B, v) }

// Fixed appends bytes whose number is known to the reader.
func (e *Encoder) Fixed(b []byte) { e.B = append(e.B, b...) }

// ID appends an ID.
func (e *Encoder) ID(id chain.ID) { e.B = append(e.B, id[:]...) }

// Bytes appends bytes behind their number.
func (e *Encoder) Bytes(b []byte) {
	e.Uint(uint64(len(b)))
	e.B = append(e.B, b...)
}

// String appends a string as [Encoder.Bytes] appends its bytes.
func (e *Encoder) String(s string) {
	e.Uint(uint64(len(s)))
	e.B = append(e.B, s...)
}

// Place appends a place.
func (e *Encoder) Place(p Place) {
	e.Uint(p.Height)
	e.Uint(uint64(p.Index))
}

// Owners appends owners.
func (e *Encoder) Owners(o *utxo.Owners) {
	e.Uint(o.Locktime)
	e.Uint(uint64(o.Threshold))
	e.Uint(uint64(len(o.Addresses)))
	for _, a := range o.Addresses {
		e.Fixed(a[:])
	}
}

// Decoder reads what an [Encoder] wrote. What is missing is zero, and [Decoder.End]
// returns an error. Byte strings are parts of the value, and must be copied by who
// keeps them.
type Decoder struct {
	b   []byte
	bad bool
}

// NewDecoder returns a decoder of a value.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// End returns an error unless exactly the whole value was read.
func (d *Decoder) End(what string) error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("%w: %s", ErrRow, what)
	}
	return nil
}

// Fixed reads n bytes.
func (d *Decoder) Fixed(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

// Rest reads all that is left.
func (d *Decoder) Rest() []byte { return d.Fixed(len(d.b)) }

// Len returns how many bytes are left.
func (d *Decoder) Len() int { return len(d.b) }

// U8 reads a byte.
func (d *Decoder) U8() uint8 {
	if b := d.Fixed(1); b != nil {
		return b[0]
	}
	return 0
}

// Bool reads a byte that is 1 for true.
func (d *Decoder) Bool() bool { return d.U8() == 1 }

// Uint reads a number.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Uint32 reads a number that must fit 32 bits.
func (d *Decoder) Uint32() uint32 {
	v := d.Uint()
	if v > 1<<32-1 {
		d.bad = true
		return 0
	}
	return uint32(v)
}

// Count reads how many elements of at least size bytes follow, which is no more than
// there is room for.
func (d *Decoder) Count(size int) int {
	v := d.Uint()
	if v > uint64(len(d.b)/max(size, 1)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(v)
}

// ID reads an ID.
func (d *Decoder) ID() (id chain.ID) {
	copy(id[:], d.Fixed(chain.IDLen))
	return id
}

// Node reads a node's ID.
func (d *Decoder) Node() (id chain.NodeID) {
	copy(id[:], d.Fixed(chain.NodeIDLen))
	return id
}

// Bytes reads bytes behind their number.
func (d *Decoder) Bytes() []byte { return d.Fixed(d.Count(1)) }

// Place reads a place.
func (d *Decoder) Place() Place { return Place{d.Uint(), d.Uint32()} }

// Owners reads owners.
func (d *Decoder) Owners() (o utxo.Owners) {
	o.Locktime = d.Uint()
	o.Threshold = d.Uint32()
	if n := d.Count(address.Len); n > 0 {
		o.Addresses = make([]address.Address, n)
		for i := range o.Addresses {
			copy(o.Addresses[i][:], d.Fixed(address.Len))
		}
	}
	return o
}
