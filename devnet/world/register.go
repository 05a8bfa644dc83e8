package world

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
)

// registerType is the type number of a registration message among P-Chain payloads.
const registerType = 1

// ErrRegistration is wrapped by the errors of [ParseRegistration].
var ErrRegistration = errors.New("malformed registration message")

// Registration is the message by which an L1 asks the P-Chain to register a
// validator. Its ID, the SHA-256 of its bytes, is the validation ID.
type Registration struct {
	SubnetID  chain.ID
	NodeID    chain.NodeID
	PublicKey [bls.PublicKeyLen]byte
	// Expiry is when it can no longer be registered, in Unix seconds.
	Expiry uint64
	Weight uint64
}

// Append appends the message's bytes, with owners that nobody controls.
func (r Registration) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0) // codec version
	dst = binary.BigEndian.AppendUint32(dst, registerType)
	dst = append(dst, r.SubnetID[:]...)
	dst = appendVar(dst, r.NodeID[:])
	dst = append(dst, r.PublicKey[:]...)
	dst = binary.BigEndian.AppendUint64(dst, r.Expiry)
	for range 2 { // who gets the balance back, who may disable: threshold 0 of nobody
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = binary.BigEndian.AppendUint32(dst, 0)
	}
	return binary.BigEndian.AppendUint64(dst, r.Weight)
}

// ParseRegistration reads a registration message.
func ParseRegistration(b []byte) (Registration, error) {
	var r Registration
	in := reader{rest: b}
	if version, typ := in.u16(), in.u32(); in.err == nil && (version != 0 || typ != registerType) {
		return r, fmt.Errorf("%w: codec version %d, type %d", ErrRegistration, version, typ)
	}
	copy(r.SubnetID[:], in.take(chain.IDLen))
	if n := in.u32(); in.err == nil && n != chain.NodeIDLen {
		return r, fmt.Errorf("%w: node ID of %d bytes", ErrRegistration, n)
	}
	copy(r.NodeID[:], in.take(chain.NodeIDLen))
	copy(r.PublicKey[:], in.take(bls.PublicKeyLen))
	r.Expiry = in.u64()
	for range 2 {
		in.u32() // threshold
		n := in.u32()
		for range n {
			if in.take(20); in.err != nil {
				break
			}
		}
	}
	r.Weight = in.u64()
	switch {
	case in.err != nil:
		return r, in.err
	case len(in.rest) != 0:
		return r, fmt.Errorf("%w: %d bytes at the end", ErrRegistration, len(in.rest))
	}
	return r, nil
}

// reader cuts fields off a byte string; after the first error it gives zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && len(r.rest) < n {
		r.err = fmt.Errorf("%w: truncated", ErrRegistration)
	}
	if r.err != nil {
		return make([]byte, n)
	}
	head := r.rest[:n]
	r.rest = r.rest[n:]
	return head
}

func (r *reader) u16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// ExpiredRegistration returns a registration that nobody used in time, for a
// subnet of this world or, without L1s, one that never became an L1.
func (w *World) ExpiredRegistration() Registration {
	subnet := chain.ID(w.derive("unconverted subnet", 0))
	if len(w.l1s) > 0 {
		subnet = w.l1s[0].SubnetID
	}
	v := w.validators[w.params.Validators-1]
	at := uint64(w.GenesisTime().Unix()) // after 1970
	return Registration{SubnetID: subnet, NodeID: v.NodeID, PublicKey: v.PublicKey, Expiry: at, Weight: 1}
}

// RegistrationJustification wraps a registration message as the P-Chain wants
// it beside an attestation that it can no longer be registered.
func RegistrationJustification(registration []byte) []byte {
	b := protowire.AppendTag(nil, 2, protowire.BytesType)
	return protowire.AppendBytes(b, registration)
}

// RemovedValidatorJustification names an initial validator of an L1.
func RemovedValidatorJustification(subnet chain.ID, index uint32) []byte {
	inner := protowire.AppendTag(nil, 1, protowire.BytesType)
	inner = protowire.AppendBytes(inner, subnet[:])
	if index != 0 {
		inner = protowire.AppendTag(inner, 2, protowire.VarintType)
		inner = protowire.AppendVarint(inner, uint64(index))
	}
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	return protowire.AppendBytes(b, inner)
}
