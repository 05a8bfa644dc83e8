package history

import (
	"context"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// blockByName answers for a block with its transactions, or with their hashes.
func (h *History) blockByName(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, err := h.named(ctx, params, 2)
	if err != nil {
		return nil, err
	}
	full := string(params[1]) == "true"
	var header consensus.Header
	if !full && string(params[1]) != "false" || header.Parse(b.Header) != nil || len(header.Further) > 0 {
		return nil, ErrNode
	}
	total, err := h.difficulty(ctx, &header)
	if err != nil {
		return nil, err
	}
	var w writer
	err = w.block(b, &header, total, full)
	return w, err
}

// difficulty returns the total difficulty that nodes show of a block. It is in no header: it
// counts the blocks, but where they are executed after they were accepted it is 0 of all.
func (h *History) difficulty(ctx context.Context, header *consensus.Header) (*uint256.Int, error) {
	total := uint256.NewInt(header.Number)
	later, known := h.places.Later()
	if later {
		return total.Clear(), nil
	}
	if !known || header.Number > 0 && !header.Difficulty.Eq(uint256.NewInt(1)) {
		return nil, ErrNode
	}
	first := h.first.Load()
	if first == nil {
		b, err := h.block(ctx, 0)
		if err != nil {
			return nil, err
		}
		var genesis consensus.Header
		if genesis.Parse(b.Header) != nil {
			return nil, ErrNode
		}
		first = &genesis.Difficulty
		h.first.Store(first)
	}
	return total.Add(total, first), nil
}

// block writes a block, its members in the order of their names.
func (w *writer) block(b *evm.Block, h *consensus.Header, total *uint256.Int, full bool) error {
	w.raw("{")
	w.optionalWide("baseFeePerGas", h.BaseFee)
	w.optional("blobGasUsed", h.BlobGasUsed)
	if h.HasExtData {
		w.name("blockExtraData").hex(b.ExtData)
	}
	w.optionalWide("blockGasCost", h.BlockGasCost)
	w.name("difficulty").wide(&h.Difficulty)
	w.optional("excessBlobGas", h.ExcessBlobGas)
	w.optionalWide("extDataGasUsed", h.ExtDataGasUsed)
	if h.HasExtData {
		w.name("extDataHash").hex(h.ExtDataHash[:])
	}
	w.name("extraData").hex(h.Extra)
	w.name("gasLimit").uint(h.GasLimit)
	w.name("gasUsed").uint(h.GasUsed)
	w.name("hash").hex(b.Hash[:])
	w.name("logsBloom").hex(h.Bloom[:])
	w.optional("minDelayExcess", h.MinDelayExcess)
	w.optional("minPriceExponent", h.MinPriceExponent)
	w.name("miner").hex(h.Miner[:])
	w.name("mixHash").hex(h.MixHash[:])
	w.name("nonce").hex(h.Nonce[:])
	w.name("number").uint(h.Number)
	if h.ParentBeaconRoot != nil {
		w.name("parentBeaconBlockRoot").hex(h.ParentBeaconRoot[:])
	}
	w.name("parentHash").hex(h.Parent[:])
	w.name("receiptsRoot").hex(h.ReceiptsRoot[:])
	w.optional("settledExcess", h.SettledExcess)
	w.optional("settledGasNumerator", h.SettledGasNumerator)
	w.optional("settledGasUnix", h.SettledGasUnix)
	w.optional("settledHeight", h.SettledHeight)
	w.name("sha3Uncles").hex(h.Uncles[:])
	w.name("size").uint(b.Size)
	w.name("stateRoot").hex(h.StateRoot[:])
	w.optional("targetExponent", h.TargetExponent)
	w.name("timestamp").uint(h.Time)
	w.optional("timestampMilliseconds", h.TimeMilli)
	w.name("totalDifficulty").wide(total)
	w.name("transactions").raw("[")
	for i := range b.Txs {
		if !full {
			w.comma()
			w.hex(b.Txs[i].Hash[:])
		} else if err := w.tx(b, &b.Txs[i], h.BaseFee); err != nil {
			return err
		}
	}
	w.raw("]")
	w.name("transactionsRoot").hex(h.TxRoot[:])
	w.name("uncles").raw("[]}")
	return nil
}

func (w *writer) optional(name string, v *uint64) {
	if v != nil {
		w.name(name).uint(*v)
	}
}

func (w *writer) optionalWide(name string, v *uint256.Int) {
	if v != nil {
		w.name(name).wide(v)
	}
}
