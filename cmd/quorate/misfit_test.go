package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/world"
	"quorate/engine/chain/evm/settle"
)

// TestMisfits: each block with a false result that a header has settled is in a range that
// is listed as false, and the others have the base fee that was paid.
func TestMisfits(t *testing.T) {
	t.Parallel()
	for result := evmchain.ResultGasUsed; result <= evmchain.ResultLogGone; result++ {
		t.Run(fmt.Sprint(result), func(t *testing.T) {
			d := startNetwork(t, devnet.Config{Blocks: 90, HistoryInterval: 2 * time.Second, Helicon: world.Start().Add(-2 * time.Minute)})
			c, _ := cChain(d)
			client := chainClient(t, d, c)
			truth, err := client.Fetch(t.Context(), 0, c.Tip())
			if err != nil {
				t.Fatal(err)
			}
			d.SetEVMTraits(c.Config().ID, evmrpc.Traits{False: result})
			told, err := client.Fetch(t.Context(), 0, c.Tip())
			if err != nil {
				t.Fatal(err)
			}
			var honest, lied settle.Chain
			listed := map[uint64]bool{}
			for i, b := range told {
				if err := honest.Next(truth[i]); err != nil {
					t.Fatal(err)
				}
				var m *settle.Misfit
				if err := lied.Next(b); errors.As(err, &m) {
					for n := m.From; n <= m.To; n++ {
						listed[n] = true
					}
				}
			}
			for i, b := range told[:lied.Settled()+1] {
				same := len(b.Txs) == len(truth[i].Txs)
				for k := range b.Txs {
					x, y := &b.Txs[k], &truth[i].Txs[k]
					same = same && x.GasUsed == y.GasUsed && x.GasPrice == y.GasPrice && x.Failed == y.Failed && fmt.Sprint(x.Logs) == fmt.Sprint(y.Logs)
				}
				if !same && !listed[b.Number] {
					t.Errorf("block %d is settled, has false results, and is in no list", b.Number)
				}
				if !listed[b.Number] && b.BaseFee.Cmp(truth[i].BaseFee) != 0 {
					t.Errorf("block %d, which is in no list, has the base fee %d, not %d", b.Number, b.BaseFee, truth[i].BaseFee)
				}
			}
		})
	}
}
