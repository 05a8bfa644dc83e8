package index

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// windowFigures reckons what the blocks from an hour on say, plainly.
func windowFigures(blocks []*evm.Block, hour uint64) map[rollup.Metric]*big.Rat {
	active, senders, deployers := map[evm.Address]bool{}, map[evm.Address]bool{}, map[evm.Address]bool{}
	gas, fees, prices, highest := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	var txs, contracts, rated, blockGas int64
	unix := func(i int) int64 { return int64(blocks[i].TimeMilli / 1000) }
	start := unix(1) // of time
	if unix(0)/86400 == start/86400 {
		start = unix(0)
	}
	before, last := start, int64(0)
	maxTps, maxGps := new(big.Rat), new(big.Rat)
	for i := 1; i < len(blocks); i++ {
		b := blocks[i]
		if uint64(unix(i))/3600 < hour {
			before = unix(i)
			continue
		}
		last = unix(i)
		rate := func(n uint64, top *big.Rat) {
			since := start
			if i > 1 {
				since = unix(i - 1)
			}
			if last > since { // these chains have no two blocks in a second
				if r := new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(last-since)); r.Cmp(top) > 0 {
					top.Set(r)
				}
			}
		}
		rate(uint64(len(b.Txs)), maxTps)
		rate(b.GasUsed, maxGps)
		if last > start {
			rated, blockGas = rated+int64(len(b.Txs)), blockGas+int64(b.GasUsed)
		}
		for _, t := range recompute([]*evm.Block{b}, b.Number).txs {
			price, used := t.tx.GasPrice.ToBig(), new(big.Int).SetUint64(t.tx.GasUsed)
			txs++
			gas.Add(gas, used)
			fees.Add(fees, new(big.Int).Mul(used, price))
			prices.Add(prices, price)
			if price.Cmp(highest) > 0 {
				highest = price
			}
			active[t.tx.From], senders[t.tx.From] = true, true
			if !t.tx.Creation {
				active[t.tx.To] = true
			}
			for _, m := range t.mine {
				active[m.from], active[m.to], senders[m.from] = true, true, true
			}
			if t.tx.Failed {
				continue
			}
			if t.tx.Creation {
				contracts++
				deployers[t.tx.From] = true
			}
			for _, c := range t.tx.Calls {
				if (c.Type == evm.CallCreate || c.Type == evm.CallCreate2) && !c.Reverted && c.To != (evm.Address{}) {
					contracts++
					deployers[c.From] = true
				}
			}
		}
	}
	whole := func(n int) *big.Rat { return big.NewRat(int64(n), 1) }
	over := func(n *big.Int, by int64) *big.Rat {
		if by <= 0 {
			return new(big.Rat)
		}
		return new(big.Rat).SetFrac(n, big.NewInt(by))
	}
	return map[rollup.Metric]*big.Rat{
		rollup.TxCount: whole(int(txs)), rollup.GasUsed: over(gas, 1), rollup.FeesPaid: over(fees, 1), rollup.MaxGasPrice: over(highest, 1),
		rollup.AvgGasPrice: over(prices, txs), rollup.ActiveAddresses: whole(len(active)), rollup.ActiveSenders: whole(len(senders)),
		rollup.Contracts: whole(int(contracts)), rollup.Deployers: whole(len(deployers)),
		rollup.AvgTps: over(big.NewInt(rated), last-before), rollup.AvgGps: over(big.NewInt(blockGas), last-before),
		rollup.MaxTps: maxTps, rollup.MaxGps: maxGps,
	}
}

// checkWindows compares windows from several hours on with what the blocks say.
func checkWindows(t *testing.T, c *Chain, blocks []*evm.Block, hours ...uint32) {
	t.Helper()
	list, err := c.Windows(hours, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		for m, want := range windowFigures(blocks, uint64(hours[i])) {
			v := m.Of(&list[i])
			if got := new(big.Rat).SetFrac(v.Num.ToBig(), new(big.Int).SetUint64(v.Den)); got.Cmp(want) != 0 {
				t.Errorf("from hour %d on: %s is %s, want %s", hours[i], m, got, want)
			}
		}
	}
	plain, err := c.Windows(hours, false)
	if err != nil || len(plain) != len(list) {
		t.Fatal(plain, err)
	}
	for i := range plain {
		plain[i].Addresses, plain[i].Senders, plain[i].Deployers = list[i].Addresses, list[i].Senders, list[i].Deployers
	}
	mustEqual(t, "without distinct counts", plain, list)
}

// someHours returns hours near the blocks, the latest first, and all time.
func someHours(rnd *rand.Rand, blocks []*evm.Block) []uint32 {
	hours := []uint32{0}
	last := uint32(blocks[len(blocks)-1].TimeMilli / 3_600_000)
	for range 8 {
		hours = append(hours, uint32(blocks[1+rnd.IntN(len(blocks)-1)].TimeMilli/3_600_000)+uint32(rnd.IntN(3)))
	}
	hours = append(hours, last+2, last+1, last, last-1, last-24, last-30*24)
	slices.Sort(hours)
	slices.Reverse(hours)
	return hours
}

// TestWindows: windows say what their blocks say, however these were committed.
func TestWindows(t *testing.T) {
	t.Parallel()
	for seed, blocks := range [][]*evm.Block{
		years(31, 150), indextest.New(indextest.Config{Seed: 32, Txs: 4, Step: 700_000}).Blocks(200),
	} {
		rnd := rand.New(rand.NewPCG(31, uint64(seed)))
		c := openChain(t, Options{Remember: 50})
		for done := 0; done < len(blocks); {
			n := min(1+rnd.IntN(40), len(blocks)-done)
			commit(t, c, blocks[done:done+n], n)
			if done += n; done > 1 {
				checkWindows(t, c, blocks[:done], someHours(rnd, blocks[:done])...)
			}
			if rnd.IntN(3) == 0 {
				again, err := Open(c.db, c.id, c.opts)
				if err != nil {
					t.Fatal(err)
				}
				c = again
			}
		}
	}
}

// TestWindowsNotThere: a chain without blocks, metrics that are not made, a chain that
// goes back, and one that was indexed before addresses were counted by hours.
func TestWindowsNotThere(t *testing.T) {
	t.Parallel()
	blocks := years(33, 80)
	c := openChain(t, Options{})
	if _, err := c.Windows([]uint32{0}, true); !errors.Is(err, ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	commit(t, c, blocks[:1], 1)
	if list, err := c.Windows([]uint32{7, 0}, true); err != nil || len(list) != 2 || list[0].Blocks != 0 {
		t.Errorf("of the genesis block: %+v, %v", list, err)
	}
	commit(t, c, blocks[1:60], 20)
	old := *c.places()
	old.of[store.TableHours].version = 0
	if err := c.putRows(row{old.rowKey(rowServing), old.append(nil)}); err != nil {
		t.Fatal(err)
	}
	older, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, older, blocks[60:], 20)
	if _, err := older.Windows([]uint32{0}, true); !errors.Is(err, ErrRollup) {
		t.Errorf("of an older folder: %v", err)
	}
	if list, err := older.Windows([]uint32{0}, false); err != nil || list[0].Blocks != 79 {
		t.Errorf("of an older folder: %+v, %v", list, err)
	}
	mustEqual(t, "stale", older.Stale(), []Table{store.TableHours})
	if err := older.Rebuild(t.Context(), &archive{blocks: blocks}, older.Stale(), nil); err != nil {
		t.Fatal(err)
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 80)
	if digest(t, older) != digest(t, clean) {
		t.Error("the digests differ")
	}
	checkWindows(t, older, blocks, 0)
	if err := older.Rewind(t.Context(), &archive{blocks: blocks}, 70); err != nil {
		t.Fatal(err)
	}
	if _, err := older.Windows([]uint32{0}, false); !errors.Is(err, ErrRollup) {
		t.Errorf("of a chain that went back: %v", err)
	}
	without := openChain(t, Options{NoRollup: true})
	commit(t, without, blocks[:3], 3)
	if _, err := without.Windows([]uint32{0}, false); !errors.Is(err, ErrRollup) {
		t.Errorf("without metrics: %v", err)
	}
}
