package evmchain

import (
	"fmt"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
)

func benchMessage(i uint64) *warp.Unsigned {
	u, err := warp.New(12345, chain.ID{1}, warp.AddressedCall{SourceAddress: make([]byte, 20), Payload: fmt.Appendf(nil, "message %d", i)}.Append(nil))
	if err != nil {
		panic(err)
	}
	return u
}

// whole is a chain with all that chains may have.
func whole(blocks uint64, txs int) Config {
	return Config{
		ID: chain.ID{1}, EVMChainID: 43112, NetworkID: 12345, Atomic: true, PeerChain: chain.ID{2}, AssetID: chain.ID{3},
		Seed: [32]byte{4}, Blocks: blocks, TxsPerBlock: txs, End: time.Unix(1735689600, 0),
		HistoryInterval: time.Second, BlockInterval: 300 * time.Millisecond,
		Emitter: evm.Address{9}, FirstMessage: 5, Messages: 1 << 30, Message: benchMessage,
	}
}

// BenchmarkBuild builds a chain of some 20,000 transactions: time for each.
func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	txs := 0
	for b.Loop() {
		c, err := New(whole(400, 50))
		if err != nil {
			b.Fatal(err)
		}
		c.Tip()
		txs += len(c.txs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(txs), "ns/tx")
}

// BenchmarkRender reads blocks, receipts and traces: time for each transaction.
func BenchmarkRender(b *testing.B) {
	c, err := New(whole(400, 50))
	if err != nil {
		b.Fatal(err)
	}
	sizes := make([]int, c.Tip()+1)
	for n := range sizes {
		sizes[n] = len(c.block(uint64(n)).txs) // not negative
	}
	for name, render := range map[string]func(dst []byte, n uint64) []byte{
		"block":    func(dst []byte, n uint64) []byte { return c.AppendBlock(dst, n, true, View{}) },
		"receipts": func(dst []byte, n uint64) []byte { return c.AppendReceipts(dst, n, View{}) },
		"trace": func(dst []byte, n uint64) []byte {
			dst, err := c.AppendTrace(dst, n, TraceConfig{}, View{})
			if err != nil {
				b.Fatal(err)
			}
			return dst
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			txs := 0
			for i := uint64(0); b.Loop(); i++ {
				n := 1 + i%400
				dst = render(dst[:0], n)
				txs += sizes[n]
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(txs, 1)), "ns/tx")
		})
	}
}
