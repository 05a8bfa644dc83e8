package index

import (
	"errors"
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	"quorate/rollup"
)

// heldOf returns a chain's buckets, the newest first, without those of a block and
// after.
func heldOf(t *testing.T, whole *Chain, i rollup.Interval, before *evm.Block) []numbered {
	t.Helper()
	list := series(t, whole, i)
	s, _, err := whole.RollupState()
	if err != nil {
		t.Fatal(err)
	}
	first, last, _ := s.Bounds(i)
	open := i.Number(before.TimeMilli / 1000)
	if open <= first {
		return nil
	}
	return list[last+1-min(open, last+1):]
}

// After a rewind the metrics of all hours, days, weeks and months before the last block
// that was kept are served, as they are in the end, and no others, until all are made
// again: while the chain grows, when it goes back again and after a new start.
func TestHeldMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	blocks := years(91, 120)
	c, clean := openChain(t, Options{}), openChain(t, Options{})
	commit(t, clean, blocks, 50)
	wrong := fork(blocks, 81)
	commit(t, c, wrong, 30)
	check := func(what string, to int) {
		t.Helper()
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			if got, want := series(t, c, i), heldOf(t, clean, i, blocks[to]); len(want) == 0 || !slices.Equal(got, want) {
				t.Fatalf("%s: %d buckets of the %s hold, want %d", what, len(got), i, len(want))
			}
		}
		if height, ok := c.Held(); !ok || height != uint64(to) {
			t.Errorf("%s: metrics hold up to %d, %v, want %d", what, height, ok, to)
		}
	}
	rewind := func(of []*evm.Block, to int) {
		t.Helper()
		if err := c.Rewind(t.Context(), &archive{blocks: of}, uint64(to)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := c.Held(); ok {
		t.Error("metrics are held before anything was given up")
	}
	rewind(wrong, 80)
	check("at once", 80)
	commit(t, c, blocks[81:110], 20)
	check("as the chain grows", 80)
	rewind(blocks, 100)
	check("back to a block above", 80)
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	c = again
	check("after a new start", 80)
	rewind(blocks, 60)
	check("back to a block below", 60)
	commit(t, c, blocks[61:], 20)
	rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
	for range 2 {
		if _, ok := c.Held(); ok || digest(t, c) != digest(t, clean) {
			t.Error("made again they are not those of a chain that never went back")
		}
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			mustEqual(t, "made again", series(t, c, i), series(t, clean, i))
		}
		if c, err = Open(c.db, c.id, c.opts); err != nil {
			t.Fatal(err)
		}
	}
}

// A chain that goes back to its first block has no metrics that hold, and one that has
// none made has none either.
func TestNothingHeld(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 92, Txs: 4}).Blocks(40)
	c, bare := openChain(t, Options{}), openChain(t, Options{NoRollup: true})
	for _, c := range []*Chain{c, bare} {
		commit(t, c, blocks, 50)
		if err := c.Rewind(t.Context(), &archive{blocks: blocks}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := series(t, c, rollup.Hour); len(got) > 0 {
		t.Errorf("%d hours hold", len(got))
	}
	if _, _, err := bare.RollupState(); !errors.Is(err, ErrRollup) {
		t.Errorf("metrics that were never made: %v", err)
	}
}
