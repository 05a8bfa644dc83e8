package primary

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	store "quorate/engine/store/index"
)

// TestCommitAhead: however groups are committed ahead and one by one, whatever fails in
// between and whoever else commits, the chain ends as one that nothing disturbed; what is
// not ready, or not landed, is not said to be there.
func TestCommitAhead(t *testing.T) {
	t.Parallel()
	list := blocks(1, 70)
	clean := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, clean, list)
	want := digest(t, clean)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			full, unready := errors.New("full"), errors.New("not ready")
			var refuse atomic.Int32 // so many writes go before one is refused; 0: none is
			db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true, Room: func() error {
				if refuse.Load() > 0 && refuse.Add(-1) == 0 {
					return full
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil { // no snapshot is left open
					t.Error(err)
				}
			})
			c := openTally(t, db, 1)
			refused := 0
			for next := 0; next < len(list); {
				c.limit.rows = []int{12, 40, 1000}[rnd.IntN(3)]
				c.limit.launch = []int{1, 500, 1 << 20}[rnd.IntN(3)]
				group := list[next:min(next+1+rnd.IntN(9), len(list))]
				ready := func() error { return nil }
				if seed > 0 && rnd.IntN(3) == 0 {
					refuse.Store(1 + rnd.Int32N(3))
				} else if seed > 0 && rnd.IntN(9) == 0 {
					ready = func() error { return unready }
				}
				switch rnd.IntN(6) {
				case 0:
					err = c.CommitAfter(t.Context(), group, ready)
				case 1:
					err = errors.Join(c.CommitAhead(t.Context(), group, ready), c.Land())
				case 2:
					err = errors.Join(c.CommitAhead(t.Context(), group, ready), c.Complete(t.Context(), nil, func() error { return nil }))
				default:
					err = c.CommitAhead(t.Context(), group, ready)
				}
				next += len(group)
				if next == len(list) {
					err = errors.Join(err, c.Land())
				}
				if err == nil {
					continue
				}
				if refused++; !errors.Is(err, full) && !errors.Is(err, unready) && !errors.Is(err, ErrOrder) {
					t.Fatal(err)
				}
				refuse.Store(0)
				_ = c.Land()
				head, _ := c.Cursor()
				next = int(head.Height)
				upTo := openTally(t, openDB(t, t.TempDir()), 1)
				commit(t, upTo, list[:next])
				if digest(t, c) != digest(t, upTo) {
					t.Fatalf("not what block %d leads to", next)
				}
			}
			if digest(t, c) != want {
				t.Error("another digest")
			}
			if again := openTally(t, db, 1); digest(t, again) != want {
				t.Error("another digest after a restart")
			}
			if (refused > 0) != (seed > 0) {
				t.Errorf("%d commits failed", refused)
			}
		})
	}
}

// TestAheadStays: a block that the machine refuses leaves those of the calls before it,
// and what was begun is not written before it is ready.
func TestAheadStays(t *testing.T) {
	t.Parallel()
	list := blocks(1, 40)
	bad := *list[30].Platform
	bad.Size = -1
	with := slices.Clone(list)
	with[30] = &Block{Chain: PChain, Platform: &bad}
	c := openTally(t, openDB(t, t.TempDir()), 1)
	ready := func() error { return nil }
	if err := c.CommitAhead(t.Context(), with[:10], ready); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	wait := func() error {
		<-gate
		return nil
	}
	if err := c.CommitAhead(t.Context(), with[10:20], wait); err != nil { // its rows are made, and wait
		t.Fatal(err)
	}
	if head, _ := c.Cursor(); head.Height >= 20 {
		t.Errorf("block %d is there, and was not ready", head.Height)
	}
	close(gate)
	if err := c.CommitAhead(t.Context(), with[20:], ready); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if head, _ := c.Cursor(); head.Height != 30 {
		t.Errorf("at block %d", head.Height)
	}
	if err := c.Land(); err != nil {
		t.Error(err)
	}
	commit(t, c, list[30:])
	clean := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, clean, list)
	if digest(t, c) != digest(t, clean) {
		t.Error("another digest")
	}
}
