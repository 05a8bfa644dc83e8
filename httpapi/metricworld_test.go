package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/rollup"
)

// mine adds a block with transactions of senders of that time; every third deploys a contract.
func (c *testChain) mine(unix uint64, txs int) { c.add(c.mined(unix, txs, true)) }

// mineAll adds blocks of the given seconds and transactions.
func (c *testChain) mineAll(blocks ...[2]uint64) {
	from := len(c.blocks)
	for _, b := range blocks {
		c.blocks = append(c.blocks, c.mined(b[0], int(b[1]), !c.untraced))
	}
	must(c.x.Commit(context.Background(), c.blocks[from:]))
}

// mined makes the block.
func (c *testChain) mined(unix uint64, txs int, traced bool) *evm.Block {
	list := make([]*index.Tx, txs)
	for i := range list {
		t := &index.Tx{Tx: evm.Tx{
			Hash: txHash(uint64(len(c.blocks)), byte(i)), From: evm.Address{1, byte(unix >> 12), byte(i)}, To: evm.Address{2, byte(unix >> 16)},
			GasUsed: 21_000, GasPrice: wei(25_000_000_000 + unix%1000),
		}}
		if i%3 == 0 && traced {
			t.Calls = []evm.Call{{Type: evm.CallCreate, Depth: 1, From: t.From, To: evm.Address{3, 19: byte(i)}}}
		}
		t.Block.TimeMilli = 1000 * unix
		list[i] = t
	}
	b := c.next(list...)
	b.TimeMilli, b.GasUsed, b.Traced = max(b.TimeMilli, 1000*unix), 30_000*uint64(txs), traced
	if !traced {
		b.Balances = nil
	}
	return b
}

// reroll has the metrics made again.
func (c *testChain) reroll() { must(c.x.Reroll(context.Background(), func(uint64, uint64) {})) }

// Read implements [index.Blocks].
func (g *growing) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, b := range g.blocks[from : to+1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// giveUp goes back to a block.
func (g *growing) giveUp(to uint64) {
	must(g.x.Rewind(context.Background(), g, to))
	g.blocks = g.blocks[:to+1]
}

// metricPage is a page of points; numbers keep their text.
type metricPage struct {
	NextPageToken *string
	Results       []metricPoint
}

type metricPoint struct {
	Value     json.Number
	Timestamp int64
}

func (p metricPoint) String() string { return fmt.Sprint(p.Timestamp, "=", p.Value) }

// wantPoints returns the points of chains together, the newest first, made in one
// go from all records.
func wantPoints(t testing.TB, m rollup.Metric, i rollup.Interval, since, until uint64, chains ...*testChain) []metricPoint {
	t.Helper()
	return wantNewest(t, math.MaxUint32, m, i, since, until, chains...)
}

// wantNewest is the same of the newest buckets only.
func wantNewest(t testing.TB, most uint32, m rollup.Metric, i rollup.Interval, since, until uint64, chains ...*testChain) (want []metricPoint) {
	t.Helper()
	first, last, any := uint32(0), uint32(0), false
	for _, c := range chains {
		if s, _, err := c.RollupState(); err == nil && s.Begun && (!s.Untraced || !m.Traced()) {
			f, l, _ := s.Bounds(i)
			if !any {
				first, last = f, l
			}
			first, last, any = min(first, f), max(last, l), true
		}
	}
	if !any {
		return nil
	}
	if last-first >= most {
		first = last - most + 1
	}
	totals := make([]rollup.Total, last-first+1)
	for _, c := range chains {
		if s, _, err := c.RollupState(); err != nil || s.Untraced && m.Traced() {
			continue
		}
		if err := c.Buckets(i, last, first, func(n uint32, r *rollup.Record) { totals[n-first].Add(m, r) }); err != nil {
			t.Fatal(err)
		}
	}
	for n := int64(last); n >= int64(first); n-- {
		if at := i.Start(uint32(n)); at >= int64(since) && (at < 0 || uint64(at) < until) {
			want = append(want, metricPoint{json.Number(totals[uint32(n)-first].Append(m, nil)), at})
		}
	}
	return want
}
