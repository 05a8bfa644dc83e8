package settle

import (
	"encoding/hex"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// Execute advances the clock over a block with header h, whose parent's clock it is,
// and returns the block's base fee in wei. The error, with which the clock stays as
// it was, is a [*consensus.Mismatch] if the block's receipts paid by another one.
func (c *Clock) Execute(h *consensus.Header, b *evm.Block) (baseFee uint64, err error) {
	next := *c
	next.Begin(h)
	baseFee = next.BaseFee()
	fee := uint256.NewInt(baseFee)
	if h.BaseFee == nil || h.BaseFee.Lt(fee) {
		return 0, number(h, "baseFeePerGas", h.BaseFee, baseFee)
	}
	gas, err := AtomicGas(h, b)
	if err != nil {
		return 0, err
	}
	for i := range b.Txs {
		t := &b.Txs[i]
		if price := consensus.EffectivePrice(t, fee); price != t.GasPrice {
			return 0, number(h, consensus.TxField(i, "effectiveGasPrice"), t.GasPrice.Dec(), price.Dec())
		}
		gas = add(gas, t.GasUsed)
	}
	next.End(h, gas)
	*c = next
	return baseFee, nil
}

// check reports whether the clock is the one that h states.
func (c *Clock) check(h *consensus.Header) error {
	for _, m := range [...]struct {
		field     string
		got, want uint64
	}{
		{"settledGasUnix", member(h.SettledGasUnix), c.seconds},
		{"settledGasNumerator", member(h.SettledGasNumerator), c.fraction},
		{"settledExcess", member(h.SettledExcess), c.excess},
	} {
		if m.got != m.want {
			return number(h, m.field, m.got, m.want)
		}
	}
	return nil
}

func member(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

// CheckSettled reports whether the results of blocks, in their order, are those that
// h settles, the heights above [Height](parent) up to [Height](h). It includes
// [CheckHeader], and [CheckExecuted] of the blocks. Not covered are calls and
// balances; for balances h's stateRoot is the root after the last of the blocks.
//
// clock is the one after the block at Height(parent); without an error it becomes the
// one after Height(h). If it is nil, base fees and h's clock are not checked.
//
// The error is a [*consensus.Mismatch] of h, if any of the blocks can be the one that
// does not fit, or of the block that paid by another base fee. It is another error if
// the blocks are not those heights'.
func CheckSettled(parent, h *consensus.Header, blocks []*evm.Block, clock *Clock) error {
	if err := CheckHeader(parent, h); err != nil {
		return err
	}
	from, to := Height(parent), Height(h)
	if uint64(len(blocks)) != to-from {
		return fmt.Errorf("block %d settles %d blocks, not %d", h.Number, to-from, len(blocks))
	}
	for i, b := range blocks {
		if want := from + 1 + uint64(i); b.Number != want {
			return fmt.Errorf("block %d settles block %d, not %d", h.Number, want, b.Number)
		}
	}
	// The receipts first: once their gas is proven, a base fee that does not fit is of
	// the block that it is found in.
	root, bloom := consensus.JoinedReceipts(blocks)
	if root != h.ReceiptsRoot {
		return number(h, "receiptsRoot", h.ReceiptsRoot, root)
	}
	if bloom != h.Bloom {
		return number(h, "logsBloom", "0x"+hex.EncodeToString(h.Bloom[:]), "0x"+hex.EncodeToString(bloom[:]))
	}
	return checkBlocks(h, blocks, clock)
}

// checkBlocks checks each of the blocks by itself, and the clock that runs over them.
func checkBlocks(h *consensus.Header, blocks []*evm.Block, clock *Clock) error {
	var next Clock
	if clock != nil {
		next = *clock
	}
	for _, b := range blocks {
		var own consensus.Header
		if err := own.Parse(b.Header); err != nil {
			return fmt.Errorf("block %d: %w", b.Number, err)
		}
		if err := CheckExecuted(&own, b); err != nil {
			return err
		}
		if clock == nil {
			continue
		}
		if _, err := next.Execute(&own, b); err != nil {
			return err
		}
	}
	if clock == nil {
		return nil
	}
	if err := next.check(h); err != nil {
		return err
	}
	*clock = next
	return nil
}
