package evm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// txFields reads the transactions of a block and encodes them.
type txFields struct {
	fields
	block *evm.Block

	// What the transaction that is being read has beside the members of evm.Tx.
	signed   consensus.Signed
	chainID  bool // chainId is there
	parity   uint64
	seen     uint32
	input    []byte
	encoding []byte
}

// Members of a transaction that matter for whether it can be used.
const (
	txHash = 1 << iota
	txFrom
	txTo
	txNonce
	txValue
	txGas
	txInput
	txType
	txIndex
	txV
	txR
	txS
	txAll      = 1<<iota - 1 // those that each must have
	txGasPrice = 1 << (iota - 1)
	txParity   = 1 << (iota - 1)
)

// Topmost numbers of what a transaction may list. A gas limit of 2^32 pays for no more.
const (
	maxAccess     = 1 << 18
	maxBlobHashes = 1 << 12
	maxAuths      = 1 << 18
)

// tx reads transaction number i.
func (f *txFields) tx(t *evm.Tx, i uint32) error {
	t.Index = i
	f.signed.Reset()
	f.seen, f.chainID, f.parity = 0, false, 0
	f.Members(func(name []byte) {
		if !f.plain(t, name) {
			f.further(t, name)
		}
	})
	switch {
	case f.Err() != nil:
		return f.Err()
	case t.Type > consensus.LastType:
		return f.foreign(t)
	case f.seen&txAll != txAll:
		return fmt.Errorf("not all of its members are there: %b", f.seen&txAll^txAll)
	}
	if t.Creation {
		t.Contract = evm.CreateAddress(t.From, t.Nonce)
	}
	return f.encode(t)
}

// plain reads a member that evm.Tx has and reports whether name is that of one.
func (f *txFields) plain(t *evm.Tx, name []byte) bool {
	bit := uint32(0)
	switch string(name) {
	case "hash":
		t.Hash, bit = f.hash("hash"), txHash
	case "from":
		t.From, bit = f.address("from"), txFrom
	case "to":
		if t.Creation = f.Null(); !t.Creation {
			t.To = f.address("to")
		}
		bit = txTo
	case "nonce":
		t.Nonce, bit = f.uint("nonce"), txNonce
	case "value":
		f.uint256("value", &t.Value)
		bit = txValue
	case "gas":
		t.GasLimit, bit = f.uint("gas"), txGas
	case "gasPrice":
		if !f.Null() {
			f.uint256("gasPrice", &t.GasPrice)
			bit = txGasPrice
		}
	case "maxFeePerGas":
		t.MaxFee = f.optional("maxFeePerGas")
	case "maxPriorityFeePerGas":
		t.MaxPriorityFee = f.optional("maxPriorityFeePerGas")
	case "input":
		f.readInput()
		t.Input, bit = f.input, txInput
	case "type":
		v := f.uint("type")
		if v > math.MaxUint8 {
			f.Fail(fmt.Errorf("type %d", v))
		}
		t.Type, bit = uint8(v), txType
	case "blockHash":
		f.sameHash("blockHash", &f.block.Hash)
	case "blockNumber":
		f.same("blockNumber", f.block.Number)
	case "transactionIndex":
		f.same("transactionIndex", uint64(t.Index))
		bit = txIndex
	default:
		return false
	}
	f.seen |= bit
	return true
}

// further reads a member that only the encoding has.
func (f *txFields) further(t *evm.Tx, name []byte) {
	s := &f.signed
	switch string(name) {
	case "v":
		f.uint256("v", &s.V)
		f.seen |= txV
	case "r":
		f.uint256("r", &s.R)
		f.seen |= txR
	case "s":
		f.uint256("s", &s.S)
		f.seen |= txS
	case "yParity":
		if !f.Null() {
			f.parity = f.uint("yParity")
			f.seen |= txParity
		}
	case "chainId":
		if !f.Null() {
			f.uint256("chainId", &s.ChainID)
			f.chainID = true
		}
	case "accessList":
		if !f.Null() {
			f.accessList(s)
		}
	case "maxFeePerBlobGas":
		if !f.Null() {
			f.uint256("maxFeePerBlobGas", &s.MaxBlobFee)
		}
	case "blobVersionedHashes":
		if !f.Null() {
			f.Elements(func(i int) {
				f.bound(i, maxBlobHashes, "blobVersionedHashes")
				s.BlobHashes = append(s.BlobHashes, f.hash("blobVersionedHashes"))
			})
		}
	case "authorizationList":
		if !f.Null() {
			f.Elements(func(i int) {
				f.bound(i, maxAuths, "authorizationList")
				s.Auths = append(s.Auths, f.auth())
			})
		}
	default:
		f.Skip()
	}
}

func (f *fields) bound(i, limit int, name string) {
	if i >= limit {
		f.Fail(fmt.Errorf("%s: more than %d", name, limit))
	}
}

func (f *fields) accessList(s *consensus.Signed) {
	total := 0
	f.Elements(func(i int) {
		f.bound(i, maxAccess, "accessList")
		var a consensus.Access
		f.Members(func(name []byte) {
			switch string(name) {
			case "address":
				a.Address = f.address("accessList")
			case "storageKeys":
				if f.Null() {
					return
				}
				f.Elements(func(int) {
					total++
					f.bound(total, maxAccess, "storageKeys")
					a.Keys = append(a.Keys, f.hash("storageKeys"))
				})
			default:
				f.Skip()
			}
		})
		s.Access = append(s.Access, a)
	})
}

func (f *fields) auth() (a consensus.Auth) {
	f.Members(func(name []byte) {
		switch string(name) {
		case "chainId":
			f.uint256("chainId", &a.ChainID)
		case "address":
			a.Address = f.address("address")
		case "nonce":
			a.Nonce = f.uint("nonce")
		case "yParity":
			v := f.uint("yParity")
			if v > math.MaxUint8 {
				f.Fail(errors.New("yParity: more than a byte"))
			}
			a.V = uint8(v)
		case "r":
			f.uint256("r", &a.R)
		case "s":
			f.uint256("s", &a.S)
		default:
			f.Skip()
		}
	})
	return a
}

// encode sets Raw from the members.
func (f *txFields) encode(t *evm.Tx) (err error) {
	if f.encoding, err = consensus.AppendTx(f.encoding[:0], t, &f.signed); err != nil {
		return err
	}
	t.Raw = f.bytes(len(f.encoding))
	copy(t.Raw, f.encoding)
	t.Input = consensus.Input(t.Raw)
	return f.repeats(t)
}

// repeats checks the members that say again what others say.
func (f *txFields) repeats(t *evm.Tx) error {
	if f.seen&txParity != 0 && !f.signed.V.Eq(uint256.NewInt(f.parity)) {
		return fmt.Errorf("yParity is %d, v is %s", f.parity, f.signed.V.Dec())
	}
	if f.chainID && t.Type == consensus.TypeLegacy {
		if id := consensus.ChainID(&f.signed.V); id != nil && !id.Eq(&f.signed.ChainID) {
			return fmt.Errorf("chainId is %s, that of v %s", f.signed.ChainID.Dec(), id.Dec())
		}
	}
	price := consensus.EffectivePrice(t, f.block.BaseFee)
	if f.seen&txGasPrice != 0 && !t.GasPrice.Eq(&price) && f.block.Unverified == "" {
		return fmt.Errorf("gasPrice is %s, computed %s", t.GasPrice.Dec(), price.Dec())
	}
	t.GasPrice = price
	return nil
}

// readInput reads the input into memory that is used again: what a transaction
// keeps is a part of its encoding.
func (f *txFields) readInput() {
	text := f.Text()
	n, err := hexLen(text)
	if err == nil {
		f.input = slices.Grow(f.input[:0], n)[:n]
		_, err = hex.Decode(f.input, text[2:])
	}
	f.failAt("input", err)
}

// foreign takes a transaction of a type that is not known here as it is: it cannot
// be encoded, so it is the node's word.
func (f *txFields) foreign(t *evm.Tx) error {
	if f.seen&(txHash|txIndex) != txHash|txIndex {
		return errors.New("without hash or index")
	}
	t.Input = bytes.Clone(t.Input)
	if t.Creation && f.seen&(txFrom|txNonce) == txFrom|txNonce {
		t.Contract = evm.CreateAddress(t.From, t.Nonce)
	}
	distrust(f.block, fmt.Sprintf("a transaction of type %d, which is not known", t.Type))
	return nil
}

// distrust marks a block that cannot be checked, with the first reason.
func distrust(b *evm.Block, why string) {
	if b.Unverified == "" {
		b.Unverified = why
	}
}

func (f *fields) optional(name string) *uint256.Int {
	if f.Null() {
		return nil
	}
	v := f.num()
	f.uint256(name, v)
	return v
}
