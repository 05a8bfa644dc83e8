package primary

import (
	"fmt"

	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
)

// Recode decodes a container with all that is in it, and encodes what was decoded: other
// bytes mean that something in it was not understood.
func Recode(kind Kind, raw []byte) ([]byte, error) {
	b, err := Parse(kind, raw)
	if err != nil {
		return nil, err
	}
	inner := raw
	if b.Header != nil {
		inner = b.Header.Block
	}
	switch kind {
	case PChain:
		inner, err = encoded(platform.ParseBlock, inner)
	case XChain:
		inner, err = encoded(avm.ParseBlock, inner)
	case XVertices:
		inner, err = encoded(avm.ParseVertex, inner)
	case CChain:
		inner, err = recodeCore(inner)
	}
	if err != nil || b.Header == nil {
		return inner, err
	}
	h, err := proposer.Parse(raw)
	if err != nil {
		return nil, err
	}
	h.Block = inner
	return h.Bytes()
}

func encoded[T interface{ Bytes() ([]byte, error) }](parse func([]byte) (T, error), raw []byte) ([]byte, error) {
	v, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return v.Bytes()
}

// recodeCore does the same with a block of the C-Chain: its header, transactions with
// their signatures, and imports and exports.
func recodeCore(raw []byte) ([]byte, error) {
	parts, err := consensus.ParseBlock(raw)
	if err != nil {
		return nil, err
	}
	var h consensus.Header
	if err := h.Parse(parts.Header); err != nil {
		return nil, err
	}
	parts.Header = h.Append(nil)
	for i, tx := range parts.Txs {
		var t evm.Tx
		var s consensus.Signed
		if err := consensus.ParseTx(tx, &t, &s); err != nil {
			return nil, fmt.Errorf("transaction %d: %w", i, err)
		}
		if parts.Txs[i], err = consensus.AppendTx(nil, &t, &s); err != nil {
			return nil, fmt.Errorf("transaction %d: %w", i, err)
		}
	}
	if len(parts.ExtData) > 0 {
		txs, err := atomic.Parse(parts.ExtData)
		if err != nil {
			return nil, err
		}
		if parts.ExtData, err = recodeAtomic(parts.ExtData, txs); err != nil {
			return nil, err
		}
	}
	return parts.Append(nil), nil
}

// recodeAtomic encodes the atomic transactions of a block: one alone before AP5, a list
// since then.
func recodeAtomic(raw []byte, txs []atomic.Tx) ([]byte, error) {
	if len(txs) == 1 {
		if one, err := txs[0].Bytes(); err != nil || len(one) == len(raw) {
			return one, err
		}
	}
	return atomic.Bytes(txs)
}
