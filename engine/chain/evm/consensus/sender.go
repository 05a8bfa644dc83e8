package consensus

import (
	"fmt"

	"github.com/ethereum/go-ethereum/crypto/secp256k1"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// halfOrder is the largest s of a signature, half of the curve's order (EIP-2).
var halfOrder = func() *uint256.Int {
	n := new(uint256.Int).SetBytes(secp256k1.S256().Params().N.Bytes())
	return n.Rsh(n, 1)
}()

// unsigned is the number of members before the signature, by type.
var unsigned = [LastType + 1]int{TypeLegacy: 6, TypeAccessList: 8, TypeDynamicFee: 9, TypeBlob: 11, TypeSetCode: 10}

// Sender recovers the account that signed a transaction from its encoding. It
// reads no more than it needs: the encoding is checked by [DecodeTx].
func Sender(raw []byte) (a evm.Address, err error) {
	kind, body, err := split(raw)
	if err != nil {
		return a, err
	}
	r := list(body)
	content := r.rest
	for range unsigned[kind] {
		r.skip("members")
	}
	signed := content[:len(content)-len(r.rest)]
	var v, sigR, sigS uint256.Int
	r.wide("v", &v)
	r.wide("r", &sigR)
	r.wide("s", &sigS)
	if err := r.end(); err != nil {
		return a, err
	}
	parity, chainID, err := parityOf(kind, &v)
	if err != nil {
		return a, err
	}
	msg := make([]byte, 0, len(signed)+48)
	if kind != TypeLegacy {
		msg = append(msg, kind)
	}
	start := len(msg)
	msg = append(msg, signed...)
	if chainID != nil {
		msg = append(appendWide(msg, chainID), 0x80, 0x80)
	}
	hash := evm.Keccak(closeList(msg, start))
	return recoverSigner(&hash, &sigR, &sigS, parity)
}

// parityOf returns which of the two points the signature means, and the chain's
// number where a legacy transaction signs it (EIP-155).
func parityOf(kind uint8, v *uint256.Int) (parity byte, chainID *uint256.Int, err error) {
	switch {
	case kind != TypeLegacy && v.LtUint64(2):
		return byte(v.Uint64()), nil, nil
	case kind == TypeLegacy && (v.Eq(uint256.NewInt(27)) || v.Eq(uint256.NewInt(28))):
		return byte(v.Uint64() - 27), nil, nil
	case kind == TypeLegacy && !v.LtUint64(35):
		id := new(uint256.Int).SubUint64(v, 35)
		parity = byte(id.Uint64() & 1)
		return parity, id.Rsh(id, 1), nil
	}
	return 0, nil, fmt.Errorf("%w: v is %s", ErrSignature, v)
}

func recoverSigner(hash *evm.Hash, r, s *uint256.Int, parity byte) (a evm.Address, err error) {
	if s.Gt(halfOrder) {
		return a, fmt.Errorf("%w: s is in the upper half", ErrSignature)
	}
	var sig [65]byte
	r.WriteToSlice(sig[:32])
	s.WriteToSlice(sig[32:64])
	sig[64] = parity
	key, err := secp256k1.RecoverPubkey(hash[:], sig[:])
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	h := evm.Keccak(key[1:])
	return evm.Address(h[12:]), nil
}

func (r *reader) skip(what string) {
	if r.err != nil {
		return
	}
	_, _, rest, err := rlp.Split(r.rest)
	if err != nil {
		r.fail(what, err)
		return
	}
	r.rest = rest
}
