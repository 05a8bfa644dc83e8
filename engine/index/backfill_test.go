package index

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// reopen opens a chain again, as after a restart.
func reopen(t *testing.T, c *Chain) *Chain {
	t.Helper()
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	again.groupTxs = c.groupTxs
	return again
}

// begun returns an index of blocks from one on, made without those below.
func begun(t *testing.T, blocks []*evm.Block, first int) *Chain {
	t.Helper()
	c := openChain(t, Options{Remember: 50})
	c.groupTxs = 60
	c.StartAt(uint64(first))
	commit(t, c, blocks[first:], 11)
	return c
}

// TestBelow: older blocks that come later, in whatever portions and whether they have
// their traces or not, leave the database that all blocks from genesis on make. At
// each point on the way all rows are those of the blocks that are there.
func TestBelow(t *testing.T) {
	t.Parallel()
	whole := indextest.New(indextest.Config{Seed: 81, Txs: 3}).Blocks(120)
	for name, loses := range map[string]func(uint64) bool{
		"traced":   func(uint64) bool { return false },
		"untraced": func(uint64) bool { return true },
		"some":     func(n uint64) bool { return n%7 == 3 || n > 70 && n < 85 || n == 79 || n == 80 },
		"late":     func(n uint64) bool { return n < 60 },
	} {
		blocks := bare(whole, loses)
		a, clean := &archive{blocks: blocks}, openChain(t, Options{})
		commit(t, clean, blocks, 64)
		rnd := rand.New(rand.NewPCG(81, uint64(len(name))))
		c := begun(t, blocks[:110], 80)
		for low := 80; low > 0; {
			n := min(low, 1+rnd.IntN(30))
			if err := c.CommitBelow(t.Context(), blocks[low-n:low]); err != nil {
				t.Fatal(err)
			}
			if low -= n; low < 50 && rnd.IntN(2) == 0 {
				c = reopen(t, c)
			}
			if b := c.Begin(); b != (Begin{uint64(low), 80, 80}) {
				t.Fatalf("%s: at %d it begins at %+v", name, low, b)
			}
			if rnd.IntN(6) == 0 {
				if got := check(t, c, a); len(got) > 0 {
					t.Fatalf("%s, from %d on: %d differences, the first is %s", name, low, len(got), got[0])
				}
			}
		}
		commit(t, c, blocks[110:], 10)
		stale := c.Stale()
		if slices.Contains(stale, store.TableTxs) || !slices.Contains(stale, store.TableTokenBalances) || !slices.Contains(stale, store.TableRollup) {
			t.Errorf("%s: stale are %v", name, stale)
		}
		rebuild(t, c, a, stale...)
		if digest(t, c) != digest(t, clean) || !slices.Equal(c.Gaps(), clean.Gaps()) {
			t.Errorf("%s: the digests differ, gaps %v, want %v", name, c.Gaps(), clean.Gaps())
		}
		c = reopen(t, c)
		if c.Begin() != (Begin{}) || len(c.Stale()) > 0 {
			t.Errorf("%s: it begins at %+v, stale are %v", name, c.Begin(), c.Stale())
		}
		if name == "traced" {
			compare(t, at(t, c, nil), recompute(blocks, 119), 30)
		}
	}
}

// TestBelowLists: lists show older blocks as soon as they are committed, and nothing
// of a block that a crash has left half written.
func TestBelowLists(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 82, Txs: 4}).Blocks(90)
	c := begun(t, blocks, 60)
	for _, low := range []int{60, 59, 31, 30, 1, 0} {
		if first := int(c.Begin().Lists); low < first {
			if err := c.CommitBelow(t.Context(), blocks[low:first]); err != nil {
				t.Fatal(err)
			}
		}
		if low > 0 { // as after a crash in a block that fills more than one transaction
			made, err := c.pureMaker(c.places(), func(t Table) bool { return t != store.TableTxs }).builder.apart(blocks[low-1 : low])
			if err == nil {
				err = c.putRows(made[0].list...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		v := at(t, c, nil)
		want := 0
		for _, b := range blocks[low:] {
			want += len(b.Txs)
			for i := range b.Txs {
				if _, found, err := v.Tx(b.Txs[i].Hash); err != nil || !found {
					t.Fatalf("from %d on: transaction %d of block %d: %v, %v", low, i, b.Number, found, err)
				}
			}
		}
		for _, ascending := range []bool{false, true} {
			got := 0
			if _, err := v.LatestTxs(Page{Limit: 5000, To: ^uint64(0), Ascending: ascending}, nil, func(*Tx) bool { got++; return true }); err != nil || got != want {
				t.Errorf("from %d on: %d transactions, want %d: %v", low, got, want, err)
			}
		}
		o := recompute(blocks, 89)
		for a := range o.native {
			changed := slices.ContainsFunc(blocks[low:], func(b *evm.Block) bool {
				return slices.ContainsFunc(b.Balances, func(bal evm.Balance) bool { return bal.Address == a })
			})
			wei, known, err := v.NativeBalance(a)
			if err != nil || known != changed || known && wei.ToBig().Cmp(o.native[a]) != 0 {
				t.Errorf("from %d on: %s has %s, %v, want %s, %v: %v", low, a, wei.Dec(), known, o.native[a], changed, err)
			}
		}
		if low > 0 {
			below := blocks[low-1]
			if _, found, err := v.Block(below.Number); err != nil || found {
				t.Errorf("block %d: %v, %v", below.Number, found, err)
			}
			if _, found, err := v.BlockNumber(below.Hash); err != nil || found {
				t.Errorf("block %s: %v, %v", below.Hash, found, err)
			}
			if _, err := c.At(&below.Number); !errors.Is(err, ErrBelow) {
				t.Errorf("a view of block %d: %v", below.Number, err)
			}
		}
	}
}

// TestBelowRefuses: what does not lead up to the first block is refused, and leaves
// the index as it is.
func TestBelowRefuses(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 83, Txs: 4}).Blocks(60)
	other := indextest.New(indextest.Config{Seed: 84, Txs: 4}).Blocks(60)
	empty := openChain(t, Options{})
	if err := empty.CommitBelow(t.Context(), blocks[:1]); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty chain: %v", err)
	}
	c := begun(t, blocks, 40)
	want := digest(t, c)
	for name, list := range map[string][]*evm.Block{
		"a hole":        blocks[30:39],
		"what is there": blocks[35:41],
		"another chain": other[30:40],
		"a torn range":  {blocks[36], blocks[38], blocks[39]},
		"the tip":       blocks[59:],
	} {
		if err := c.CommitBelow(t.Context(), list); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if digest(t, c) != want || c.Begin() != (Begin{40, 40, 40}) {
		t.Errorf("it begins at %+v", c.Begin())
	}
	if err := c.Rewind(t.Context(), &archive{blocks: blocks}, 39); !errors.Is(err, ErrBelow) {
		t.Errorf("back below the first block: %v", err)
	}
}

// TestBelowBeside: a rebuild that was ended half way lacks the blocks that came since,
// and begins again; a rewind on the way changes nothing in the end.
func TestBelowBeside(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 85, Txs: 5}).Blocks(100)
	a, clean := &archive{blocks: blocks}, openChain(t, Options{})
	commit(t, clean, blocks, 64)
	c := begun(t, blocks, 50)
	half := &archive{blocks: blocks, before: func(n uint64) error {
		if n == 80 {
			return errStopped
		}
		return nil
	}}
	if err := c.Rebuild(t.Context(), half, Tables(), nil); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if err := c.CommitBelow(t.Context(), blocks[20:50]); err != nil {
		t.Fatal(err)
	}
	rebuild(t, c, a, Tables()...)
	if err := c.Rewind(t.Context(), a, 90); err != nil {
		t.Fatal(err)
	}
	commit(t, c, blocks[91:], 4)
	rebuild(t, c, a, c.Stale()...)
	if got := check(t, c, a); len(got) > 0 || c.Begin() != (Begin{20, 50, 50}) {
		t.Errorf("%d differences; it begins at %+v", len(got), c.Begin())
	}
	if err := c.CommitBelow(t.Context(), blocks[:20]); err != nil {
		t.Fatal(err)
	}
	if got := check(t, c, a); len(got) > 0 {
		t.Errorf("%d differences, the first is %s", len(got), got[0])
	}
	rebuild(t, c, ownRows{c}, store.TableRollup)
	if c.Begin() != (Begin{0, 50, 0}) {
		t.Errorf("with metrics from genesis on it begins at %+v", c.Begin())
	}
	rebuild(t, c, a, c.Stale()...)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// TestBeginsFound: an index that was begun above its genesis block before that was
// kept finds out where.
func TestBeginsFound(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 86, Txs: 4}).Blocks(60)
	c := begun(t, blocks, 30)
	b, err := c.db.Batch()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Delete(c.places().rowKey(rowBegins)), b.Commit()); err != nil {
		t.Fatal(err)
	}
	c = reopen(t, c)
	if c.Begin() != (Begin{30, 30, 30}) {
		t.Errorf("it begins at %+v", c.Begin())
	}
	if err := c.CommitBelow(t.Context(), blocks[:30]); err != nil {
		t.Fatal(err)
	}
	if c = reopen(t, c); c.Begin() != (Begin{0, 30, 30}) {
		t.Errorf("it begins at %+v", c.Begin())
	}
}
