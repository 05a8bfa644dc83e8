package warp

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

// Type numbers of payloads, and of what a P-Chain message carries inside an
// addressed call.
const (
	typeHash          = 0
	typeAddressedCall = 1

	typeSubnetToL1Conversion    = 0
	typeL1ValidatorRegistration = 2
	typeL1ValidatorWeight       = 3
)

// AddressedCall is the payload that contracts emit and that the P-Chain attests with.
type AddressedCall struct {
	// SourceAddress is 20 bytes for an EVM contract and empty for the P-Chain.
	SourceAddress []byte
	Payload       []byte
}

// Append appends the payload's bytes to dst.
func (c AddressedCall) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, codecVersion)
	dst = binary.BigEndian.AppendUint32(dst, typeAddressedCall)
	dst = appendBytes(dst, c.SourceAddress)
	return appendBytes(dst, c.Payload)
}

// ParseAddressedCall reads an addressed call; its fields alias b.
func ParseAddressedCall(b []byte) (AddressedCall, error) {
	var c AddressedCall
	rest, err := takeType(b, typeAddressedCall)
	if err != nil {
		return c, err
	}
	if c.SourceAddress, rest, err = takeBytes(rest, MaxPayload); err != nil {
		return c, err
	}
	if c.Payload, rest, err = takeBytes(rest, MaxPayload); err != nil {
		return c, err
	}
	if len(rest) != 0 {
		return c, fmt.Errorf("%w: %d bytes after the addressed call", ErrMalformed, len(rest))
	}
	return c, nil
}

func takeType(b []byte, want uint32) ([]byte, error) {
	if len(b) < 6 {
		return nil, fmt.Errorf("%w: payload of %d bytes", ErrMalformed, len(b))
	}
	if v := binary.BigEndian.Uint16(b); v != codecVersion {
		return nil, fmt.Errorf("%w: payload codec version %d", ErrMalformed, v)
	}
	if typ := binary.BigEndian.Uint32(b[2:]); typ != want {
		return nil, fmt.Errorf("%w: payload type %d, want %d", ErrMalformed, typ, want)
	}
	return b[6:], nil
}

// HashPayload returns the bytes of a payload that attests a block hash.
func HashPayload(hash chain.ID) []byte {
	b := binary.BigEndian.AppendUint16(nil, codecVersion)
	b = binary.BigEndian.AppendUint32(b, typeHash)
	return append(b, hash[:]...)
}

// SubnetToL1Conversion returns the P-Chain message that attests that a subnet was
// converted with the given conversion ID.
func SubnetToL1Conversion(networkID uint32, conversionID chain.ID) (*Unsigned, error) {
	b := binary.BigEndian.AppendUint16(nil, codecVersion)
	b = binary.BigEndian.AppendUint32(b, typeSubnetToL1Conversion)
	b = append(b, conversionID[:]...)
	return New(networkID, chain.PlatformChainID, AddressedCall{Payload: b}.Append(nil))
}

// L1ValidatorRegistration returns the P-Chain message that attests whether a
// validation is registered; registered false means that it never will be again.
func L1ValidatorRegistration(networkID uint32, validationID chain.ID, registered bool) (*Unsigned, error) {
	b := binary.BigEndian.AppendUint16(nil, codecVersion)
	b = binary.BigEndian.AppendUint32(b, typeL1ValidatorRegistration)
	b = append(b, validationID[:]...)
	if registered {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return New(networkID, chain.PlatformChainID, AddressedCall{Payload: b}.Append(nil))
}

// L1ValidatorWeight returns the P-Chain message that attests the weight of an L1's validator
// since the change of that nonce.
func L1ValidatorWeight(networkID uint32, validationID chain.ID, nonce, weight uint64) (*Unsigned, error) {
	b := binary.BigEndian.AppendUint16(nil, codecVersion)
	b = binary.BigEndian.AppendUint32(b, typeL1ValidatorWeight)
	b = append(b, validationID[:]...)
	b = binary.BigEndian.AppendUint64(b, nonce)
	b = binary.BigEndian.AppendUint64(b, weight)
	return New(networkID, chain.PlatformChainID, AddressedCall{Payload: b}.Append(nil))
}

// InitialJustification names the index-th validator that an L1 began with, as
// [RegistrationJustification] reads it.
func InitialJustification(subnet chain.ID, index uint32) []byte {
	inner := protowire.AppendTag(nil, 1, protowire.BytesType)
	inner = protowire.AppendBytes(inner, subnet[:])
	if index != 0 {
		inner = protowire.AppendTag(inner, 2, protowire.VarintType)
		inner = protowire.AppendVarint(inner, uint64(index))
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
}

// MessageJustification names a validator by the message that registered it, in the same form.
func MessageJustification(registration []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), registration)
}

// ParseL1ValidatorRegistration reads what an addressed call of the P-Chain carries.
func ParseL1ValidatorRegistration(b []byte) (validationID chain.ID, registered bool, err error) {
	rest, err := takeType(b, typeL1ValidatorRegistration)
	if err != nil {
		return validationID, false, err
	}
	if len(rest) != chain.IDLen+1 || rest[chain.IDLen] > 1 {
		return validationID, false, fmt.Errorf("%w: validator registration of %d bytes", ErrMalformed, len(b))
	}
	copy(validationID[:], rest)
	return validationID, rest[chain.IDLen] == 1, nil
}

// RegistrationJustification reads the protobuf L1ValidatorRegistrationJustification
// and returns the validation ID it is about: field 1 is {1: subnet ID, 2: index} of
// an initial validator, field 2 the bytes of a registration message.
func RegistrationJustification(b []byte) (chain.ID, error) {
	var id chain.ID
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || !num.IsValid() || typ != protowire.BytesType {
		return id, fmt.Errorf("%w: justification is not a protobuf message", ErrMalformed)
	}
	val, m := protowire.ConsumeBytes(b[n:])
	if m < 0 || n+m != len(b) {
		return id, fmt.Errorf("%w: justification is truncated or has further fields", ErrMalformed)
	}
	switch num {
	case 1:
		return initialValidationID(val)
	case 2:
		if len(val) == 0 {
			return id, fmt.Errorf("%w: empty registration message", ErrMalformed)
		}
		return sha256.Sum256(val), nil
	default:
		return id, fmt.Errorf("%w: justification field %d", ErrMalformed, num)
	}
}

// initialValidationID is the SHA-256 of subnet ID and index (u32) of an L1's initial validator.
func initialValidationID(b []byte) (chain.ID, error) {
	var subnet []byte
	var index uint64
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || !num.IsValid() {
			return chain.ID{}, fmt.Errorf("%w: subnet index", ErrMalformed)
		}
		b = b[n:]
		switch {
		case num == 1 && typ == protowire.BytesType:
			subnet, n = protowire.ConsumeBytes(b)
		case num == 2 && typ == protowire.VarintType:
			index, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return chain.ID{}, fmt.Errorf("%w: subnet index", ErrMalformed)
		}
		b = b[n:]
	}
	if len(subnet) != chain.IDLen || index > 1<<32-1 {
		return chain.ID{}, fmt.Errorf("%w: subnet ID of %d bytes, index %d", ErrMalformed, len(subnet), index)
	}
	pre := binary.BigEndian.AppendUint32(append([]byte(nil), subnet...), uint32(index))
	return sha256.Sum256(pre), nil
}

// UnwrapABI returns the bytes inside ABI-encoded dynamic bytes, as the data of a
// SendWarpMessage log holds them; ok is false when b has another shape.
func UnwrapABI(b []byte) (inner []byte, ok bool) {
	const word = 32
	if len(b) < 2*word || len(b)%word != 0 {
		return nil, false
	}
	if off, ok := abiUint(b[:word]); !ok || off != word {
		return nil, false
	}
	n, ok := abiUint(b[word : 2*word])
	if !ok || n > uint64(len(b)-2*word) || len(b)-2*word-int(n) >= word {
		return nil, false
	}
	return b[2*word : 2*word+int(n) : 2*word+int(n)], true
}

func abiUint(w []byte) (uint64, bool) {
	for _, c := range w[:24] {
		if c != 0 {
			return 0, false
		}
	}
	return binary.BigEndian.Uint64(w[24:]), true
}
