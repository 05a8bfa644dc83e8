package index

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// bare returns copies of blocks, those that lose their trace without it.
func bare(blocks []*evm.Block, loses func(number uint64) bool) []*evm.Block {
	list := slices.Clone(blocks)
	for i, b := range list {
		if !loses(b.Number) || b.Number == 0 || len(b.Txs) == 0 {
			continue // without transactions there is nothing to trace
		}
		cp := *b
		cp.Traced, cp.Balances = false, nil
		cp.Txs = slices.Clone(b.Txs)
		for k := range cp.Txs {
			cp.Txs[k].Calls, cp.Txs[k].Failure = nil, nil
		}
		list[i] = &cp
	}
	return list
}

func complete(t *testing.T, c *Chain, b *evm.Block) {
	t.Helper()
	if err := c.Complete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// Blocks that get their traces later leave the same database as those that had
// them at once, in whatever order the traces come.
func TestComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 51, Txs: 4}).Blocks(45)
	some := rand.New(rand.NewPCG(51, 1))
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 45)
	for name, loses := range map[string]func(uint64) bool{
		"one":       func(n uint64) bool { return n == 20 },
		"the first": func(n uint64) bool { return n < 9 },
		"some":      func(uint64) bool { return some.IntN(3) == 0 },
		"all":       func(uint64) bool { return true },
	} {
		c := openChain(t, Options{})
		given := bare(blocks, loses)
		commit(t, c, given[:36], 9)
		late := []*evm.Block{}
		for i, b := range given[:36] {
			if !b.Traced && i > 0 {
				late = append(late, blocks[i])
			}
		}
		some.Shuffle(len(late), func(i, k int) { late[i], late[k] = late[k], late[i] })
		for i, b := range late {
			complete(t, c, b)
			if i%10 == 0 {
				again, err := Open(c.db, c.id, c.opts)
				if err != nil {
					t.Fatal(err)
				}
				c = again
			}
		}
		if gaps := c.Gaps(); len(gaps) > 0 {
			t.Errorf("%s: gaps %v", name, gaps)
		}
		v := at(t, c, nil)
		compare(t, v, recompute(blocks[:36], 35), 20)
		v.Close()
		if stale := c.Stale(); len(stale) > 0 {
			rebuild(t, c, &archive{blocks: blocks}, stale...)
		}
		commit(t, c, blocks[36:], 20)
		if digest(t, c) != digest(t, clean) {
			t.Errorf("%s: the digests differ", name)
		}
		if stale := c.Stale(); len(stale) > 0 {
			t.Errorf("%s: %v are stale", name, stale)
		}
	}
}

// A block without its trace leaves metrics served; one that nobody traces, on a
// chain that nobody has traced yet, does not.
func TestGapInMetrics(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 52, Txs: 4, Full: true}).Blocks(60)
	for gap, want := range map[uint64]bool{40: false, 1: true} {
		c := openChain(t, Options{})
		commit(t, c, bare(blocks, func(n uint64) bool { return n == gap }), 9)
		s, _, err := c.RollupState()
		if err != nil || s.Untraced != want {
			t.Errorf("gap at %d: untraced is %v, %v", gap, s.Untraced, err)
		}
	}
}

// A block that is completed while tables are made again has its rows in them too.
func TestCompleteBeside(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 53, Txs: 4, Full: true}).Blocks(120)
	given := bare(blocks, func(n uint64) bool { return n%12 == 7 })
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 100)
	for _, end := range []int{-1, 6, 60}[torture.Pick(2, 0):] { // where the rebuild is ended once
		c := openChain(t, Options{Remember: 100})
		c.groupTxs, c.within = 20, 60
		commit(t, c, given, 50)
		read := slices.Clone(given)
		stop := end
		a := &archive{blocks: read, before: func(n uint64) error {
			if int(n) == stop {
				stop = -1
				return errStopped
			}
			return nil
		}}
		next := uint64(7)
		more := func(done, _ uint64) {
			if done+c.within < 120 && next < 120 {
				a.put(blocks[next])
				complete(t, c, blocks[next])
				next += 12
			}
		}
		err := c.Rebuild(t.Context(), a, Tables(), more)
		if end >= 0 {
			if !errors.Is(err, errStopped) {
				t.Fatal(err)
			}
			err = c.Rebuild(t.Context(), a, Tables(), more)
		}
		if err != nil || next == 7 {
			t.Fatal(next, err)
		}
		for ; next < 120; next += 12 {
			a.put(blocks[next])
			complete(t, c, blocks[next])
		}
		rebuild(t, c, a, c.Stale()...)
		if digest(t, c) != digest(t, clean) {
			t.Errorf("ended at %d: the digests differ", end)
		}
	}
}

// What was read of a transaction before its block was completed is read again.
func TestCompleteShows(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 54, Txs: 8, Full: true}).Blocks(40)
	c := openChain(t, Options{})
	commit(t, c, bare(blocks, func(n uint64) bool { return n == 30 }), 40)
	i := slices.IndexFunc(blocks[30].Txs, func(tx evm.Tx) bool { return len(tx.Calls) > 0 })
	if i < 0 {
		t.Fatal("no transaction with calls")
	}
	tx := &blocks[30].Txs[i]
	calls := func(v *View) int {
		t.Helper()
		got, found, err := v.Tx(tx.Hash)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return len(got.Calls)
	}
	old := at(t, c, nil)
	if n := calls(old); n != 0 {
		t.Fatalf("%d calls", n)
	}
	version := c.TokenVersion()
	complete(t, c, blocks[30])
	complete(t, c, blocks[30]) // does no harm
	if n := calls(at(t, c, nil)); n != len(tx.Calls) {
		t.Errorf("%d calls, want %d", n, len(tx.Calls))
	}
	if n := calls(old); n != 0 {
		t.Errorf("%d calls in a view from before", n)
	}
	if c.TokenVersion() == version {
		t.Error("what was kept of answers is still good")
	}
}

// What does not fit the indexed block is refused.
func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 55, Txs: 8, Full: true}).Blocks(40)
	given := bare(blocks, func(n uint64) bool { return n == 30 })
	c := openChain(t, Options{})
	complete(t, c, blocks[3]) // there is nothing to complete
	commit(t, c, given, 40)
	want := digest(t, c)
	if err := c.Complete(t.Context(), given[30]); err == nil {
		t.Error("without a trace")
	}
	other := *blocks[30]
	other.Hash[0]++
	if err := c.Complete(t.Context(), &other); !errors.Is(err, ErrOrder) {
		t.Error("another block:", err)
	}
	if digest(t, c) != want || len(c.Gaps()) != 1 {
		t.Error("it left traces")
	}
}

// A chain with too many gaps counts what lies between the last ones as a gap.
func TestManyGaps(t *testing.T) {
	t.Parallel()
	var cur cursor
	for n := range uint64(3 * maxGaps) {
		cur.take(&evm.Block{Number: n, Traced: n%2 == 0, Txs: make([]evm.Tx, 1)})
	}
	if n := len(cur.gaps); n != maxGaps || cur.gaps[n-1] != (Gap{2*maxGaps - 1, 3*maxGaps - 1}) {
		t.Fatalf("%d gaps, the last is %v", n, cur.gaps[n-1])
	}
	for n := range uint64(3 * maxGaps) {
		if cur.complete(n); len(cur.gaps) > maxGaps || untraced(cur.gaps, n-1, n) && n > 0 {
			t.Fatalf("%d gaps after block %d", len(cur.gaps), n)
		}
	}
	if len(cur.gaps) > 0 {
		t.Errorf("gaps %v are left", cur.gaps)
	}
	cur.gaps = []Gap{{1, 9}}
	var again cursor
	if err := again.decode(cur.append(nil)); err != nil || !slices.Equal(again.gaps, cur.gaps) || again.traced != cur.traced {
		t.Errorf("%+v, %v", again, err)
	}
}

// More gaps than there is room for count as one at the end, with all blocks between them.
// Whatever the order in which the traces come, after the blocks that have theirs were
// handed over too nothing of that is left.
func TestCompleteManyGaps(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	// In short there are just more gaps than are kept, and no empty blocks.
	full := torture.Pick(1, 0) == 1
	blocks := indextest.New(indextest.Config{Seed: 55, Txs: 1, Full: full}).Blocks(torture.Pick(2*maxGaps+60, 5*maxGaps))
	given := bare(blocks, func(n uint64) bool { return n%2 == 1 })
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 100)
	for name, order := range map[string]func(late []*evm.Block){
		"upwards":   func([]*evm.Block) {},
		"downwards": slices.Reverse[[]*evm.Block],
		"at random": func(late []*evm.Block) {
			rand.New(rand.NewPCG(55, 1)).Shuffle(len(late), func(i, k int) { late[i], late[k] = late[k], late[i] })
		},
	} {
		c := openChain(t, Options{})
		commit(t, c, given, 100)
		gaps := c.Gaps()
		if last := gaps[len(gaps)-1]; len(gaps) != maxGaps || last.To-last.From < 40 || c.Completes(last.From+1) || !c.Completes(last.From) || c.Completes(last.To+1) {
			t.Fatalf("%d gaps, the last is %v", len(gaps), last)
		}
		var late []*evm.Block
		for i, b := range given {
			if lacksTrace(b) && i > 0 {
				late = append(late, blocks[i])
			}
		}
		order(late)
		for i, b := range late {
			complete(t, c, b)
			if i == len(late)/2 {
				for _, b := range late[i+1:] { // those that are not there are told of
					if !untraced(c.Gaps(), b.Number-1, b.Number) {
						t.Fatalf("%s: block %d is in no gap", name, b.Number)
					}
				}
			}
		}
		for _, g := range c.Gaps() {
			for n := g.From; n <= g.To; n++ {
				if !c.Completes(n) {
					t.Fatalf("%s: block %d stays in gap %v", name, n, g)
				}
				complete(t, c, blocks[n])
			}
		}
		if gaps := c.Gaps(); len(gaps) > 0 {
			t.Errorf("%s: %d gaps are left, the first is %v", name, len(gaps), gaps[0])
		}
		if stale := c.Stale(); len(stale) > 0 {
			rebuild(t, c, &archive{blocks: blocks}, stale...)
		}
		if digest(t, c) != digest(t, clean) {
			t.Errorf("%s: the digests differ", name)
		}
	}
}

// Blocks without transactions, which nobody traces and over which gaps go on, are
// completed as they are.
func TestCompleteAmongEmpty(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 54, Txs: 2}).Blocks(60)
	empty := 0
	for _, b := range blocks[1:] {
		if len(b.Txs) == 0 {
			b.Traced, b.Balances = false, nil // as they come from nodes
			empty++
		}
	}
	if empty < 5 {
		t.Fatalf("only %d blocks are empty", empty)
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 60)
	for name, order := range map[string]func(list []*evm.Block){
		"upwards":   func([]*evm.Block) {},
		"downwards": func(list []*evm.Block) { slices.Reverse(list) },
		"any": func(list []*evm.Block) {
			rand.New(rand.NewPCG(54, 1)).Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		},
	} {
		c := openChain(t, Options{})
		commit(t, c, bare(blocks, func(n uint64) bool { return n%7 > 1 }), 9)
		var late []*evm.Block
		for _, b := range blocks {
			if len(b.Txs) > 0 && b.Number%7 > 1 {
				late = append(late, b)
			}
		}
		order(late)
		for _, b := range late {
			complete(t, c, b)
		}
		for _, g := range c.Gaps() {
			for n := g.From; n <= g.To; n++ {
				complete(t, c, blocks[n])
			}
		}
		if gaps := c.Gaps(); len(gaps) > 0 {
			t.Errorf("%s: gaps %v", name, gaps)
		}
		if stale := c.Stale(); len(stale) > 0 {
			rebuild(t, c, &archive{blocks: blocks}, stale...)
		}
		if digest(t, c) != digest(t, clean) {
			t.Errorf("%s: the digests differ", name)
		}
	}
}
