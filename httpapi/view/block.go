package view

import (
	"github.com/holiman/uint256"

	"quorate/engine/index"
)

// Block writes a block. What is not known of it is an empty string: the SDKs demand
// all members.
func (w *Writer) Block(b *index.Block) {
	w.Comma()
	w.B = append(w.B, '{')
	w.text("chainId", w.Chain.ChainID)
	w.count("blockNumber", b.Number)
	w.integer("blockTimestamp", int64(b.TimeMilli/1000))
	if w.Dialect == SDK {
		w.integer("blockTimestampMilliseconds", int64(b.TimeMilli))
	}
	w.hash("blockHash", &b.Hash)
	w.integer("txCount", int64(b.TxCount))
	if b.BaseFee != nil {
		w.amount("baseFee", b.BaseFee)
	} else {
		w.text("baseFee", "0")
	}
	w.count("gasUsed", b.GasUsed)
	w.count("gasLimit", b.GasLimit)
	w.ifKnown("gasCost", b.GasCost)
	w.hash("parentHash", &b.Parent)
	w.ifKnown("feesSpent", b.Fees)
	if b.Txs != nil {
		w.count("cumulativeTransactions", *b.Txs)
	} else {
		w.text("cumulativeTransactions", "")
	}
	if b.Reserved != nil {
		w.count("reservedGas", b.Reserved.Gas)
		w.amount("reservedBaseFee", &b.Reserved.BaseFee)
		w.count("settledHeight", b.Reserved.Settled)
	}
	w.B = append(w.B, '}')
}

func (w *Writer) ifKnown(name string, v *uint256.Int) {
	if v == nil {
		w.text(name, "")
		return
	}
	w.amount(name, v)
}
