package evmrpc

import (
	"math/big"
	"testing"

	"quorate/devnet/evmchain"
)

// TestFalseResults: a false result fits all that a node says of its block, and does not fit
// the header that settles it; what was before Helicon is never false.
func TestFalseResults(t *testing.T) {
	t.Parallel()
	h := newHandler(t, heliconConfig())
	transition, _, _ := h.chain.Transition()
	receiptsOf := func(n uint64) []jsonReceipt { return get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(n)) }
	truth := map[uint64][]jsonReceipt{}
	for n := uint64(1); n <= h.chain.Tip(); n++ {
		truth[n] = receiptsOf(n)
	}
	for k := range evmchain.ResultLogGone + 1 {
		result := (k + 1) % (evmchain.ResultLogGone + 1) // the truth comes last
		h.SetTraits(Traits{False: result})
		settled, unmasked, changed, prices := transition, 0, 0, 0
		said := map[uint64][]jsonReceipt{}
		for n := transition - 2; n <= h.chain.Tip(); n++ {
			b := get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(n), true)
			said[n] = receiptsOf(n)
			fits(t, h, &b, said[n])
			for i := range said[n] {
				was, is := &truth[n][i], &said[n][i]
				if string(receiptOf(t, was)) == string(receiptOf(t, is)) && was.EffectiveGasPrice == is.EffectiveGasPrice && was.GasUsed == is.GasUsed {
					continue
				}
				if changed++; n <= transition {
					t.Errorf("result %d of block %d is false, before Helicon", result, n)
				}
				if was.EffectiveGasPrice != is.EffectiveGasPrice {
					prices++
				}
			}
			if n <= transition {
				continue
			}
			var all [][]byte
			for ; settled < number(t, b.SettledHeight); settled++ {
				for i := range said[settled+1] {
					all = append(all, receiptOf(t, &said[settled+1][i]))
				}
			}
			if rootOf(t, all) != b.ReceiptsRoot {
				unmasked++
			}
		}
		switch {
		case result == evmchain.ResultNone && changed+unmasked == 0:
		case result == evmchain.ResultPrice && changed == prices && prices > 0 && unmasked == 0: // the clock shows it
		case result != evmchain.ResultNone && result != evmchain.ResultPrice && changed > 0 && unmasked > 0:
		default:
			t.Errorf("result %d: %d receipts are false, %d of them the price; %d headers show it", result, changed, prices, unmasked)
		}
	}
}

// fits checks that what a node says of a block fits together.
func fits(t *testing.T, h *Handler, b *jsonBlock, receipts []jsonReceipt) {
	t.Helper()
	traces := get[[]traced[jsonCall]](t, h, "debug_traceBlockByNumber", b.Number, map[string]any{"tracer": "callTracer"})
	logs := get[[]jsonLog](t, h, "eth_getLogs", map[string]any{"fromBlock": b.Number, "toBlock": b.Number})
	gas, fee, first := uint64(0), (*big.Int)(nil), 0
	for i := range receipts {
		x, r, top := &b.Transactions[i], &receipts[i], &traces[i].Result
		used, limit := number(t, r.GasUsed), number(t, x.Gas)
		gas += used
		if gas != number(t, r.CumulativeGasUsed) || used > limit || b.SettledHeight != "" && used < (limit+1)/2 {
			t.Errorf("block %s: %d gas of the limit %d, %s in all", b.Number, used, limit, r.CumulativeGasUsed)
		}
		if top.GasUsed != r.GasUsed || (top.Error == "") != (r.Status == "0x1") {
			t.Errorf("block %s: the trace has %s gas and %q, the receipt %s and %s", b.Number, top.GasUsed, top.Error, r.GasUsed, r.Status)
		}
		if bloomOf(t, r.Logs).Cmp(new(big.Int).SetBytes(bytesOf(t, r.LogsBloom))) != 0 {
			t.Errorf("block %s: bloom", b.Number)
		}
		if one := get[jsonReceipt](t, h, "eth_getTransactionReceipt", x.Hash); string(receiptOf(t, &one)) != string(receiptOf(t, r)) || one.EffectiveGasPrice != r.EffectiveGasPrice {
			t.Errorf("block %s: two receipts of %s", b.Number, x.Hash)
		}
		for k := range r.Logs {
			if first >= len(logs) || logs[first].Data != r.Logs[k].Data || logs[first].Address != r.Logs[k].Address ||
				number(t, r.Logs[k].LogIndex) != uint64(first) || logs[first].LogIndex != r.Logs[k].LogIndex {
				t.Fatalf("block %s: log %d is another one by itself", b.Number, first)
			}
			first++
		}
		if x.Type != "0x2" {
			continue
		}
		paid := new(big.Int).Sub(wide(t, r.EffectiveGasPrice), wide(t, x.MaxPriorityFeePerGas))
		if fee != nil && fee.Cmp(paid) != 0 || paid.Cmp(wide(t, b.BaseFeePerGas)) > 0 {
			t.Errorf("block %s: the base fees %d and %d, the header has %s", b.Number, paid, fee, b.BaseFeePerGas)
		}
		fee = paid
	}
	if first != len(logs) {
		t.Errorf("block %s: %d logs, %d in receipts", b.Number, len(logs), first)
	}
}
