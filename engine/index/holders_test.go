package index

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// always is the frame without bounds.
var always = Frame{End: ^uint64(0)}

// holdings are the balances after one block: token, holder, amount.
type holdings map[evm.Address]map[evm.Address]*big.Int

// holdingsAfter replays blocks and gives the balances after each of them.
func holdingsAfter(blocks []*evm.Block) (after []holdings) {
	o := recompute(nil, 0)
	for _, b := range blocks {
		for i := range b.Txs {
			o.replay(b, &b.Txs[i])
		}
		now := holdings{}
		for holder, coins := range o.coins {
			for token, n := range coins {
				if now[token] == nil {
					now[token] = map[evm.Address]*big.Int{}
				}
				now[token][holder] = n
			}
		}
		after = append(after, now)
	}
	return after
}

// holdersOf lists who must be listed, by trying each block.
func holdersOf(blocks []*evm.Block, after []holdings, token evm.Address, above *big.Int, f Frame) []string {
	held := map[evm.Address]bool{}
	before := -1 // the last block before the frame
	for i, b := range blocks {
		second := b.TimeMilli / 1000
		if second < f.Start {
			before = i
		}
	}
	for i, b := range blocks {
		second := b.TimeMilli / 1000
		if f.Start >= f.End || second >= f.End || second < f.Start && i != before {
			continue
		}
		for holder, n := range after[i][token] {
			if n.Cmp(above) > 0 {
				held[holder] = true
			}
		}
	}
	want := []string{}
	for holder := range held {
		want = append(want, fmt.Sprintf("%x %s", holder[:], after[len(blocks)-1][token][holder]))
	}
	slices.Sort(want)
	return want
}

// allHolders reads all pages, each as open gives it a view, and their number.
func allHolders(t *testing.T, open func() *View, token evm.Address, above uint256.Int, f Frame, limit int) (got []string, pages int) {
	t.Helper()
	got = []string{}
	for p := (Page{Limit: limit}); ; {
		v := open()
		list, next, err := v.Holders(token, above, f, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > limit {
			t.Fatalf("%d rows in a page of %d", len(list), limit)
		}
		for _, h := range list {
			got = append(got, fmt.Sprintf("%x %s", h.Address[:], h.Balance.Dec()))
		}
		pages++
		if next == nil {
			return got, pages
		}
		p.After = bytes.Clone(next)
	}
}

// compareHolders compares a view's lists of holders, for thresholds and frames
// by chance, with what must be in them.
func compareHolders(t *testing.T, v *View, blocks []*evm.Block, after []holdings, limit int, rnd *rand.Rand) {
	t.Helper()
	tokens := append(addresses(after[len(after)-1]), indextest.Odd, indextest.Arts[0])
	for range 16 {
		token := tokens[rnd.IntN(len(tokens))]
		above, f := someThreshold(rnd, after, token), someFrame(rnd, blocks)
		got, _ := allHolders(t, func() *View { return v }, token, *uint256.MustFromBig(above), f, limit)
		mustEqual(t, fmt.Sprintf("holders of %s above %s in %+v", token, above, f), got, holdersOf(blocks, after, token, above, f))
	}
}

// addresses returns the keys of m in their order.
func addresses[V any](m map[evm.Address]V) []evm.Address {
	return slices.SortedFunc(maps.Keys(m), func(a, b evm.Address) int { return bytes.Compare(a[:], b[:]) })
}

// someThreshold is often that of a balance or one beside it.
func someThreshold(rnd *rand.Rand, after []holdings, token evm.Address) *big.Int {
	switch now := after[rnd.IntN(len(after))][token]; {
	case rnd.IntN(4) == 0:
		return new(big.Int).Rsh(new(uint256.Int).SetAllOne().ToBig(), uint(rnd.IntN(257)))
	case rnd.IntN(4) > 0 && len(now) > 0:
		holders := addresses(now)
		n := new(big.Int).Sub(now[holders[rnd.IntN(len(holders))]], big.NewInt(int64(rnd.IntN(2))))
		return n.Abs(n)
	}
	return big.NewInt(int64(rnd.IntN(2)))
}

// someFrame has bounds at the times of blocks, or near them, or none.
func someFrame(rnd *rand.Rand, blocks []*evm.Block) Frame {
	f := always
	bound := func() uint64 { return blocks[rnd.IntN(len(blocks))].TimeMilli/1000 + uint64(rnd.IntN(5)) - 2 }
	if rnd.IntN(3) > 0 {
		f.Start = bound()
	}
	if rnd.IntN(3) > 0 {
		f.End = bound()
	}
	return f
}

// largeAmounts moves the amounts of ERC-20 transfers into all lengths.
func largeAmounts(blocks []*evm.Block, rnd *rand.Rand) []*evm.Block {
	for _, b := range blocks {
		for i := range b.Txs {
			for j := range b.Txs[i].Logs {
				l := &b.Txs[i].Logs[j]
				if len(l.Topics) == 3 && len(l.Data) == 32 && l.Topics[0] == topic("Transfer(address,address,uint256)") {
					n := new(uint256.Int).SetBytes(l.Data)
					data := n.Lsh(n, uint(rnd.IntN(3)*rnd.IntN(110))).Bytes32()
					l.Data = data[:]
				}
			}
		}
	}
	return blocks
}

// The lists of holders are what trying each block gives, at any tip, with any
// page size.
func TestHoldersOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(torture.Pick(2, 6)) {
		rnd := rand.New(rand.NewPCG(seed, 18))
		blocks := indextest.New(indextest.Config{Seed: seed, Txs: 12}).Blocks(120)
		if seed%3 > 0 {
			largeAmounts(blocks, rnd)
		}
		after := holdingsAfter(blocks)
		c := openChain(t, Options{Remember: 8, NoRollup: true})
		commit(t, c, blocks, 1+rnd.IntN(60))
		for _, height := range []uint64{0, 1, 30, 77, 119} {
			v := at(t, c, &height)
			for _, limit := range []int{1, 7, 5000} {
				compareHolders(t, v, blocks[:height+1], after[:height+1], limit, rnd)
			}
			v.Close()
		}
	}
}

// Blocks that arrive between two pages change nothing.
func TestHoldersPinned(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 18))
	blocks := largeAmounts(indextest.New(indextest.Config{Seed: 21, Txs: 6, Full: true}).Blocks(240), rnd)
	c := openChain(t, Options{})
	commit(t, c, blocks[:100], 10)
	after := holdingsAfter(blocks)
	next := 100
	for _, f := range []Frame{always, {Start: blocks[50].TimeMilli / 1000, End: ^uint64(0)}, {End: blocks[200].TimeMilli / 1000}} {
		tip := uint64(next - 1)
		var opened []*View
		got, pages := allHolders(t, func() *View {
			for _, v := range opened {
				v.Close()
			}
			opened = append(opened[:0], at(t, c, &tip))
			if next < len(blocks) {
				commit(t, c, blocks[next:next+2], 2)
				next += 2
			}
			return opened[0]
		}, indextest.Coins[0], *uint256.NewInt(100), f, 3)
		want := holdersOf(blocks[:tip+1], after[:tip+1], indextest.Coins[0], big.NewInt(100), f)
		mustEqual(t, fmt.Sprintf("pinned at %d", tip), got, want)
		if pages < 5 {
			t.Fatalf("%d pages", pages)
		}
	}
}

// mint is a transfer log from nobody.
func mint(token, to evm.Address, amount *uint256.Int) evm.Log {
	data := amount.Bytes32()
	return evm.Log{Address: token, Topics: []evm.Hash{topicTransfer, {}, padded(to)}, Data: data[:]}
}

// burn is a transfer log to nobody.
func burn(token, from evm.Address, amount *uint256.Int) evm.Log {
	data := amount.Bytes32()
	return evm.Log{Address: token, Topics: []evm.Hash{topicTransfer, padded(from), {}}, Data: data[:]}
}

func padded(a evm.Address) (h evm.Hash) {
	copy(h[12:], a[:])
	return h
}

// moving makes a chain with one transaction in each block, which has its logs;
// block n is made at second n.
func moving(logs ...[]evm.Log) []*evm.Block {
	blocks := make([]*evm.Block, len(logs))
	for i, list := range logs {
		b := &evm.Block{Number: uint64(i), TimeMilli: uint64(i) * 1000, Hash: evm.Keccak([]byte{byte(i), byte(i >> 8), byte(i >> 16)})}
		if i > 0 {
			b.Parent = blocks[i-1].Hash
		}
		for j := range list {
			list[j].Index = uint32(j)
		}
		if len(list) > 0 {
			b.Txs = []evm.Tx{{From: evm.Address{9}, Logs: list, Hash: evm.Keccak(b.Hash[:])}}
		}
		blocks[i] = b
	}
	return blocks
}

// What counts is what was there after blocks.
func TestHoldersRules(t *testing.T) {
	t.Parallel()
	token, a, b := evm.Address{1}, evm.Address{2}, evm.Address{3}
	n, most := uint256.NewInt, new(uint256.Int).SetAllOne()
	c := openChain(t, Options{})
	commit(t, c, moving(
		nil,
		[]evm.Log{mint(token, a, n(100))},
		[]evm.Log{mint(token, b, n(1000)), burn(token, b, n(1000)), mint(token, b, n(7))}, // in one block
		[]evm.Log{burn(token, a, n(100))},
		nil,
		[]evm.Log{mint(token, a, most), mint(token, a, n(5))}, // more than a word holds
		[]evm.Log{burn(token, a, most)},
	), 3)
	v := at(t, c, nil)
	f := func(above uint256.Int, start, end uint64, want ...string) {
		t.Helper()
		got, _ := allHolders(t, func() *View { return v }, token, above, Frame{start, end}, 10)
		mustEqual(t, fmt.Sprintf("above %s in %d to %d", above.Dec(), start, end), got, append([]string{}, want...))
	}
	as, bs := fmt.Sprintf("%x 0", a[:]), fmt.Sprintf("%x 7", b[:])
	const end = ^uint64(0)
	f(*n(0), 0, end, as, bs)
	f(*n(6), 0, end, as, bs)
	f(*n(7), 0, end, as)
	f(*n(99), 0, 5, as)
	f(*n(100), 0, 5)
	f(*n(99), 0, 1)
	f(*n(99), 0, 2, as)
	f(*n(99), 3, 4, as) // held until block 3
	f(*n(99), 4, 5)
	f(*n(0), 4, 5, bs)
	f(*n(0), 2, 2)
	f(*n(0), 3, 2)
	f(*n(0), 0, 0)
	f(*n(6), 100, end, bs) // after the tip it is as at the tip
	f(*n(0), 100, 100)
	f(*new(uint256.Int).Sub(most, n(1)), 0, end, as)
	f(*most, 0, end)
	for _, p := range []Page{{}, {Limit: -1}} {
		if list, next, err := v.Holders(token, uint256.Int{}, always, p); len(list) != 0 || next != nil || err != nil {
			t.Errorf("limit %d: %v, %x, %v", p.Limit, list, next, err)
		}
	}
	for _, length := range []int{0, 1, 19, 21, 27, 29} {
		if _, _, err := v.Holders(token, uint256.Int{}, always, Page{After: make([]byte, length), Limit: 1}); !errors.Is(err, ErrPosition) {
			t.Errorf("position of %d bytes: %v", length, err)
		}
	}
}

// A page ends when it has passed over many rows: of an address that has a long
// history, of addresses that had too little, or those of later blocks.
func TestHoldersBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	token, crowd, long := evm.Address{1}, evm.Address{2}, evm.Address{3}
	spiked := evm.Address{4}
	n := uint256.NewInt
	const blocks, spike = 5300, 2701
	logs := make([][]evm.Log, blocks)
	logs[1] = []evm.Log{mint(token, long, n(200)), mint(token, spiked, n(200))}
	logs[2] = []evm.Log{burn(token, long, n(190)), burn(token, spiked, n(190))}
	for i := 3; i < blocks; i++ {
		move := mint
		if i%2 == 0 {
			move = burn
		}
		amount := n(1)
		if i == spike || i == spike+1 {
			amount = n(150)
		}
		logs[i] = []evm.Log{move(token, long, n(1)), move(token, spiked, amount)}
	}
	for i := range 5200 {
		logs[blocks-1] = append(logs[blocks-1], mint(crowd, evm.Address{byte(i >> 8), byte(i)}, n(90)))
	}
	c := openChain(t, Options{NoRollup: true})
	// The lists of holders read no other tables, and there are a great many rows.
	c.maker = newMaker(c, c.places(), func(t Table) bool { return t == store.TableBlocks || tables[t].part == partBalances })
	commit(t, c, moving(logs...), 1000)
	v := at(t, c, nil)
	f := func(token evm.Address, above, start, end uint64, pages int, want ...string) {
		t.Helper()
		got, read := allHolders(t, func() *View { return v }, token, *n(above), Frame{start, end}, 10)
		mustEqual(t, fmt.Sprintf("above %d from %d to %d", above, start, end), got, append([]string{}, want...))
		if read != pages {
			t.Errorf("above %d from %d to %d: %d pages, want %d", above, start, end, read, pages)
		}
	}
	const end = ^uint64(0)
	longs, spikes := fmt.Sprintf("%x 11", long[:]), fmt.Sprintf("%x 11", spiked[:])
	f(token, 100, 0, end, 1, longs, spikes) // peaks tell
	f(token, 100, 2, end, 1, longs, spikes)
	f(token, 100, 3, end, 2, spikes)
	f(token, 100, 3, spike, 2)
	f(token, 200, 0, end, 1)
	f(crowd, 100, 0, end, 2)
	f(crowd, 1, 0, blocks-1, 2)
}

// BenchmarkHolders reads pages of a token with 100,000 holders whose balances
// are spread over 30 bits, and each page of a great many that have too little.
func BenchmarkHolders(b *testing.B) {
	dir := b.TempDir()
	db, c := benchChain(b, dir)
	token := evm.Address{7}
	const holders, each = 100_000, 1000
	logs := make([][]evm.Log, 1+holders/each)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := 1; i < len(logs); i++ {
		for range each {
			var a evm.Address
			for j := range a {
				a[j] = byte(rnd.Uint32())
			}
			logs[i] = append(logs[i], mint(token, a, uint256.NewInt(rnd.Uint64()>>(rnd.IntN(30)))))
		}
	}
	commit(b, c, moving(logs...), 10)
	if err := db.Close(); err != nil { // writes all tables
		b.Fatal(err)
	}
	_, c = benchChain(b, dir)
	for _, of := range []struct {
		name  string
		above uint64
		f     Frame
		limit int
	}{
		{"above=0/page=1000", 0, always, 1000}, {"above=0/page=5000", 0, always, 5000},
		{"above=0/page=1000/frame", 0, Frame{50, 60}, 1000},
		{"above=2^62/page=1000", 1 << 62, always, 1000}, {"above=2^63.99/page=1000", 1<<64 - 1<<57, always, 1000},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			var p Page
			rows, pages := 0, 0
			for b.Loop() {
				v, err := c.At(nil)
				if err != nil {
					b.Fatal(err)
				}
				p.Limit = of.limit
				list, next, err := v.Holders(token, *uint256.NewInt(of.above), of.f, p)
				if err != nil {
					b.Fatal(err)
				}
				p.After = next // from the start again after the last page
				rows, pages = rows+len(list), pages+1
				v.Close()
			}
			b.ReportMetric(float64(rows)/float64(pages), "rows/page")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(rows, 1)), "ns/row")
		})
	}
}
