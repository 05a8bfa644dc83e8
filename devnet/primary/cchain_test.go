package primary_test

import (
	"testing"
	"time"

	"quorate/devnet/evmchain"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/proposer"
)

// TestCore: the C-Chain's containers are its blocks as consensus has them, signed by
// validators, and grow with it.
func TestCore(t *testing.T) {
	t.Parallel()
	c, w := made(t, small, world.Params{Validators: 3, Seed: 1})
	if c.Core() != nil {
		t.Error("containers without a C-Chain")
	}
	e, err := evmchain.New(evmchain.Config{
		ID: w.CChainID(), EVMChainID: 43112, NetworkID: world.NetworkID, Atomic: true, PeerChain: w.XChainID(), AssetID: w.AssetID(),
		Seed: w.ChainSeed(w.CChainID()), Blocks: 60, TxsPerBlock: 2, End: w.GenesisTime(), HistoryInterval: 8 * time.Hour,
		BlockInterval: time.Second, Emitter: w.Emitter(), Message: w.Message, FirstMessage: 100, Messages: 200,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Attach(e)
	before := len(c.Core())
	e.Advance()
	if n := len(c.Core()); before != 60 || n != 61 {
		t.Fatalf("%d containers, then %d", before, n)
	}
	inner, outer, kinds := chain.ID(e.Hash(0)), chain.ID(e.Hash(0)), map[proposer.Kind]bool{}
	parse := func(raw []byte) (chain.ID, error) {
		b, err := consensus.ParseBlock(raw)
		if err != nil {
			return chain.ID{}, err
		}
		var h consensus.Header
		if err := h.Parse(b.Header); err != nil {
			return chain.ID{}, err
		}
		if chain.ID(h.Parent) != inner {
			t.Errorf("parent %s, want %s", h.Parent, inner)
		}
		return chain.ID(evm.Keccak(b.Header)), b.Check(&h)
	}
	for i, x := range c.Core() {
		h, id, err := proposer.Open(x.Bytes(), parse)
		if err != nil || h == nil || h.Parent != outer || h.ID != x.ID || id != chain.ID(e.Hash(uint64(i+1))) || id != x.BlockID {
			t.Fatalf("container %d: %+v, %v", i, h, err)
		}
		if err := h.Verify(w.CChainID()); err != nil {
			t.Errorf("container %d: %v", i, err)
		}
		kinds[h.Kind], inner, outer = true, id, h.ID
	}
	if !kinds[proposer.Plain] && !kinds[proposer.Granite] {
		t.Errorf("kinds %v", kinds)
	}
}
