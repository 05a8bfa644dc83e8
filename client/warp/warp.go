// Package warp checks signed warp messages as a receiving chain does: that the validators
// that a message names have signed it, and that they hold a quorum of the stake.
//
// It needs the validators only. They come from a node that the caller believes
// (platform.getValidatorsAt) or, with [FromServer], from a Quorate server.
package warp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	blst "github.com/supranational/blst/bindings/go"

	"quorate/client"
)

// Lengths in bytes: of a BLS key and a signature, compressed, and of a signed message
// without its payload and its signers.
const (
	KeyLen       = 48
	SignatureLen = 96
	headLen      = 2 + 4 + 32 + 4
	tailLen      = 4 + 4 + SignatureLen
)

// dst is the domain of signatures of warp messages.
var dst = []byte("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_")

// ErrInvalid is what errors of [Signed.Verify] wrap, and those of [Parse].
var ErrInvalid = errors.New("not a valid signed message")

// Signed is a signed message.
type Signed struct {
	NetworkID     uint32
	SourceChainID [32]byte
	Payload       []byte
	// Unsigned is what was signed: the message as it was sent.
	Unsigned []byte
	// Signers are the indices of validators in their canonical order, ascending.
	Signers []int

	signature [SignatureLen]byte
}

// ParseHex reads a signed message from hex, with 0x or without.
func ParseHex(text string) (*Signed, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return Parse(b)
}

// Parse reads a signed message.
func Parse(b []byte) (*Signed, error) {
	bad := func(what string) (*Signed, error) { return nil, fmt.Errorf("%w: %s", ErrInvalid, what) }
	if len(b) < headLen+tailLen {
		return bad("it is too short")
	}
	if binary.BigEndian.Uint16(b) != 0 {
		return bad("its codec version is not 0")
	}
	payload := int64(binary.BigEndian.Uint32(b[38:]))
	if payload > int64(len(b)-headLen-tailLen) {
		return bad("its payload is longer than it")
	}
	s := &Signed{NetworkID: binary.BigEndian.Uint32(b[2:]), SourceChainID: [32]byte(b[6:]), Unsigned: b[:headLen+payload]}
	s.Payload = s.Unsigned[headLen:]
	rest := b[len(s.Unsigned):]
	if binary.BigEndian.Uint32(rest) != 0 {
		return bad("its signature is of an unknown kind")
	}
	count := int64(binary.BigEndian.Uint32(rest[4:]))
	if count != int64(len(rest)-tailLen) {
		return bad("its length is wrong")
	}
	set := rest[8 : 8+count]
	if len(set) > 0 && set[0] == 0 {
		return bad("its signers are not written in the shortest form")
	}
	for i := len(set) - 1; i >= 0; i-- {
		for v := set[i]; v != 0; v &= v - 1 {
			s.Signers = append(s.Signers, (len(set)-1-i)*8+bits.TrailingZeros8(v))
		}
	}
	s.signature = [SignatureLen]byte(rest[8+count:])
	return s, nil
}

// Validator is a BLS key, and the weight of the nodes that have it.
type Validator struct {
	PublicKey [KeyLen]byte // compressed
	Weight    uint64
}

// Set is the validators of a subnet at a P-Chain height.
type Set struct {
	validators []Validator
	keys       []blst.P1Affine
	total      uint64
}

// NewSet returns a set. total is the weight of all validators, those without a key included,
// which cannot sign; several with one key are added up.
func NewSet(validators []Validator, total uint64) (*Set, error) {
	weights, left := map[[KeyLen]byte]uint64{}, total
	for _, v := range validators {
		if v.Weight > left {
			return nil, errors.New("the validators have more weight than all together")
		}
		left -= v.Weight
		weights[v.PublicKey] += v.Weight
	}
	type entry struct {
		Validator
		key  blst.P1Affine
		form []byte // uncompressed, which the canonical order is by
	}
	list := make([]entry, 0, len(weights))
	for key, weight := range weights {
		e := entry{Validator: Validator{PublicKey: key, Weight: weight}}
		if e.key.Uncompress(key[:]) == nil || !e.key.KeyValidate() {
			return nil, fmt.Errorf("%x is not a BLS key", key)
		}
		e.form = e.key.Serialize()
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return bytes.Compare(a.form, b.form) })
	s := &Set{total: total}
	for _, e := range list {
		s.validators, s.keys = append(s.validators, e.Validator), append(s.keys, e.key)
	}
	return s, nil
}

// FromServer returns the set that a server describes.
func FromServer(set *client.SigningSet) (*Set, error) {
	total, err := strconv.ParseUint(set.TotalWeight, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("total weight: %w", err)
	}
	list := make([]Validator, 0, len(set.Validators))
	for _, v := range set.Validators {
		weight, err := strconv.ParseUint(v.Weight, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("weight: %w", err)
		}
		key, err := hex.DecodeString(strings.TrimPrefix(v.PublicKey, "0x"))
		if err != nil || len(key) != KeyLen {
			return nil, fmt.Errorf("%q is not a BLS key", v.PublicKey)
		}
		list = append(list, Validator{PublicKey: [KeyLen]byte(key), Weight: weight})
	}
	return NewSet(list, total)
}

// Verify checks that validators of a set with at least quorum percent of its weight have
// signed the message. Its errors wrap [ErrInvalid].
func (s *Signed) Verify(set *Set, quorum int) error {
	var weight uint64
	keys := make([]*blst.P1Affine, 0, len(s.Signers))
	for _, i := range s.Signers {
		if i >= len(set.keys) {
			return fmt.Errorf("%w: it names signer %d of %d validators", ErrInvalid, i, len(set.keys))
		}
		weight += set.validators[i].Weight
		keys = append(keys, &set.keys[i])
	}
	if !reaches(weight, set.total, quorum) {
		return fmt.Errorf("%w: %d of a weight of %d signed, the quorum is %d%%", ErrInvalid, weight, set.total, quorum)
	}
	var sum blst.P1Aggregate
	var sig blst.P2Affine
	if sig.Uncompress(s.signature[:]) == nil || len(keys) == 0 || !sum.Aggregate(keys, false) ||
		!sig.Verify(true, sum.ToAffine(), true, s.Unsigned, dst) {
		return fmt.Errorf("%w: the signature is not that of the named signers", ErrInvalid)
	}
	return nil
}

// reaches reports whether a weight is at least quorum percent of a total.
func reaches(weight, total uint64, quorum int) bool {
	haveHi, haveLo := bits.Mul64(weight, 100)
	wantHi, wantLo := bits.Mul64(total, uint64(max(quorum, 0)))
	return haveHi > wantHi || haveHi == wantHi && haveLo >= wantLo
}
