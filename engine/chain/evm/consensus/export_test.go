package consensus

import (
	"quorate/engine/chain/evm"
)

// AppendReceipt appends the encoding of the receipt of t. cumulative is the gas
// that the block's transactions up to t used, t among them.
func AppendReceipt(dst []byte, t *evm.Tx, cumulative uint64) []byte {
	var f [BloomLen]byte
	b := blooms{h: new(evm.Hasher)}
	b.logs(&f, t.Logs)
	return appendReceipt(dst, t, cumulative, &f)
}

// ReceiptsRoot computes a header's receiptsRoot from what the receipts of txs say:
// Failed, GasUsed and Logs.
func ReceiptsRoot(txs []evm.Tx) evm.Hash {
	root, _ := Receipts(txs, nil)
	return root
}
