package evmchain

import (
	"encoding/binary"
	"errors"

	"github.com/holiman/uint256"
)

// opKind is what a transaction does. The values are part of no stored format.
type opKind uint8

const (
	opTransfer opKind = iota // native AVAX
	opTokenTransfer
	opTokenMint
	opTokenBurn
	opTokenApprove
	opTokenFail // more than there is
	opSwap      // two tokens through the pool
	opAirdrop   // a token to many
	opNFTMint
	opNFTTransfer
	opNFTBurn
	opNFTFail
	opItemMint
	opItemTransfer
	opItemBatch
	opItemMintBatch
	opItemBurn
	opCreate
	opCreateFail
	opFactory       // CREATE
	opFactory2      // CREATE2
	opFactoryNested // a factory by CREATE, which makes a contract by CREATE2
	opFactoryFail   // a creation inside that fails, the transaction does not
	opDisperse      // AVAX to many
	opDispersePart  // the last payment is refused
	opDisperseFail  // the last payment is refused, so all are
	opOutOfGas
	opWarp
	opDeploy // of one of the first contracts
	opWrap   // AVAX into the wrapped coin and perhaps out of it, see wrapForm
	opPhantom
	opOddToken // chosen only: it becomes a transfer or a mint
	opRebase   // of the rebasing token: id is the new factor
	opRevise   // a contract says other things of itself from now on: id is which
	opICM      // step id of the block's interchain messages; b is not 0 in forks
)

// op is the record of a transaction: its choices, from which all the rest follows.
type op struct {
	kind     opKind
	contract uint8
	count    uint8 // of receivers or items
	exp      uint8
	from     uint32
	nonce    uint32
	a, b     uint32 // accounts: the receiver or the first of several; contracts made
	id       uint32 // of a token, or of a warp message counted from the chain's first
	mantissa uint32
}

// amount is mantissa * 10^exp.
func (o *op) amount() uint256.Int { return *scaled(o.mantissa, o.exp) }

func scaled(mantissa uint32, exp uint8) *uint256.Int {
	v := uint256.NewInt(uint64(mantissa))
	return v.Mul(v, new(uint256.Int).Exp(uint256.NewInt(10), uint256.NewInt(uint64(exp))))
}

var errRecord = errors.New("malformed record")

// append appends the record.
func (o *op) append(dst []byte) []byte {
	dst = append(dst, byte(o.kind), o.contract, o.count, o.exp)
	for _, v := range [...]uint32{o.from, o.nonce, o.a, o.b, o.id, o.mantissa} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return dst
}

// take reads a record and gives what follows it.
func (o *op) take(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errRecord
	}
	o.kind, o.contract, o.count, o.exp = opKind(b[0]), b[1], b[2], b[3]
	b = b[4:]
	for _, p := range [...]*uint32{&o.from, &o.nonce, &o.a, &o.b, &o.id, &o.mantissa} {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > 1<<32-1 {
			return nil, errRecord
		}
		*p, b = uint32(v), b[n:]
	}
	return b, nil
}
