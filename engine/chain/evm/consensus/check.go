package consensus

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/ethereum/go-ethereum/rlp"

	"quorate/engine/chain/evm"
)

// Check reports whether b is what its hash says: its header, and by that its
// parent, transactions, receipts and ExtData. The error is a [*Mismatch] or wraps
// [ErrEncoding]. Not covered by the hash are senders, which [Sender] recovers, and
// what nodes compute: calls and balances. That the members of transactions are
// those of their encodings is up to the caller, who made the one from the other.
func Check(b *evm.Block) error {
	var h Header
	if hash := evm.Keccak(b.Header); hash != b.Hash {
		return &Mismatch{Number: b.Number, Field: "hash", Got: b.Hash.String(), Want: hash.String()}
	}
	if err := h.Parse(b.Header); err != nil {
		return err
	}
	var want evm.Block
	h.Fill(&want)
	for _, c := range []struct {
		field     string
		got, want any
	}{
		{"number", b.Number, want.Number},
		{"parentHash", b.Parent, want.Parent},
		{"timestamp", b.TimeMilli, want.TimeMilli},
		{"gasLimit", b.GasLimit, want.GasLimit},
		{"miner", b.Miner, want.Miner},
	} {
		if c.got != c.want {
			return &Mismatch{Number: b.Number, Field: c.field, Got: fmt.Sprint(c.got), Want: fmt.Sprint(c.want)}
		}
	}
	if !h.Settles() {
		if b.GasUsed != want.GasUsed {
			return &Mismatch{Number: b.Number, Field: "gasUsed", Got: fmt.Sprint(b.GasUsed), Want: fmt.Sprint(want.GasUsed)}
		}
		if (b.BaseFee == nil) != (want.BaseFee == nil) || b.BaseFee != nil && !b.BaseFee.Eq(want.BaseFee) {
			return &Mismatch{Number: b.Number, Field: "baseFeePerGas", Got: fmt.Sprint(b.BaseFee), Want: fmt.Sprint(want.BaseFee)}
		}
	}
	for i := range b.Txs {
		if t := &b.Txs[i]; evm.Keccak(t.Raw) != t.Hash {
			return &Mismatch{Number: b.Number, Field: TxField(i, "hash"), Got: t.Hash.String(), Want: evm.Keccak(t.Raw).String()}
		}
	}
	if err := h.CheckTxs(b, true); err != nil || h.Settles() {
		return err
	}
	return h.CheckReceipts(b, nil)
}

func mismatch(b *evm.Block, field string, got, want []byte) error {
	return &Mismatch{Number: b.Number, Field: field, Got: "0x" + hex.EncodeToString(got), Want: "0x" + hex.EncodeToString(want)}
}

// CheckTxs reports whether the transactions of b, by Raw, and its ExtData are
// those that its header, h, covers. known is false if a transaction has no Raw.
func (h *Header) CheckTxs(b *evm.Block, known bool) error {
	if h.Uncles != EmptyUncles {
		return mismatch(b, "sha3Uncles", h.Uncles[:], EmptyUncles[:])
	}
	if known {
		if root := TxRoot(b.Txs); root != h.TxRoot {
			return mismatch(b, "transactionsRoot", h.TxRoot[:], root[:])
		}
	}
	if !h.HasExtData {
		if len(b.ExtData) > 0 {
			return mismatch(b, "blockExtraData", b.ExtData, nil)
		}
		return nil
	}
	// Blocks of before Apricot phase 1, which came before base fees, and genesis
	// blocks have none: their headers do not cover their ExtData.
	if h.ExtDataHash.IsZero() && (h.BaseFee == nil || h.Number == 0 && len(b.ExtData) == 0) {
		return nil
	}
	if sum := ExtDataHash(b.ExtData); sum != h.ExtDataHash {
		return mismatch(b, "extDataHash", h.ExtDataHash[:], sum[:])
	}
	return nil
}

// CheckReceipts reports whether the receipts of b are those that its header, h,
// covers. each, if not nil, is called with the filter of each, in no order.
func (h *Header) CheckReceipts(b *evm.Block, each func(i int, bloom *[BloomLen]byte)) error {
	root, bloom := Receipts(b.Txs, each)
	if root != h.ReceiptsRoot {
		return mismatch(b, "receiptsRoot", h.ReceiptsRoot[:], root[:])
	}
	if bloom != h.Bloom {
		return mismatch(b, "logsBloom", h.Bloom[:], bloom[:])
	}
	return nil
}

// BlockSize is the number of bytes of a block in its encoding, of whose
// transactions Raw is known. A block of the C-Chain ends with a version, 0, and
// its ExtData.
func BlockSize(b *evm.Block, extData bool) uint64 {
	txs := 0
	for i := range b.Txs {
		n := len(b.Txs[i].Raw)
		if b.Txs[i].Type != TypeLegacy {
			n += headLen(n) // a byte string
		}
		txs += n
	}
	n := len(b.Header) + headLen(txs) + txs + 1 // no uncles
	if extData {
		n += 1 + int(rlp.BytesSize(b.ExtData))
	}
	return uint64(n + headLen(n))
}

// TxField names a member of a transaction or of its receipt in a [Mismatch].
func TxField(i int, name string) string { return "transactions[" + strconv.Itoa(i) + "]." + name }
