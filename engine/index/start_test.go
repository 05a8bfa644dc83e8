package index

import (
	"errors"
	"testing"

	"quorate/engine/index/indextest"
)

// TestStartAt: a chain whose first blocks nobody has begins above them: its lists are
// those from there on, its metrics go on with each block, and it is rebuilt from there.
func TestStartAt(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 6}).Blocks(80)
	c := openChain(t, Options{})
	if err := c.Commit(t.Context(), blocks[50:51]); !errors.Is(err, ErrOrder) {
		t.Errorf("a chain that begins at block 50: %v", err)
	}
	c.StartAt(50)
	commit(t, c, blocks[50:], 7)
	if _, _, err := c.RollupState(); err != nil {
		t.Errorf("metrics: %v", err)
	}
	v, err := c.At(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	txs := 0
	for _, b := range blocks[50:] {
		txs += len(b.Txs)
		n := 0
		if _, err := v.BlockTxs(b.Number, Page{Limit: 100}, func(*Tx) bool { n++; return true }); err != nil || n != len(b.Txs) {
			t.Errorf("block %d: %d transactions, %v", b.Number, n, err)
		}
	}
	n := 0
	if _, err := v.LatestTxs(Page{Limit: 1000, To: 80}, nil, func(*Tx) bool { n++; return true }); err != nil || n != txs {
		t.Errorf("%d transactions, %v; want %d", n, err, txs)
	}
	want, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Rebuild(t.Context(), &archive{blocks: blocks}, Tables(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Digest(t.Context()); err != nil || got != want {
		t.Errorf("rebuilt it is another one: %v", err)
	}
}
