package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// block returns a block with so many transactions.
func (c *testChain) block(number, unix uint64, txs int) *evm.Block {
	b := &evm.Block{Number: number, Hash: numbered(number, 0xb), TimeMilli: 1000 * unix, Traced: true}
	if number > 0 {
		b.Parent = numbered(number-1, 0xb)
	}
	for i := range txs {
		b.Txs = append(b.Txs, evm.Tx{Index: uint32(i), Hash: txHash(number, byte(i)), From: alice, To: evm.Address{byte(unix / day), 19: byte(i)}, GasUsed: 21_000})
	}
	return b
}

// TestMetricsIndexed walks the metrics of a real index while it grows, and while
// they are made again.
func TestMetricsIndexed(t *testing.T) {
	t.Parallel()
	c := emptyOf(view.ChainInfo{ChainID: "1", BlockchainID: "id-1", IsTestnet: true})
	x := c.x
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{c}})
	if err != nil {
		t.Fatal(err)
	}
	path := metricPath("1", rollup.TxCount, "")
	expect(t, s, path, 503, "its first block is awaited")

	// A block each 5 hours, but for a month without any.
	txs := map[int64]int{}
	number, at := uint64(0), noon
	grow := func(n int) {
		t.Helper()
		var blocks []*evm.Block
		for range n {
			b := c.block(number, at, int(number%7))
			if number > 0 { // the genesis block does not count
				txs[int64(at-at%day)] += len(b.Txs)
			}
			blocks = append(blocks, b)
			number++
			if at += 5 * hour; number == 300 {
				at += 30 * day
			}
		}
		if err := x.Commit(context.Background(), blocks); err != nil {
			t.Fatal(err)
		}
	}
	want := func() (list []metricPoint) {
		last := int64(at - 5*hour)
		for d := last - last%int64(day); d >= int64(noon+5*hour)-int64(noon+5*hour)%int64(day); d -= int64(day) {
			list = append(list, metricPoint{json.Number(fmt.Sprint(txs[d])), d})
		}
		return list
	}
	grow(1)
	if resp := get(s, path); string(resp.Body()) != `{"results":[]}` {
		t.Errorf("after the genesis block: %s", resp.Body())
	}
	grow(torture.Pick(350, 600))
	for _, size := range []int{1, 7, 100, 2160} {
		begin := want()
		got := walkPoints(t, s, path, size, func() { grow(5) })
		if !slices.Equal(got, begin) {
			t.Errorf("pages of %d: %d points, want %d", size, len(got), len(begin))
		}
		comparePoints(t, s, path, 2160, want())
	}
	if err := x.Reroll(context.Background(), func(uint64, uint64) {
		comparePoints(t, s, path, 2160, want()) // served meanwhile
	}); err != nil {
		t.Fatal(err)
	}
	comparePoints(t, s, path, 2160, want())
	comparePoints(t, s, "/v2/chains/total/metrics/txCount?", 100, want())
}
