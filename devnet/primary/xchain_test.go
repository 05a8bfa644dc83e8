package primary_test

import (
	"slices"
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
	"quorate/engine/chain/utxo"
)

// TestVertices: a vertex follows its parents, the stop vertex ends what none names,
// and the first block follows it.
func TestVertices(t *testing.T) {
	t.Parallel()
	c, w := made(t, small, world.Params{Validators: 3, Seed: 7})
	heights, unnamed := map[chain.ID]uint64{}, map[chain.ID]bool{}
	seen, wide := map[any]int{}, 0
	for i, x := range c.Vertices() {
		v, err := avm.ParseVertex(x.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		height, sorted := uint64(0), slices.IsSortedFunc(v.Parents, func(a, b chain.ID) int { return slices.Compare(a[:], b[:]) })
		for _, p := range v.Parents {
			h, known := heights[p]
			if !known {
				t.Fatalf("vertex %d: unknown parent %s", i, p)
			}
			height = max(height, h+1)
			delete(unnamed, p)
		}
		if v.Stop != (i+1 == len(c.Vertices())) || v.Height != height || v.ID != x.ID || v.ChainID != w.XChainID() || !sorted {
			t.Fatalf("vertex %d: %+v, want height %d", i, v, height)
		}
		if wide = max(wide, len(v.Parents)); v.Stop && len(unnamed) > 0 {
			t.Errorf("%d vertices are not before the stop vertex", len(unnamed))
		}
		heights[v.ID], unnamed[v.ID] = v.Height, true
		count(seen, v.Txs)
	}
	if wide < 2 {
		t.Error("no vertex has two parents")
	}
	blocks(t, c, w, seen)
	for _, k := range []any{
		avm.KindBase, avm.KindCreateAsset, avm.KindOperation, avm.KindImport, avm.KindExport, utxo.MintOperation,
		utxo.NFTMintOperation, utxo.NFTTransferOperation, utxo.PropertyMintOp, utxo.PropertyBurnOp,
	} {
		if seen[k] == 0 {
			t.Errorf("no transaction or operation of kind %v", k)
		}
	}
}

// blocks checks those of the X-Chain.
func blocks(t *testing.T, c *primary.Chain, w *world.World, seen map[any]int) {
	t.Helper()
	stop := c.Vertices()[len(c.Vertices())-1]
	first, err := avm.ParseBlock(c.XFirst())
	if err != nil || first.Parent != stop.ID || first.Height != 0 {
		t.Fatalf("block 0: %+v, %v", first, err)
	}
	inner, outer := first.ID, first.ID
	for i, x := range c.AVM() {
		h, b, err := proposer.Open(x.Bytes(), avm.ParseBlock)
		if err != nil {
			t.Fatal(err)
		}
		if h == nil || h.Parent != outer || b.Parent != inner || b.Height != uint64(i+1) || b.Time > uint64(h.Time) {
			t.Fatalf("block %d: %+v %+v", i+1, h, b)
		}
		if err := h.Verify(w.XChainID()); err != nil && i%8 == 0 {
			t.Fatalf("block %d: %v", i+1, err)
		}
		inner, outer = b.ID, h.ID
		count(seen, b.Txs)
	}
}

func count(seen map[any]int, txs []avm.Tx) {
	for _, tx := range txs {
		seen[tx.Body.Kind()]++
		if op, ok := tx.Body.(*avm.Operate); ok {
			seen[op.Operations[0].Kind]++
		}
	}
}

// TestMoney: no AVAX appears or vanishes, but for what is burned, staked, put into
// validators of L1s or on its way to another chain.
func TestMoney(t *testing.T) {
	t.Parallel()
	p := world.Params{Validators: 5, Seed: 8, L1s: 1, L1Inactive: 1}
	c, w := made(t, small, p)
	money(t, c, w)
	c, w = withHelicon(t, small, heliconBefore, p)
	money(t, c, w)
	for range 600 {
		c.Grow(1000)
	}
	money(t, c, w)
}

func money(t *testing.T, c *primary.Chain, w *world.World) {
	t.Helper()
	g, err := platform.ParseGenesis(c.Genesis())
	if err != nil {
		t.Fatal(err)
	}
	start := uint64(world.Accounts * world.XGenesisAmount)
	for i := range g.UTXOs {
		start += g.UTXOs[i].Amount
	}
	for i := range g.Validators {
		start += g.Validators[i].Body.(*platform.AddValidator).Weight
	}
	end, burned := uint64(0), uint64(0)
	sum := func(list map[utxo.Ref]*utxo.UTXO, exported map[chain.ID][]utxo.UTXO) {
		for _, u := range list {
			if u.Asset == w.AssetID() {
				end += u.Amount
			}
		}
		for _, list := range exported {
			for _, u := range list {
				if u.Asset == w.AssetID() {
					end += u.Amount
				}
			}
		}
	}
	c.Read(func(s *primary.State) {
		sum(s.UTXOs, s.Exported)
		for _, x := range s.Stakers {
			if (x.Status == primary.Current || x.Status == primary.Pending) && !x.Permissioned && x.Subnet == chain.PrimaryNetworkID {
				end += x.Weight
				if x.Renewal != nil {
					start += x.Renewal.Accrued + x.Renewal.AccruedFees
				}
			}
			for _, r := range x.Rewards {
				if r.Asset == w.AssetID() {
					start += r.Amount
				}
			}
		}
		burned = s.Burned + s.Deposited
	})
	c.ReadX(func(x *primary.XState) { sum(x.UTXOs, x.Exported); burned += uint64(len(x.Txs)) * 1_000_000 })
	if diff := int64(start - end - burned); diff != 0 {
		t.Errorf("%d nAVAX at the start and by rewards, %d at the end, %d burned: %d are missing", start, end, burned, diff)
	}
}
