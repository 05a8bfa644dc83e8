package primary_test

import (
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
)

// TestGrow: the chains go on as they began, and the world's heights and sets follow.
func TestGrow(t *testing.T) {
	t.Parallel()
	c, w := made(t, small, world.Params{Validators: 5, Seed: 1, L1s: 2, L1Late: true, L1Inactive: 1})
	w.Follow(c)
	base, late := w.Height(), w.L1s()[1]
	if base != uint64(len(c.Platform())) || w.Converted(late) || !w.Converted(w.L1s()[0]) || w.Epoch(w.CChainID()).Height != base {
		t.Fatalf("height %d, converted %v, epoch %+v", base, w.Converted(late), w.Epoch(w.CChainID()))
	}
	xs := len(c.AVM())
	for range 3000 {
		c.Grow(60)
	}
	if err := c.Err(); err != nil || w.Height() < base+3000 || len(c.AVM()) < xs+1000 {
		t.Fatalf("height %d after %d, %d X-blocks after %d: %v", w.Height(), base, len(c.AVM()), xs, err)
	}
	rewards := 0
	for _, x := range c.Platform()[base:] {
		b, err := platform.ParseBlock(x.Block)
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == platform.BanffProposal {
			rewards++
		}
	}
	if rewards < 10 {
		t.Errorf("%d stakers ended", rewards)
	}
	if h := w.Convert(late); h != w.Height() || !w.Converted(late) || w.Convert(late) != h {
		t.Errorf("converted at %d of %d: %v", h, w.Height(), w.Converted(late))
	}
	tip := at(t, w, w.Height())
	if n := len(tip.Sets[chain.PrimaryNetworkID]); n != 5 {
		t.Errorf("%d validators", n)
	}
	if n := len(tip.Sets[late.SubnetID]); n != len(late.Members) { // the inactive are one
		t.Errorf("%d validators of the L1", n)
	}
	for height, want := range map[uint64]int{0: 5, 1: 5} { // the founders
		if n := len(at(t, w, height).Sets[chain.PrimaryNetworkID]); n != want {
			t.Errorf("height %d: %d validators", height, n)
		}
	}
	if _, err := w.At(w.Height() + 1); err == nil {
		t.Error("a set of a height that is not reached")
	}
	var _ world.Ledger = (*primary.Chain)(nil)
}

func at(t *testing.T, w *world.World, height uint64) *world.Snapshot {
	t.Helper()
	s, err := w.At(height)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
