package consensus

import (
	"fmt"
	"math/bits"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Types of transactions (EIP-2718).
const (
	TypeLegacy     = 0
	TypeAccessList = 1 // EIP-2930
	TypeDynamicFee = 2 // EIP-1559
	TypeBlob       = 3 // EIP-4844
	TypeSetCode    = 4 // EIP-7702
	// LastType is the highest type that is known here.
	LastType = TypeSetCode
)

// Signed is what the encoding of a transaction has beside the members of [evm.Tx].
type Signed struct {
	// ChainID is that of the members; a legacy transaction has it in V, if at all.
	ChainID    uint256.Int
	Access     []Access
	MaxBlobFee uint256.Int
	BlobHashes []evm.Hash
	Auths      []Auth
	V, R, S    uint256.Int
}

// Access is an entry of an access list.
type Access struct {
	Address evm.Address
	Keys    []evm.Hash
}

// Auth is a signed authorization of EIP-7702.
type Auth struct {
	ChainID uint256.Int
	Address evm.Address
	Nonce   uint64
	V       uint8
	R, S    uint256.Int
}

// Reset empties s and keeps its memory.
func (s *Signed) Reset() {
	*s = Signed{Access: s.Access[:0], BlobHashes: s.BlobHashes[:0], Auths: s.Auths[:0]}
}

// AppendTx appends the encoding of t with its signature and what else is in s. Of
// t it takes Type, Nonce, To, Creation, Value, GasLimit, Input, and of its prices
// GasPrice for the types 0 and 1, MaxFee and MaxPriorityFee for the others.
func AppendTx(dst []byte, t *evm.Tx, s *Signed) ([]byte, error) {
	switch {
	case t.Type > LastType:
		return dst, fmt.Errorf("%w: %d", ErrUnknownType, t.Type)
	case t.Type >= TypeDynamicFee && (t.MaxFee == nil || t.MaxPriorityFee == nil):
		return dst, malformed("type %d without its prices", t.Type)
	case t.Type >= TypeBlob && t.Creation:
		return dst, malformed("type %d creates a contract", t.Type)
	}
	if t.Type != TypeLegacy {
		dst = append(dst, t.Type)
	}
	start := len(dst)
	if t.Type != TypeLegacy {
		dst = appendWide(dst, &s.ChainID)
	}
	dst = rlp.AppendUint64(dst, t.Nonce)
	if t.Type >= TypeDynamicFee {
		dst = appendWide(dst, t.MaxPriorityFee)
		dst = appendWide(dst, t.MaxFee)
	} else {
		dst = appendWide(dst, &t.GasPrice)
	}
	dst = rlp.AppendUint64(dst, t.GasLimit)
	if t.Creation {
		dst = append(dst, 0x80)
	} else {
		dst = AppendString(dst, t.To[:])
	}
	dst = appendWide(dst, &t.Value)
	dst = AppendString(dst, t.Input)
	if t.Type != TypeLegacy {
		dst = s.appendLists(dst, t.Type)
	}
	dst = appendWide(dst, &s.V)
	dst = appendWide(dst, &s.R)
	dst = appendWide(dst, &s.S)
	return closeList(dst, start), nil
}

// appendLists appends what a typed transaction has between its input and its signature.
func (s *Signed) appendLists(dst []byte, kind uint8) []byte {
	start := len(dst)
	for i := range s.Access {
		entry := len(dst)
		dst = AppendString(dst, s.Access[i].Address[:])
		keys := len(dst)
		for k := range s.Access[i].Keys {
			dst = AppendString(dst, s.Access[i].Keys[k][:])
		}
		dst = closeList(closeList(dst, keys), entry)
	}
	dst = closeList(dst, start)
	start = len(dst)
	switch kind {
	case TypeBlob:
		dst = appendWide(dst, &s.MaxBlobFee)
		start = len(dst)
		for i := range s.BlobHashes {
			dst = AppendString(dst, s.BlobHashes[i][:])
		}
		dst = closeList(dst, start)
	case TypeSetCode:
		for i := range s.Auths {
			a, entry := &s.Auths[i], len(dst)
			dst = appendWide(dst, &a.ChainID)
			dst = AppendString(dst, a.Address[:])
			dst = rlp.AppendUint64(dst, a.Nonce)
			dst = rlp.AppendUint64(dst, uint64(a.V))
			dst = appendWide(dst, &a.R)
			dst = closeList(appendWide(dst, &a.S), entry)
		}
		dst = closeList(dst, start)
	}
	return dst
}

// DecodeTx reads the encoding of a transaction. It sets Raw and Hash and all that
// they cover; the sender and what the receipt has are not touched. GasPrice is set
// for the types 0 and 1; for the others see [EffectivePrice]. Input is a part of raw.
func DecodeTx(raw []byte, t *evm.Tx) error {
	var s Signed
	if err := ParseTx(raw, t, &s); err != nil {
		return err
	}
	t.Raw, t.Hash = raw, evm.Keccak(raw)
	return nil
}

// ParseTx reads the encoding of a transaction into t, but for its Raw and Hash,
// and what t has no room for into s.
func ParseTx(raw []byte, t *evm.Tx, s *Signed) error {
	s.Reset()
	kind, body, err := split(raw)
	if err != nil {
		return err
	}
	r := list(body)
	t.Type = kind
	if kind != TypeLegacy {
		r.wide("chainId", &s.ChainID)
	}
	t.Nonce = r.uint("nonce")
	t.MaxFee, t.MaxPriorityFee = nil, nil
	if kind >= TypeDynamicFee {
		t.MaxFee, t.MaxPriorityFee = new(uint256.Int), new(uint256.Int)
		r.wide("maxPriorityFeePerGas", t.MaxPriorityFee)
		r.wide("maxFeePerGas", t.MaxFee)
	} else {
		r.wide("gasPrice", &t.GasPrice)
	}
	t.GasLimit = r.uint("gas")
	t.To, t.Creation = evm.Address{}, false
	if r.more() && r.rest[0] == 0x80 && kind < TypeBlob {
		t.Creation, r.rest = true, r.rest[1:]
	} else {
		t.To = r.address("to")
	}
	r.wide("value", &t.Value)
	t.Input = r.bytes("input")
	if len(t.Input) == 0 {
		t.Input = nil
	}
	if kind != TypeLegacy {
		s.parseLists(&r, kind)
	}
	r.wide("v", &s.V)
	r.wide("r", &s.R)
	r.wide("s", &s.S)
	return r.end()
}

// Input returns the input of a transaction, a part of its encoding; nil if it is
// empty or raw is no encoding.
func Input(raw []byte) []byte {
	kind, body, err := split(raw)
	if err != nil {
		return nil
	}
	r := list(body)
	for range inputAt[kind] {
		r.skip("members")
	}
	if b := r.bytes("input"); len(b) > 0 {
		return b[:len(b):len(b)]
	}
	return nil
}

// inputAt is the number of members before the input, by type.
var inputAt = [LastType + 1]int{TypeLegacy: 5, TypeAccessList: 6, TypeDynamicFee: 7, TypeBlob: 7, TypeSetCode: 7}

// split returns the type of a transaction and the list of its members.
func split(raw []byte) (kind uint8, body []byte, err error) {
	switch {
	case len(raw) == 0:
		return 0, nil, malformed("transaction of no bytes")
	case raw[0] >= 0xc0:
		return TypeLegacy, raw, nil
	case raw[0] == 0 || raw[0] > LastType:
		return 0, nil, fmt.Errorf("%w: %d", ErrUnknownType, raw[0])
	}
	return raw[0], raw[1:], nil
}

func (s *Signed) parseLists(r *reader, kind uint8) {
	access := r.list("accessList")
	for access.more() {
		entry := access.list("accessList")
		a := Access{Address: entry.address("address")}
		keys := entry.list("storageKeys")
		for keys.more() {
			a.Keys = append(a.Keys, keys.hash("storageKeys"))
		}
		entry.join(&keys)
		_ = entry.end() // joined below
		access.join(&entry)
		s.Access = append(s.Access, a)
	}
	r.join(&access)
	switch kind {
	case TypeBlob:
		r.wide("maxFeePerBlobGas", &s.MaxBlobFee)
		hashes := r.list("blobVersionedHashes")
		for hashes.more() {
			s.BlobHashes = append(s.BlobHashes, hashes.hash("blobVersionedHashes"))
		}
		r.join(&hashes)
	case TypeSetCode:
		auths := r.list("authorizationList")
		for auths.more() {
			s.Auths = append(s.Auths, auths.auth())
		}
		r.join(&auths)
	}
}

func (r *reader) auth() (a Auth) {
	entry := r.list("authorizationList")
	entry.wide("chainId", &a.ChainID)
	a.Address = entry.address("address")
	a.Nonce = entry.uint("nonce")
	v := entry.uint("yParity")
	if bits.Len64(v) > 8 {
		entry.fail("yParity", errLength)
	}
	a.V = uint8(v)
	entry.wide("r", &a.R)
	entry.wide("s", &a.S)
	_ = entry.end() // joined
	r.join(&entry)
	return a
}

// EffectivePrice is what each gas of a transaction costs in a block with a base
// fee, nil before EIP-1559: for the types 0 and 1 its GasPrice, for the others the
// base fee with the tip, at most MaxFee.
func EffectivePrice(t *evm.Tx, baseFee *uint256.Int) (price uint256.Int) {
	if t.MaxFee == nil || t.MaxPriorityFee == nil {
		return t.GasPrice
	}
	if baseFee == nil {
		return *t.MaxFee
	}
	if _, over := price.AddOverflow(baseFee, t.MaxPriorityFee); over || price.Gt(t.MaxFee) {
		return *t.MaxFee
	}
	return price
}
