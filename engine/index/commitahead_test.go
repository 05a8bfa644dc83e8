package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

func ready() error { return nil }

// TestCommitAhead: however groups are committed ahead and one by one, and whatever fails
// in between, the chain ends as one that nothing disturbed, and nothing shows before it is
// committed.
func TestCommitAhead(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 91, Txs: 5}).Blocks(80)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 30)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(91, seed))
			full := errors.New("full")
			var refuse atomic.Int32 // so many writes go before one is refused; 0: none is
			db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 16, IndexCacheMB: 8, Room: func() error {
				if refuse.Load() > 0 && refuse.Add(-1) == 0 {
					return full
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			told, refused := 0, 0
			c, err := Open(db, chain.ID{1}, Options{Wrapped: clean.opts.Wrapped, Remember: 50, OnSeen: func(tokens []SeenToken, _ []SeenNFT) { told += len(tokens) }})
			if err != nil {
				t.Fatal(err)
			}
			for next := 0; next < len(blocks); {
				group := blocks[next:min(next+1+rnd.IntN(7), len(blocks))]
				if seed > 0 && rnd.IntN(3) == 0 {
					refuse.Store(1 + rnd.Int32N(3))
				}
				switch rnd.IntN(5) {
				case 0:
					err = c.Commit(t.Context(), group)
				case 1:
					err = errors.Join(c.CommitAhead(t.Context(), group, ready), c.Land())
				default:
					err = c.CommitAhead(t.Context(), group, ready)
				}
				next += len(group)
				if len(blocks) == next {
					err = errors.Join(err, c.Land())
				}
				if err != nil {
					if refused++; !errors.Is(err, full) && !errors.Is(err, ErrOrder) {
						t.Fatal(err)
					}
					_ = c.Land() // as the next commit would
					next = 0
					if n, _, ok := c.Cursor(); ok {
						next = int(n) + 1
					}
				}
			}
			if digest(t, c) != digest(t, clean) {
				t.Error("the digests differ")
			}
			if seen := all(t, Page{Limit: 100}, at(t, c, nil).SeenTokens); told < len(seen) || len(seen) == 0 {
				t.Errorf("told of %d tokens, there are %d", told, len(seen))
			}
			if (refused > 0) != (seed > 0) {
				t.Errorf("%d commits failed", refused)
			}
		})
	}
}

// TestAheadShowsNothing: what is made and not committed shows in no view, also when
// another chain commits in between; and a commit waits for it.
func TestAheadShowsNothing(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 92, Txs: 12}).Blocks(60)
	c := openChain(t, Options{})
	commit(t, c, blocks[:40], 10)
	before := digest(t, c)
	rows := new(load)
	w, cur, first := c.writer(t.Context())
	w.load, w.marked = rows, func() {}
	w.later = func(b *store.Batch) error { // as after a crash between the two
		b.Discard()
		s := rows.end()
		return s.load(t.Context(), c.db, nil)
	}
	if err := c.maker.group(t.Context(), blocks[40:50], cur, first, w); err != nil {
		t.Fatal(err)
	}
	if digest(t, c) != before {
		t.Error("rows show before a commit")
	}
	if err := c.putRows(row{c.meta().key(store.TableTokenMeta), nil}); err != nil { // now they are there
		t.Fatal(err)
	}
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, at(t, again, nil), recompute(blocks[:40], 39), 20)
	for i, n := range []int{44, 52, 60} {
		if err := again.CommitAhead(t.Context(), blocks[[]int{40, 44, 52}[i]:n], ready); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := again.Cursor(); n != 59 {
		t.Errorf("the cursor is at %d", n)
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 60)
	if digest(t, again) != digest(t, clean) {
		t.Error("the digests differ")
	}
}
