package evm

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// The C-Chain's blocks carry its imports and exports in the codec of Avalanche:
// big-endian integers, lists with a 4-byte length, interfaces with a 4-byte type.
// Since the fifth Apricot phase they are a list, before a single one. Which it is
// shows: only one of both readings uses up the bytes.
const (
	codecVersion = 0

	typeImport     = 0
	typeExport     = 1
	typeInput      = 5
	typeOutput     = 7
	typeCredential = 9

	// weiPerNano is the number of wei in the unit that the other chains count in.
	weiPerNano = 1_000_000_000

	addressesLen = 20 // bytes of an address of the other chains
	signatureLen = 65
	// maxParts bounds the members of each list. A block of 2 MiB has no room for more.
	maxParts = 1 << 17
)

var (
	errCodec   = errors.New("malformed atomic transactions")
	errNoAsset = errors.New("the chain has atomic transactions, but the ID of AVAX is not configured")
)

// decodeExtra reads blockExtraData, 0x and hex digits. Only amounts of assetID
// are kept: those of AVAX.
func decodeExtra(text []byte, assetID evm.Hash) ([]byte, []evm.Atomic, error) {
	if assetID.IsZero() {
		return nil, nil, errNoAsset
	}
	n, err := hexLen(text)
	if err != nil {
		return nil, nil, err
	}
	b := make([]byte, n)
	if _, err := hex.Decode(b, text[2:]); err != nil {
		return nil, nil, hexErr("hex digits", text)
	}
	found, err := decodeAtomic(b, assetID)
	return b, found, err
}

func decodeAtomic(b []byte, assetID evm.Hash) ([]evm.Atomic, error) {
	list := atomicReader{rest: b, asset: assetID}
	list.batch()
	if list.done() {
		return list.found, nil
	}
	single := atomicReader{rest: b, asset: assetID}
	single.version()
	single.tx()
	if single.done() {
		return single.found, nil
	}
	return nil, fmt.Errorf("%w: %d bytes", errCodec, len(b))
}

// atomicReader consumes rest; after an error it reads zeros.
type atomicReader struct {
	rest   []byte
	failed bool
	asset  evm.Hash
	found  []evm.Atomic
}

func (r *atomicReader) done() bool { return !r.failed && len(r.rest) == 0 }

func (r *atomicReader) take(n int) []byte {
	if r.failed || len(r.rest) < n {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *atomicReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *atomicReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// each reads a list's length and calls f that often.
func (r *atomicReader) each(f func()) int {
	n := int(r.u32())
	if n > maxParts {
		r.failed = true
	}
	for i := 0; i < n && !r.failed; i++ {
		f()
	}
	return n
}

func (r *atomicReader) want(v uint32) {
	if r.u32() != v {
		r.failed = true
	}
}

func (r *atomicReader) version() {
	if b := r.take(2); b != nil && binary.BigEndian.Uint16(b) != codecVersion {
		r.failed = true
	}
}

func (r *atomicReader) batch() {
	r.version()
	if r.each(r.tx) == 0 {
		r.failed = true
	}
}

// tx reads a signed import or export.
func (r *atomicReader) tx() {
	kind := r.u32()
	r.u32()        // network
	r.take(2 * 32) // this chain and the other one
	switch {
	case kind == typeImport:
		r.each(r.input)
		r.each(func() { r.account(false) })
	case kind == typeExport:
		r.each(func() { r.account(true) })
		r.each(r.output)
	default:
		r.failed = true
	}
	r.each(func() { // credentials
		r.want(typeCredential)
		r.each(func() { r.take(signatureLen) })
	})
}

// account reads what an import gives to an account or an export takes from one.
func (r *atomicReader) account(export bool) {
	address, amount, asset := r.take(evm.AddressLen), r.u64(), r.take(evm.HashLen)
	if export {
		r.u64() // nonce
	}
	if r.failed || evm.Hash(asset) != r.asset {
		return
	}
	a := evm.Atomic{Address: evm.Address(address), Export: export}
	a.Wei.Mul(uint256.NewInt(amount), uint256.NewInt(weiPerNano))
	r.found = append(r.found, a)
}

// input reads an output of the other chain that an import uses up.
func (r *atomicReader) input() {
	r.take(32 + 4 + 32) // transaction, index, asset
	r.want(typeInput)
	r.u64() // amount
	r.each(func() { r.u32() })
}

// output reads an output that an export makes on the other chain.
func (r *atomicReader) output() {
	r.take(32) // asset
	r.want(typeOutput)
	r.take(8 + 8 + 4) // amount, lock time, threshold
	r.each(func() { r.take(addressesLen) })
}
