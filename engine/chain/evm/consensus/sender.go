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
	p, err := openSigned(raw)
	if err != nil {
		return a, err
	}
	if p.s.Gt(halfOrder) {
		return a, fmt.Errorf("%w: s is in the upper half", ErrSignature)
	}
	hash := p.hash()
	var sig [65]byte
	p.r.WriteToSlice(sig[:32])
	p.s.WriteToSlice(sig[32:64])
	sig[64] = p.parity
	key, err := secp256k1.RecoverPubkey(hash[:], sig[:])
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	sum := evm.Keccak(key[1:])
	return evm.Address(sum[12:]), nil
}

// SigningHash is the hash that the sender of a transaction signed. R and S in the
// encoding do not matter.
func SigningHash(raw []byte) (evm.Hash, error) {
	p, err := openSigned(raw)
	if err != nil {
		return evm.Hash{}, err
	}
	return p.hash(), nil
}

// parts of the encoding of a transaction.
type parts struct {
	kind    uint8
	members []byte // those that are signed
	r, s    uint256.Int
	parity  byte
	chainID *uint256.Int // of a legacy transaction that signs it (EIP-155)
}

func openSigned(raw []byte) (p parts, err error) {
	kind, body, err := split(raw)
	if err != nil {
		return p, err
	}
	p.kind = kind
	r := list(body)
	content := r.rest
	for range unsigned[kind] {
		r.skip("members")
	}
	p.members = content[:len(content)-len(r.rest)]
	var v uint256.Int
	r.wide("v", &v)
	r.wide("r", &p.r)
	r.wide("s", &p.s)
	if err := r.end(); err != nil {
		return p, err
	}
	p.parity, p.chainID, err = parityOf(kind, &v)
	return p, err
}

func (p *parts) hash() evm.Hash {
	msg := make([]byte, 0, len(p.members)+48)
	if p.kind != TypeLegacy {
		msg = append(msg, p.kind)
	}
	start := len(msg)
	msg = append(msg, p.members...)
	if p.chainID != nil {
		msg = append(appendWide(msg, p.chainID), 0x80, 0x80)
	}
	return evm.Keccak(closeList(msg, start))
}

// ChainID returns the chain's number in the v of a legacy transaction, nil if it
// has none (EIP-155).
func ChainID(v *uint256.Int) *uint256.Int {
	_, id, err := parityOf(TypeLegacy, v)
	if err != nil {
		return nil
	}
	return id
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
