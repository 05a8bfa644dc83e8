package history

import (
	"encoding/hex"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// writer appends JSON as nodes write it.
type writer []byte

func (w *writer) raw(s string) { *w = append(*w, s...) }

// name writes the name of a member, with a comma before it unless it is the first.
func (w *writer) name(s string) *writer {
	w.comma()
	*w = append(append(append(*w, '"'), s...), '"', ':')
	return w
}

func (w *writer) comma() {
	if n := len(*w); n > 0 && (*w)[n-1] != '{' && (*w)[n-1] != '[' {
		*w = append(*w, ',')
	}
}

func (w *writer) hex(b []byte) { *w = append(hex.AppendEncode(append(*w, `"0x`...), b), '"') }

func (w *writer) uint(n uint64) { *w = append(strconv.AppendUint(append(*w, `"0x`...), n, 16), '"') }

func (w *writer) wide(v *uint256.Int) { *w = append(append(append(*w, '"'), v.Hex()...), '"') }

// log writes a log.
func (w *writer) log(b *evm.Block, tx *evm.Tx, l *evm.Log) {
	w.comma()
	w.raw("{")
	w.name("address").hex(l.Address[:])
	w.name("topics").raw("[")
	for i := range l.Topics {
		w.comma()
		w.hex(l.Topics[i][:])
	}
	w.raw("]")
	w.name("data").hex(l.Data)
	w.name("blockNumber").uint(b.Number)
	w.name("transactionHash").hex(tx.Hash[:])
	w.name("transactionIndex").uint(uint64(tx.Index))
	w.name("blockHash").hex(b.Hash[:])
	w.name("logIndex").uint(uint64(l.Index))
	w.name("removed").raw("false}")
}

// receipt writes the receipt of a transaction. gas is what the block has used up to it.
func (w *writer) receipt(b *evm.Block, tx *evm.Tx, gas uint64) {
	w.comma()
	w.raw("{")
	w.name("blockHash").hex(b.Hash[:])
	w.name("blockNumber").uint(b.Number)
	w.name("contractAddress")
	if tx.Creation {
		w.hex(tx.Contract[:])
	} else {
		w.raw("null")
	}
	w.name("cumulativeGasUsed").uint(gas)
	w.name("effectiveGasPrice").wide(&tx.GasPrice)
	w.name("from").hex(tx.From[:])
	w.name("gasUsed").uint(tx.GasUsed)
	w.name("logs").raw("[")
	for i := range tx.Logs {
		w.log(b, tx, &tx.Logs[i])
	}
	w.raw("]")
	bloom := consensus.Bloom([]evm.Tx{{Logs: tx.Logs}})
	w.name("logsBloom").hex(bloom[:])
	status := uint64(1)
	if tx.Failed {
		status = 0
	}
	w.name("status").uint(status)
	w.receiver(tx)
	w.name("transactionHash").hex(tx.Hash[:])
	w.name("transactionIndex").uint(uint64(tx.Index))
	w.name("type").uint(uint64(tx.Type))
	w.raw("}")
}

func (w *writer) receiver(tx *evm.Tx) {
	w.name("to")
	if tx.Creation {
		w.raw("null")
	} else {
		w.hex(tx.To[:])
	}
}

// tx writes a transaction, whose signature is in its encoding. fee is the base fee of the
// block's header.
func (w *writer) tx(b *evm.Block, tx *evm.Tx, fee *uint256.Int) error {
	var signed consensus.Signed
	var is evm.Tx
	if len(tx.Raw) == 0 || tx.Type > consensus.TypeDynamicFee || consensus.ParseTx(tx.Raw, &is, &signed) != nil {
		return ErrNode // its form is not known
	}
	price := consensus.EffectivePrice(&is, fee)
	w.comma()
	w.raw("{")
	w.name("blockHash").hex(b.Hash[:])
	w.name("blockNumber").uint(b.Number)
	w.name("from").hex(tx.From[:])
	w.name("gas").uint(is.GasLimit)
	w.name("gasPrice").wide(&price)
	if is.Type == consensus.TypeDynamicFee {
		w.name("maxFeePerGas").wide(is.MaxFee)
		w.name("maxPriorityFeePerGas").wide(is.MaxPriorityFee)
	}
	w.name("hash").hex(tx.Hash[:])
	w.name("input").hex(is.Input)
	w.name("nonce").uint(is.Nonce)
	w.receiver(tx)
	w.name("transactionIndex").uint(uint64(tx.Index))
	w.name("value").wide(&is.Value)
	w.name("type").uint(uint64(is.Type))
	if is.Type != consensus.TypeLegacy {
		w.name("accessList").raw("[")
		for i := range signed.Access {
			w.access(&signed.Access[i])
		}
		w.raw("]")
	}
	w.signature(&is, &signed)
	w.raw("}")
	return nil
}

func (w *writer) access(a *consensus.Access) {
	w.comma()
	w.raw("{")
	w.name("address").hex(a.Address[:])
	w.name("storageKeys").raw("[")
	for k := range a.Keys {
		w.comma()
		w.hex(a.Keys[k][:])
	}
	w.raw("]}")
}

// signature writes the members that a signature has. That of a legacy transaction has the
// chain in V, if at all.
func (w *writer) signature(tx *evm.Tx, s *consensus.Signed) {
	id := s.ChainID
	if tx.Type == consensus.TypeLegacy {
		if id.Clear(); s.V.GtUint64(28) {
			id.Rsh(id.SubUint64(&s.V, 35), 1)
		}
	}
	if !id.IsZero() {
		w.name("chainId").wide(&id)
	}
	w.name("v").wide(&s.V)
	w.name("r").wide(&s.R)
	w.name("s").wide(&s.S)
	if tx.Type != consensus.TypeLegacy {
		w.name("yParity").wide(&s.V)
	}
}
