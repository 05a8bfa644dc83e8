package oracle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// Addresses returns all addresses that have part in the chain's transactions, the
// busiest first.
func (c *Chain) Addresses() []common.Address {
	count := make(map[common.Address]int)
	for _, tx := range c.Txs {
		part := map[common.Address]bool{tx.From: true, tx.receiver(): true}
		for _, t := range tx.Transfers {
			part[t.From], part[t.To], part[t.Token] = true, true, true
		}
		for _, call := range tx.Calls {
			part[call.From] = true
			if call.To != nil {
				part[*call.To] = true
			}
		}
		for a := range part {
			count[a]++
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b common.Address) int {
		if d := cmp.Compare(count[b], count[a]); d != 0 {
			return d
		}
		return a.Cmp(b)
	})
}

// Chosen returns some addresses of every sort: the busiest, rare ones, contracts
// that were made by transactions and by contracts, all tokens, nobody and unknown ones.
func (c *Chain) Chosen(rare int) []common.Address {
	all := c.Addresses()
	chosen := []common.Address{{}, {0: 0xde, 19: 0xad}, {0: 1}, {0: 2, 19: 5}}
	if len(all) > 0 {
		chosen = append(chosen, all[0])
	}
	for i := range rare {
		if at := len(all) * (i + 1) / (rare + 1); at < len(all) {
			chosen = append(chosen, all[at])
		}
	}
	if n := len(all); n > 2 {
		chosen = append(chosen, all[n-1], all[n-2])
	}
	chosen = slices.AppendSeq(chosen, maps.Values(c.made()))
	chosen = slices.AppendSeq(chosen, maps.Keys(c.Tokens))
	slices.SortFunc(chosen, common.Address.Cmp)
	return slices.Compact(chosen)
}

// made returns a contract for each way of making one: by a transaction, by each
// kind of call, and by calls that were undone.
func (c *Chain) made() map[string]common.Address {
	out := make(map[string]common.Address)
	for _, tx := range c.Txs {
		if tx.rawTx.To == nil {
			out["transaction"] = tx.receiver()
		}
		for _, call := range tx.Calls {
			if (call.Type == "CREATE" || call.Type == "CREATE2" || call.Type == "SELFDESTRUCT") && call.To != nil {
				kind := call.Type
				if call.Reverted {
					kind += " undone"
				}
				out[kind] = *call.To
			}
		}
	}
	return out
}

// Features counts what the chain has, so that a test can demand that it has all.
func (c *Chain) Features() map[string]int {
	out := make(map[string]int)
	for _, b := range c.Blocks {
		if len(b.ExtraData) > 0 {
			out["atomic block"]++
		}
		if len(b.Txs) == 0 {
			out["empty block"]++
		}
	}
	for _, tx := range c.Txs {
		if tx.Failed() {
			out["failed"]++
		}
		if tx.rawTx.To == nil {
			out["creation"]++
		}
		for _, t := range tx.Transfers {
			out[t.Kind]++
			if t.To == (common.Address{}) {
				out[t.Kind+" burnt"]++
			}
		}
		for _, call := range tx.Calls {
			name := "internal " + call.Type
			if call.Reverted {
				name += " reverted"
			}
			out[name]++
			if call.Value.Sign() > 0 && !call.Reverted {
				out["internal value"]++
			}
		}
	}
	return out
}
