package consensus

import (
	"errors"

	"github.com/ethereum/go-ethereum/rlp"

	"quorate/engine/chain/evm"
)

// Block is the encoding of a block of the C-Chain taken apart: as consensus and the
// Index API have it. All of it are parts of the encoding.
type Block struct {
	Header  []byte
	Txs     [][]byte // the signed transactions (EIP-2718)
	ExtData []byte
}

// leastTx is fewer bytes than any signed transaction has.
const leastTx = 40

// ParseBlock reads the encoding of a block of the C-Chain: header, transactions,
// uncles, of which there are none, a version, which is 0, and ExtData.
func ParseBlock(raw []byte) (b Block, err error) {
	r := list(raw)
	b.Header = r.raw("header")
	txs := r.list("transactions")
	b.Txs = make([][]byte, 0, min(len(txs.rest)/leastTx, 1024))
	for txs.more() {
		kind, content, rest, err := rlp.Split(txs.rest)
		if err != nil {
			txs.fail("transaction", err)
			break
		}
		if kind == rlp.List { // of before EIP-2718: not in a byte string
			content = txs.rest[:len(txs.rest)-len(rest)]
		}
		if len(content) == 0 || kind != rlp.List && content[0] >= 0x80 {
			txs.fail("transaction", errors.New("neither a list nor of a type"))
			break
		}
		b.Txs, txs.rest = append(b.Txs, content), rest
	}
	r.join(&txs)
	uncles := r.list("uncles")
	if uncles.more() {
		uncles.fail("uncles", errors.New("a block with uncles"))
	}
	r.join(&uncles)
	if r.uint("version") != 0 {
		r.fail("version", errors.New("not 0"))
	}
	b.ExtData = r.bytes("extData")
	return b, r.end()
}

// Append appends the form that [ParseBlock] reads.
func (b *Block) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, b.Header...)
	txs := len(dst)
	for _, tx := range b.Txs {
		if len(tx) > 0 && tx[0] >= 0xc0 {
			dst = append(dst, tx...)
		} else {
			dst = AppendString(dst, tx)
		}
	}
	dst = closeList(dst, txs)
	dst = append(dst, 0xc0, 0x80)
	dst = AppendString(dst, b.ExtData)
	return closeList(dst, start)
}

// Check reports whether the header covers the transactions and ExtData.
func (b *Block) Check(h *Header) error {
	e := evm.Block{Number: h.Number, ExtData: b.ExtData, Txs: make([]evm.Tx, len(b.Txs))}
	for i, tx := range b.Txs {
		e.Txs[i].Raw = tx
	}
	return h.CheckTxs(&e, true)
}

// raw returns the next element with its head.
func (r *reader) raw(what string) []byte {
	if r.err != nil {
		return nil
	}
	_, _, rest, err := rlp.Split(r.rest)
	if err != nil {
		r.fail(what, err)
		return nil
	}
	b := r.rest[:len(r.rest)-len(rest)]
	r.rest = rest
	return b
}
