package index

import (
	"context"
	"errors"
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// fork returns blocks whose last ones are others than those of the chain.
func fork(blocks []*evm.Block, at int) []*evm.Block {
	other := indextest.New(indextest.Config{Seed: 999, Txs: 8, Full: true}).Blocks(len(blocks) - at + 1)[1:]
	list := slices.Clone(blocks[:at])
	for i, b := range other {
		cp := *b
		cp.Number, cp.Parent = uint64(at+i), list[len(list)-1].Hash
		cp.TimeMilli = blocks[at-1].TimeMilli + uint64(i)*1000
		list = append(list, &cp)
	}
	return list
}

// A chain that goes back leaves nothing of the blocks that were given up: with the
// right ones it becomes what it would have been, whatever the size of a group was.
func TestRewind(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 81, Txs: 6, Full: true}).Blocks(30)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 50)
	for _, to := range []int{25, 0, 29} {
		c := openChain(t, Options{Remember: 30})
		wrong := fork(blocks, to+1)
		commit(t, c, wrong, 11)
		if to < 29 && digest(t, c) == digest(t, clean) {
			t.Fatal("the wrong blocks are the right ones")
		}
		a := &archive{blocks: wrong}
		if err := c.Rewind(t.Context(), a, uint64(to)); err != nil {
			t.Fatal(err)
		}
		if n, hash, _ := c.Cursor(); n != uint64(to) || hash != blocks[to].Hash {
			t.Fatalf("cursor at %d, %s", n, hash)
		}
		v := at(t, c, nil)
		mustBeBelow(t, v, store.TableBlocks)
		mustBeBelow(t, v, store.TableTxs)
		v.Close()
		commit(t, c, blocks[to+1:], 7)
		compare(t, at(t, c, nil), recompute(blocks, 29), 20)
		rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
		if digest(t, c) != digest(t, clean) || len(c.Stale()) > 0 {
			t.Errorf("back to %d: the digests differ, or %v are stale", to, c.Stale())
		}
	}
}

// mustBeBelow fails if a table that is sorted by height has a row above the view's.
func mustBeBelow(t *testing.T, v *View, table Table) {
	t.Helper()
	rows, err := v.s.Rows(v.at.key(byte(table)), false)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Seek(v.at.key(byte(table)).u64(v.tip.Number + 1)); rows.Valid() {
		t.Errorf("%s has row %x", table, rows.Key())
	}
}

// A rewind that ended half way goes on when it is called again.
func TestRewindGoesOn(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 82, Txs: 4, Full: true}).Blocks(60)
	c := openChain(t, Options{})
	wrong := fork(blocks, 31)
	commit(t, c, wrong, 20)
	for end := uint64(55); end > 30; end -= 6 {
		a := &archive{blocks: wrong, before: func(n uint64) error {
			if n == end {
				return errStopped
			}
			return nil
		}}
		if err := c.Rewind(t.Context(), a, 30); !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		if n, hash, _ := c.Cursor(); n != end || hash != wrong[end].Hash {
			t.Fatalf("cursor at %d, %s", n, hash)
		}
		again, err := Open(c.db, c.id, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		c = again
	}
	if err := c.Rewind(t.Context(), &archive{blocks: blocks}, 30); !errors.Is(err, ErrOrder) {
		t.Error("with other blocks:", err)
	}
	if err := c.Rewind(t.Context(), &archive{blocks: wrong}, 30); err != nil {
		t.Fatal(err)
	}
	commit(t, c, blocks[31:], 10)
	rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 50)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// What is being made again ends when the chain goes back, and starts over.
func TestRewindEndsRebuild(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 83, Txs: 4, Full: true}).Blocks(100)
	wrong := fork(blocks, 90)
	c := openChain(t, Options{})
	c.groupTxs, c.within = 15, 20
	commit(t, c, wrong, 50)
	begun, rewound := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		rewound <- c.Rewind(context.Background(), &archive{blocks: wrong}, 89)
	}()
	first := true
	err := c.Rebuild(t.Context(), &archive{blocks: wrong, before: func(n uint64) error {
		if n == 60 && first {
			first = false
			close(begun)
			for c.rewinds.Load() == 0 { // it asks until the rewind has begun
				if err := t.Context().Err(); err != nil {
					return err
				}
			}
		}
		return nil
	}}, Tables(), nil)
	if !errors.Is(err, errRewound) {
		t.Errorf("the rebuild ended with %v", err)
	}
	if err := <-rewound; err != nil {
		t.Fatal(err)
	}
	commit(t, c, blocks[90:], 10)
	rebuild(t, c, &archive{blocks: blocks}, Tables()...)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 50)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}
