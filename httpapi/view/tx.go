package view

import (
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// NativeTx writes a transaction without its transfers.
func (w *Writer) NativeTx(tx *index.Tx) {
	w.Comma()
	w.nativeOpen(tx)
	w.B = append(w.B, '}')
}

// TxDetails writes a transaction with those of its transfers and internal
// transactions that are from or to self.
func (w *Writer) TxDetails(tx *index.Tx, self *evm.Address) {
	w.Comma()
	w.Raw(`{"nativeTransaction":`)
	w.nativeOpen(tx)
	w.B = append(w.B, '}')
	w.parts(tx, self)
	w.B = append(w.B, '}')
}

// SingleTx writes the complete view of one transaction, with its interchain message if
// it has one.
func (w *Writer) SingleTx(tx *index.Tx, message *ICMInfo) {
	w.Raw(`{"nativeTransaction":`)
	w.nativeOpen(tx)
	w.Member("input")
	w.B = append(w.B, '"')
	w.B = append(AppendHex(w.B, tx.Input), '"')
	if tx.Block.BaseFee != nil {
		w.amount("baseFeePerGas", tx.Block.BaseFee)
	} else {
		w.text("baseFeePerGas", "0")
	}
	if tx.MaxFee != nil {
		w.amount("maxFeePerGas", tx.MaxFee)
	}
	if tx.MaxPriorityFee != nil {
		w.amount("maxPriorityFeePerGas", tx.MaxPriorityFee)
	}
	if f := tx.Failure; f != nil {
		w.text("failureReason", f.Reason())
		if len(f.Revert) > 0 {
			w.Member("revertData")
			w.B = append(w.B, '"')
			w.B = append(AppendHex(w.B, f.Revert), '"')
		}
	}
	w.Raw(`},"networkTokenDetails":{`)
	w.networkToken(&w.Chain.Token, w.coinLogo())
	w.price("currentPrice", w.Source.Price(nil))
	w.B = append(w.B, '}')
	w.parts(tx, nil)
	if message != nil {
		w.icmInfo(message)
	}
	w.B = append(w.B, '}')
}

// nativeOpen writes the transaction's object but for its closing brace. It is
// the most common of all: its names are written whole.
func (w *Writer) nativeOpen(tx *index.Tx) {
	b := w.block(&tx.Block)
	b = AppendUint(b, uint64(tx.Index))
	b = append(b, `,"txHash":"`...)
	b = AppendHash(b, &tx.Hash)
	if tx.Failed {
		b = append(b, `","txStatus":"0","txType":`...)
	} else {
		b = append(b, `","txStatus":"1","txType":`...)
	}
	b = AppendUint(b, uint64(tx.Type))
	b = append(b, `,"gasLimit":"`...)
	b = AppendUint(b, tx.GasLimit)
	b = append(b, `","gasUsed":"`...)
	b = AppendUint(b, tx.GasUsed)
	b = append(b, `","gasPrice":"`...)
	b = AppendAmount(b, &tx.GasPrice)
	b = append(b, `","nonce":"`...)
	b = AppendUint(b, tx.Nonce)
	w.B = append(b, '"')
	to := &tx.To
	if tx.Creation {
		to = &tx.Contract
	}
	if tx.Checked {
		w.partyAs(`,"from":`, &tx.From, tx.SenderText)
		w.partyAs(`,"to":`, to, tx.OthersText)
	} else {
		w.party("from", &tx.From)
		w.party("to", to)
	}
	w.method(tx)
	w.amount("value", &tx.Value)
}

// block appends a transaction's members up to its index in the block. Neighbours
// are often of one block: then they are those of the one before.
func (w *Writer) block(ref *index.BlockRef) []byte {
	last := &w.last
	if last.end > 0 && last.number == ref.Number && last.milli == ref.TimeMilli && last.hash == ref.Hash {
		return append(w.B, w.B[last.start:last.end]...)
	}
	start := len(w.B)
	b := append(w.B, `{"blockNumber":"`...)
	b = AppendUint(b, ref.Number)
	b = append(b, `","blockTimestamp":`...)
	b = AppendUint(b, ref.TimeMilli/1000)
	if w.Dialect == SDK {
		b = append(b, `,"blockTimestampMilliseconds":`...)
		b = AppendUint(b, ref.TimeMilli)
	}
	b = append(b, `,"blockHash":"`...)
	b = AppendHash(b, &ref.Hash)
	b = append(b, `","chainId":"`...)
	b = append(b, w.Chain.ChainID...)
	b = append(b, `","blockIndex":`...)
	*last = writtenBlock{number: ref.Number, milli: ref.TimeMilli, hash: ref.Hash, start: start, end: len(b)}
	return b
}

// writtenBlock is where in an answer the members of a block were written last.
type writtenBlock struct {
	number     uint64
	milli      uint64
	hash       evm.Hash
	start, end int
}

func (w *Writer) method(tx *index.Tx) {
	w.Member("method")
	switch {
	case tx.Creation:
		w.Raw(`{"callType":"CONTRACT_CREATION","methodHash":"","methodName":"Contract Created"}`)
	case len(tx.Input) == 0:
		w.Raw(`{"callType":"NATIVE_TRANSFER","methodHash":"","methodName":"Native Transfer"}`)
	case len(tx.Input) < 4:
		w.Raw(`{"callType":"CONTRACT_CALL","methodHash":""}`)
	default:
		w.Raw(`{"callType":"CONTRACT_CALL","methodHash":"`)
		w.B = append(AppendHex(w.B, tx.Input[:4]), '"')
		w.known("methodName", w.Source.MethodName([4]byte(tx.Input[:4])))
		w.B = append(w.B, '}')
	}
}

// parts writes the lists of transfers and internal transactions. A nil self
// takes all of them.
func (w *Writer) parts(tx *index.Tx, self *evm.Address) {
	w.tx = wordsOfTx{bounded: true}
	w.lists(tx, self)
	w.tx = wordsOfTx{}
}

func (w *Writer) lists(tx *index.Tx, self *evm.Address) {
	w.transfers("erc20Transfers", tx, index.ERC20, self)
	w.transfers("erc721Transfers", tx, index.ERC721, self)
	w.transfers("erc1155Transfers", tx, index.ERC1155, self)
	if !tx.Traced {
		return
	}
	w.Member("internalTransactions")
	w.B = append(w.B, '[')
	for i := range tx.Calls {
		if c := &tx.Calls[i]; self == nil || c.Concerns(self) {
			w.call(c)
		}
	}
	w.B = append(w.B, ']')
}

func (w *Writer) transfers(name string, tx *index.Tx, kind index.TransferKind, self *evm.Address) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range tx.Transfers {
		if t := &tx.Transfers[i]; t.Kind == kind && concerns(&t.From, &t.To, self) {
			w.Comma()
			w.B = append(w.B, '{')
			w.transfer(t)
			w.B = append(w.B, '}')
		}
	}
	w.B = append(w.B, ']')
}

func concerns(from, to, self *evm.Address) bool {
	return self == nil || *from == *self || *to == *self
}

func (w *Writer) call(c *evm.Call) {
	w.Comma()
	w.B = append(w.B, '{')
	w.callMembers(c)
	w.B = append(w.B, '}')
}

func (w *Writer) callMembers(c *evm.Call) {
	w.party("from", &c.From)
	w.party("to", &c.To)
	w.text("internalTxType", callType(c.Type))
	w.amount("value", &c.Value)
	w.boolean("isReverted", c.Reverted)
	w.count("gasUsed", c.GasUsed)
	w.count("gasLimit", c.Gas)
}

// callType returns the name of a call's kind. The list of names is closed.
func callType(t evm.CallType) string {
	if t == evm.CallSelfDestruct {
		t = evm.CallUnknown
	}
	return t.String()
}
