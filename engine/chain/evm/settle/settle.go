// Package settle holds the rules of chains that accept a block first, execute it
// then and settle its results in the header of a later block (ACP-194): what an
// executed block must satisfy by itself, what a header settles, and the gas clock,
// from which the base fee of the execution follows.
//
// Such a header states, instead of its own results, those of the blocks that it
// settles: the heights above the last settled block of its parent up to its own.
// Its receiptsRoot and logsBloom cover the receipts of these blocks, joined; its
// stateRoot is the state after the last one; and its gas clock is the one after the
// last one. baseFeePerGas and gasUsed are upper bounds that the block was accepted
// with.
//
// It does no I/O. Source: avalanchego v1.15.0, vms/saevm.
package settle

import (
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

const (
	// lambda is the part of its gas limit, 1/lambda, that a transaction pays for at least.
	lambda = 2
	// gasLimitSeconds is a block's gas limit over the gas rate: tau, the 5 seconds
	// from execution to settlement, times lambda.
	gasLimitSeconds = 5 * lambda
	// maxLimitRate is the highest gas rate for gas limits: three blocks fit into 64 bits.
	maxLimitRate = math.MaxUint64 / (3 * gasLimitSeconds)
)

// Synchronous reports whether a block was executed before it was accepted, so that
// its header states its own results. Only the header says so.
func Synchronous(h *consensus.Header) bool {
	if h.SettledHeight == nil || h.SettledGasUnix == nil || h.SettledGasNumerator == nil || h.SettledExcess == nil {
		return true
	}
	return *h.SettledHeight|*h.SettledGasUnix|*h.SettledGasNumerator|*h.SettledExcess == 0
}

// Height returns the height of the last block that is settled once h is accepted:
// its own of a synchronous block. The blocks that h settles are those above
// Height(parent) up to Height(h).
func Height(h *consensus.Header) uint64 {
	if Synchronous(h) {
		return h.Number
	}
	return *h.SettledHeight
}

// CheckHeader reports whether a header that is not synchronous fits its parent's: the
// order of settled heights, and the gas limit. The error is a [*consensus.Mismatch].
func CheckHeader(parent, h *consensus.Header) error {
	switch from, to := Height(parent), Height(h); {
	case to < from:
		return number(h, "settledHeight", to, from)
	case to >= h.Number:
		return number(h, "settledHeight", to, h.Number-1)
	}
	if limit := min(rateOfTarget*target(parent), maxLimitRate) * gasLimitSeconds; h.GasLimit != limit {
		return number(h, "gasLimit", h.GasLimit, limit)
	}
	return nil
}

// AtomicGas returns the gas of the atomic transactions of a block, which is in no
// receipt: what its header reserves beyond the limits of its transactions.
func AtomicGas(h *consensus.Header, b *evm.Block) (uint64, error) {
	limits := uint64(0)
	for i := range b.Txs {
		limits = add(limits, b.Txs[i].GasLimit)
	}
	if limits > h.GasUsed || limits < h.GasUsed && len(b.ExtData) == 0 {
		return 0, number(h, "gasUsed", h.GasUsed, limits)
	}
	return h.GasUsed - limits, nil
}

// CheckExecuted reports whether the results of an executed block can be true, as
// far as the block itself shows: the gas of each transaction, from half its limit up
// to all of it, and what each paid for it by one base fee, at most the header's. The
// error is a [*consensus.Mismatch]. Of the rest the header that settles it decides:
// [CheckSettled].
func CheckExecuted(h *consensus.Header, b *evm.Block) error {
	if _, err := AtomicGas(h, b); err != nil {
		return err
	}
	for i := range b.Txs {
		t := &b.Txs[i]
		if least := t.GasLimit/lambda + t.GasLimit%lambda; t.GasUsed < least {
			return number(h, consensus.TxField(i, "gasUsed"), t.GasUsed, least)
		}
		if t.GasUsed > t.GasLimit {
			return number(h, consensus.TxField(i, "gasUsed"), t.GasUsed, t.GasLimit)
		}
	}
	_, _, err := BaseFees(h, b)
	return err
}

// BaseFees returns the lowest and the highest base fee that fit what was paid in a
// block, in wei; they are equal if a transaction shows it. The error is a
// [*consensus.Mismatch] if none fits that is at most the header's.
func BaseFees(h *consensus.Header, b *evm.Block) (least, most uint256.Int, err error) {
	if h.BaseFee != nil {
		most = *h.BaseFee
	}
	var signed struct {
		tx   evm.Tx
		rest consensus.Signed
	}
	for i := range b.Txs {
		t := &b.Txs[i]
		want := t.GasPrice
		low, high, ok := baseFees(t)
		if t.MaxFee == nil && t.Raw != nil { // the price is that of the transaction
			if err := consensus.ParseTx(t.Raw, &signed.tx, &signed.rest); err != nil {
				return least, most, err
			}
			want = signed.tx.GasPrice
			ok = t.GasPrice == want
		}
		if ok && (low.Gt(&most) || high.Lt(&least)) || !ok && t.MaxFee != nil {
			ok, want = false, consensus.EffectivePrice(t, &most)
		}
		if !ok {
			return least, most, number(h, consensus.TxField(i, "effectiveGasPrice"), &t.GasPrice, &want)
		}
		if low.Gt(&least) {
			least = low
		}
		if high.Lt(&most) {
			most = high
		}
	}
	return least, most, nil
}

// baseFees returns the bounds of the base fees with which a transaction would have
// paid its price; ok is false if there are none.
func baseFees(t *evm.Tx) (least, most uint256.Int, ok bool) {
	if t.MaxFee == nil || t.MaxPriorityFee == nil {
		return least, t.GasPrice, true
	}
	_, under := least.SubOverflow(&t.GasPrice, t.MaxPriorityFee)
	switch t.GasPrice.Cmp(t.MaxFee) {
	case -1: // the base fee and the tip
		return least, least, !under
	case 0: // or more, which MaxFee cut off
		if under {
			least.Clear()
		}
		return least, t.GasPrice, true
	}
	return least, most, false
}

// number is the error about a member that is not what it should be.
func number(h *consensus.Header, field string, got, want any) error {
	return &consensus.Mismatch{Number: h.Number, Field: field, Got: fmt.Sprint(got), Want: fmt.Sprint(want)}
}
