package rollup

import "encoding/binary"

// Stamp says in which hours an address was last seen: as [Hour.Number] + 1, or
// 0 for never. Hours are enough: what was seen in the same hour was seen in the
// same bucket of every interval.
type Stamp struct {
	Active   uint32 // in from or to
	Sender   uint32 // in from
	Deployer uint32 // made a contract
}

// StampLen is the length of a stored stamp in bytes: 24 bits for each hour.
const StampLen = 9

// Append appends the stored form.
func (s Stamp) Append(dst []byte) []byte {
	for _, h := range [...]uint32{s.Active, s.Sender, s.Deployer} {
		dst = append(dst, byte(h>>16), byte(h>>8), byte(h))
	}
	return dst
}

// Decode reads the stored form. The error is [ErrCodec].
func (s *Stamp) Decode(src []byte) error {
	if len(src) != StampLen {
		return ErrCodec
	}
	for i, h := range [...]*uint32{&s.Active, &s.Sender, &s.Deployer} {
		var b [4]byte
		copy(b[1:], src[3*i:])
		*h = binary.BigEndian.Uint32(b[:])
	}
	return nil
}
