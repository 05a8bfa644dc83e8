package validator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

// Type numbers of what a P-Chain message claims. Type 1 is a registration
// request, which the P-Chain reads but never signs.
const (
	claimConversion   = 0
	claimRequest      = 1
	claimRegistration = 2
	claimWeight       = 3
)

// claim is what a P-Chain message says about its state.
type claim struct {
	kind       uint32
	id         chain.ID // conversion or validation
	registered bool
	nonce      uint64
	weight     uint64
}

// parseClaim reads the payload inside a P-Chain's addressed call.
func parseClaim(b []byte) (claim, bool) {
	var c claim
	if len(b) < 6 || binary.BigEndian.Uint16(b) != 0 {
		return c, false
	}
	c.kind = binary.BigEndian.Uint32(b[2:])
	b = b[6:]
	if c.kind == claimRequest {
		return c, true
	}
	sizes := map[uint32]int{claimConversion: chain.IDLen, claimRegistration: chain.IDLen + 1, claimWeight: chain.IDLen + 16}
	if size, ok := sizes[c.kind]; !ok || len(b) != size {
		return c, false
	}
	copy(c.id[:], b)
	b = b[chain.IDLen:]
	switch c.kind {
	case claimRegistration:
		if b[0] > 1 {
			return c, false
		}
		c.registered = b[0] == 1
	case claimWeight:
		c.nonce = binary.BigEndian.Uint64(b)
		c.weight = binary.BigEndian.Uint64(b[8:])
		if c.nonce == math.MaxUint64 && c.weight != 0 {
			return c, false
		}
	}
	return c, true
}

// justification says why a validation is over: it was the initial validator
// index of subnet, or registration was not used in time.
type justification struct {
	initial      bool
	subnet       []byte
	index        uint32
	registration []byte
}

var errJustification = errors.New("not a justification")

// parseJustification reads the protobuf form; its fields alias b. The last
// member of the oneof counts.
func parseJustification(b []byte) (justification, error) {
	var j justification
	err := eachField(b, func(num protowire.Number, val []byte, _ uint64) error {
		switch num {
		case 1:
			j = justification{initial: true}
			return eachField(val, func(num protowire.Number, val []byte, n uint64) error {
				switch num {
				case 1:
					j.subnet = val
				case 2:
					j.index = uint32(n) // protobuf cuts a uint32 that way
				}
				return nil
			})
		case 2:
			j = justification{registration: val}
			if j.registration == nil {
				j.registration = []byte{}
			}
		}
		return nil
	})
	return j, err
}

// eachField calls f with every field of a protobuf message: val for byte
// strings, n for integers.
func eachField(b []byte, f func(num protowire.Number, val []byte, n uint64) error) error {
	for len(b) > 0 {
		num, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return fmt.Errorf("%w: %w", errJustification, protowire.ParseError(size))
		}
		if !num.IsValid() {
			return fmt.Errorf("%w: field number %d", errJustification, num)
		}
		b = b[size:]
		var val []byte
		var n uint64
		switch typ {
		case protowire.BytesType:
			val, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		default:
			size = protowire.ConsumeFieldValue(num, typ, b)
		}
		if size < 0 {
			return fmt.Errorf("%w: %w", errJustification, protowire.ParseError(size))
		}
		if err := f(num, val, n); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}
