package index

import (
	"errors"
	"slices"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// falsify returns a copy of a block in which a node lies about everything that no hash
// covers.
func falsify(b *evm.Block) *evm.Block {
	cp := *b
	cp.Txs, cp.Balances = slices.Clone(b.Txs), slices.Clone(b.Balances)
	for i := range cp.Txs {
		t := &cp.Txs[i]
		if t.Calls = slices.Clone(t.Calls); len(t.Calls) > 0 {
			t.Calls[0].To[3]++
			t.Calls[len(t.Calls)-1].GasUsed++
			t.Calls = append(t.Calls, evm.Call{Type: evm.CallCreate2, From: evm.Address{9}, To: evm.Address{8, 19: byte(i)}})
		}
	}
	for i := range cp.Balances {
		cp.Balances[i].Wei.AddUint64(&cp.Balances[i].Wei, 1)
	}
	if n := len(cp.Balances); n > 1 {
		cp.Balances[0].Address[5]++
		cp.Balances = cp.Balances[:n-1]
	}
	return &cp
}

// Blocks of which a node told false calls and balances leave nothing of that in the
// database once they are revised, also when that ended half way and was done again.
func TestRevise(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 91, Txs: torture.Watched(2, 4), Full: true}).Blocks(60)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 60)
	c := openChain(t, Options{})
	given := slices.Clone(blocks)
	var list []Revision
	for n := 20; n < 40; n++ {
		given[n] = falsify(blocks[n])
		list = append(list, Revision{given[n], blocks[n]})
	}
	commit(t, c, given, 7)
	version := c.TokenVersion()
	stopped := errors.New("power cut")
	if err := c.Revise(t.Context(), list[:9], func() error { return stopped }); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	kept := false
	if err := c.Revise(t.Context(), list, func() error {
		if kept = true; c.rebuilding.TryLock() {
			t.Error("tables may be made of blocks that are not kept yet")
		}
		return nil
	}); err != nil || !kept {
		t.Fatal(kept, err)
	}
	if c.TokenVersion() == version {
		t.Error("what was kept of answers is still good")
	}
	compare(t, at(t, c, nil), recompute(blocks, 59), 20)
	stale := c.Stale()
	if _, _, err := c.RollupState(); err != nil || len(stale) == 0 {
		t.Errorf("%v are stale: %v", stale, err)
	}
	rebuild(t, c, &archive{blocks: blocks}, stale...)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// What does not fit the indexed block is refused, and changes nothing.
func TestReviseRefuses(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 92, Txs: 4, Full: true}).Blocks(20)
	c := openChain(t, Options{})
	keep := func() error {
		t.Error("kept")
		return nil
	}
	if err := c.Revise(t.Context(), nil, keep); !errors.Is(err, ErrEmpty) {
		t.Error("an empty chain:", err)
	}
	commit(t, c, blocks, 20)
	want := digest(t, c)
	other, bare := *blocks[9], *blocks[9]
	other.Hash[0]++
	bare.Traced = false
	for name, r := range map[string]Revision{
		"another block": {&other, &other}, "two blocks": {blocks[9], &other}, "without a trace": {blocks[9], &bare},
	} {
		if err := c.Revise(t.Context(), []Revision{r}, keep); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if digest(t, c) != want {
		t.Error("it left traces")
	}
}
