package index

import (
	"errors"
	"slices"
	"testing"

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
// database, whether the index goes back below them or has all its tables made again, also
// when that ended half way and was done again. Rows are served in the meantime.
func TestFalsified(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 91, Txs: 4, Full: true}).Blocks(60)
	given := slices.Clone(blocks)
	for n := 20; n < 40; n++ {
		given[n] = falsify(blocks[n])
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 60)
	for name, correct := range map[string]func(c *Chain, a *archive, keep func() error) error{
		"back": func(c *Chain, a *archive, keep func() error) error {
			return errors.Join(c.Rewind(t.Context(), a, 19), keep(), c.Commit(t.Context(), blocks[20:]))
		},
		"distrusted": func(c *Chain, _ *archive, keep func() error) error { return c.Distrust(keep) },
	} {
		t.Run(name, func(t *testing.T) {
			c := openChain(t, Options{})
			commit(t, c, given, 7)
			if digest(t, c) == digest(t, clean) {
				t.Fatal("the lies leave no trace")
			}
			a := &archive{blocks: given}
			if name == "distrusted" {
				stopped := errors.New("power cut")
				if err := c.Distrust(func() error { return stopped }); !errors.Is(err, stopped) {
					t.Fatal(err)
				}
			}
			if err := correct(c, a, func() error {
				if name == "distrusted" && c.rebuilding.TryLock() {
					t.Error("tables may be made of blocks that are not kept yet")
				}
				a.blocks = blocks
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			again, err := Open(c.db, c.id, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if again.Distrusted() != (name == "distrusted") || again.Distrusted() && len(again.Stale()) != len(Tables()) {
				t.Errorf("distrusted: %v, stale: %v", again.Distrusted(), again.Stale())
			}
			v := at(t, again, nil)
			if _, found, err := v.Block(30); err != nil || !found {
				t.Error("no rows are served:", err)
			}
			v.Close()
			rebuild(t, again, a, again.Stale()...)
			if digest(t, again) != digest(t, clean) || again.Distrusted() || len(again.Stale()) > 0 {
				t.Errorf("the digests differ, or %v are stale", again.Stale())
			}
		})
	}
}

// An index without blocks has no tables to make again.
func TestDistrustEmpty(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	if err := c.Distrust(func() error { return nil }); err != nil || c.Distrusted() || len(c.Stale()) > 0 {
		t.Error(err, c.Stale())
	}
}
