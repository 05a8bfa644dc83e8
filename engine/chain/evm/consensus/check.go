package consensus

import (
	"encoding/hex"
	"fmt"
	"strconv"

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
		{"gasUsed", b.GasUsed, want.GasUsed},
		{"miner", b.Miner, want.Miner},
	} {
		if c.got != c.want {
			return &Mismatch{Number: b.Number, Field: c.field, Got: fmt.Sprint(c.got), Want: fmt.Sprint(c.want)}
		}
	}
	if (b.BaseFee == nil) != (want.BaseFee == nil) || b.BaseFee != nil && !b.BaseFee.Eq(want.BaseFee) {
		return &Mismatch{Number: b.Number, Field: "baseFeePerGas", Got: fmt.Sprint(b.BaseFee), Want: fmt.Sprint(want.BaseFee)}
	}
	for i := range b.Txs {
		if t := &b.Txs[i]; evm.Keccak(t.Raw) != t.Hash {
			return &Mismatch{Number: b.Number, Field: TxField(i, "hash"), Got: t.Hash.String(), Want: evm.Keccak(t.Raw).String()}
		}
	}
	return h.CheckBody(b, nil)
}

// CheckBody reports whether the parts of b are those that its header, h, covers:
// transactions, by Raw, receipts and ExtData. each, if not nil, is called with the
// filter of each receipt, in no order.
func (h *Header) CheckBody(b *evm.Block, each func(i int, bloom *[BloomLen]byte)) error {
	mismatch := func(field string, got, want []byte) error {
		return &Mismatch{Number: b.Number, Field: field, Got: "0x" + hex.EncodeToString(got), Want: "0x" + hex.EncodeToString(want)}
	}
	if h.Uncles != EmptyUncles {
		return mismatch("sha3Uncles", h.Uncles[:], EmptyUncles[:])
	}
	if root := TxRoot(b.Txs); root != h.TxRoot {
		return mismatch("transactionsRoot", h.TxRoot[:], root[:])
	}
	root, bloom := Receipts(b.Txs, each)
	if root != h.ReceiptsRoot {
		return mismatch("receiptsRoot", h.ReceiptsRoot[:], root[:])
	}
	if bloom != h.Bloom {
		return mismatch("logsBloom", h.Bloom[:], bloom[:])
	}
	if !h.HasExtData {
		if len(b.ExtData) > 0 {
			return mismatch("blockExtraData", b.ExtData, nil)
		}
		return nil
	}
	// The genesis block's is zero on the networks whose genesis was made by hand.
	if h.Number == 0 && h.ExtDataHash.IsZero() && len(b.ExtData) == 0 {
		return nil
	}
	if sum := ExtDataHash(b.ExtData); sum != h.ExtDataHash {
		return mismatch("extDataHash", h.ExtDataHash[:], sum[:])
	}
	return nil
}

// TxField names a member of a transaction or of its receipt in a [Mismatch].
func TxField(i int, name string) string { return "transactions[" + strconv.Itoa(i) + "]." + name }
