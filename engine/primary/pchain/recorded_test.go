package pchain_test

import (
	"os"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// A real network's blocks are taken without its genesis, which no node returns. What
// they say is there, and what does not follow from them is left out.
func TestRecorded(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../chain/platform/testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []*primary.Block
	chaintest.Recorded(t, raw, func(_ chain.ID, e *chaintest.Container) {
		b, err := primary.Parse(primary.PChain, e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	})
	c := open(t, openDB(t, t.TempDir()), pchain.Config{Network: 12345})
	commit(t, c, blocks)
	v := view(t, c)
	if _, known := v.Supply(); known || v.Exact() {
		t.Error("a supply that nobody knows")
	}
	last := blocks[len(blocks)-1]
	if got, found, err := v.Block(last.Outer); err != nil || !found || got.ID != last.ID() || got.Supply != nil || got.Proposer == nil {
		t.Errorf("got %+v, %v, %v", got, found, err)
	}
	subnets, txs := 0, 0
	if _, err := v.Subnets(primary.Page{Limit: 100}, func(s *primary.Subnet) bool {
		subnets++
		return true
	}); err != nil || subnets == 0 {
		t.Errorf("%d subnets, %v", subnets, err)
	}
	for _, b := range blocks {
		for i := range b.Platform.Txs {
			txs++
			if got, found, err := v.Tx(b.Platform.Txs[i].ID); err != nil || !found || got.Height != b.Platform.Height {
				t.Errorf("transaction %s: %v, %v", b.Platform.Txs[i].ID, found, err)
			}
		}
	}
	if txs < 10 {
		t.Errorf("%d transactions", txs)
	}
}
