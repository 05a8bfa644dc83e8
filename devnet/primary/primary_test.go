package primary_test

import (
	"crypto/sha256"
	"slices"
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
)

// small is about the least number of blocks of a history.
const small = 600

func made(t testing.TB, blocks int, p world.Params) (*primary.Chain, *world.World) {
	t.Helper()
	w, err := world.New(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := primary.Make(primary.Config{World: w, Blocks: blocks})
	if err != nil {
		t.Fatal(err)
	}
	return c, w
}

func digest(c *primary.Chain) [sha256.Size]byte {
	h := sha256.New()
	h.Write(c.Genesis())
	for i, x := range c.Platform() {
		h.Write(x.ID[:])
		if i%16 == 0 { // signatures are the same each time
			h.Write(x.Bytes())
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func TestSeedDecidesEverything(t *testing.T) {
	t.Parallel()
	p := world.Params{Validators: 4, Seed: 3, L1s: 1}
	a, _ := made(t, small, p)
	b, _ := made(t, small, p)
	p.Seed = 4
	other, _ := made(t, small, p)
	if digest(a) != digest(b) || digest(a) == digest(other) {
		t.Errorf("%x, %x, with another seed %x", digest(a), digest(b), digest(other))
	}
}

// TestTip: at the end of the history, validators, weights, keys and the balances of L1
// validators are what the world says.
func TestTip(t *testing.T) {
	t.Parallel()
	for _, p := range []world.Params{
		{Validators: 5, Seed: 1, L1s: 2, L1Inactive: 1, L1Underfunded: 1},
		{Validators: 30, Seed: 2, L1s: 3, L1Members: 6, L1Own: 2, SharedKeys: 2, Keyless: 3, Weights: world.Zipf, L1Late: true},
		{Validators: 1, Seed: 3},
	} {
		c, w := made(t, small, p)
		want, err := w.At(0)
		if err != nil {
			t.Fatal(err)
		}
		checkTip(t, c, w, want)
		c, w = withHelicon(t, small, heliconBefore, p)
		checkTip(t, c, w, want)
	}
}

// checkTip compares the end of a history with the sets of the world.
func checkTip(t *testing.T, c *primary.Chain, w *world.World, want *world.Snapshot) {
	t.Helper()
	got := c.Sets(c.Height())
	for subnet, members := range want.Sets {
		equal := slices.EqualFunc(got[subnet], members, func(a, b world.Member) bool {
			return a.NodeID == b.NodeID && a.Weight == b.Weight && a.NoKey == b.NoKey && a.PublicKey == b.PublicKey
		})
		if !equal {
			t.Errorf("%+v: subnet %s has %d members, want %d", w.Params(), subnet, len(got[subnet]), len(members))
			for _, m := range got[subnet] {
				t.Log(m.NodeID, m.Weight, m.NoKey)
			}
		}
	}
	c.Read(func(s *primary.State) {
		if s.Time != uint64(w.GenesisTime().Unix()) {
			t.Errorf("the history ends at %d", s.Time)
		}
		for _, l := range w.L1s() {
			for _, m := range l.Members {
				v := s.L1Validators[m.ValidationID]
				if (v == nil) == w.Converted(l) || v != nil && (v.Balance(s.Accrued) != m.Balance || v.NodeID != m.NodeID) {
					t.Errorf("L1 validator %s: %+v, accrued %d, want balance %d", m.ValidationID, v, s.Accrued, m.Balance)
				}
			}
		}
	})
}

// TestBlocks: containers link, their headers are signed by who may, and a history
// however small has each kind of block and transaction.
func TestBlocks(t *testing.T) {
	t.Parallel()
	p := world.Params{Validators: 5, Seed: 1, L1s: 1}
	c, _ := made(t, small, p)
	checkBlocks(t, c, platform.KindDisableL1Validator)
	c, _ = withHelicon(t, small, heliconBefore, p)
	checkBlocks(t, c, platform.KindRewardAutoRenewedValidator)
}

// checkBlocks checks those of a history that has all kinds of transactions up to last.
func checkBlocks(t *testing.T, c *primary.Chain, last platform.TxKind) {
	t.Helper()
	genesis, err := platform.ParseGenesis(c.Genesis())
	if err != nil {
		t.Fatal(err)
	}
	first, err := platform.ParseBlock(c.First())
	if err != nil || first.Parent != genesis.ID || first.Height != 0 {
		t.Fatalf("block 0: %+v, %v", first, err)
	}
	seen, headers := map[string]int{}, map[proposer.Kind]int{}
	outer, inner := first.ID, first.ID
	for i, x := range c.Platform() {
		raw := x.Bytes()
		header, block, err := proposer.Open(raw, platform.ParseBlock)
		if err != nil {
			t.Fatal(err)
		}
		if block.Parent != inner || block.Height != uint64(i+1) || block.ID != x.BlockID || header != nil && (header.Parent != outer || header.ID != x.ID) {
			t.Fatalf("block %d: %+v %+v", i+1, block, header)
		}
		inner, outer = block.ID, x.ID
		if header != nil {
			headers[header.Kind]++
			if i%8 == 0 {
				if err := header.Verify(chain.PlatformChainID); err != nil {
					t.Fatalf("block %d: %v", i+1, err)
				}
			}
		}
		seen[block.Kind.String()]++
		for _, tx := range block.Txs {
			seen[tx.Body.Kind().String()]++
		}
	}
	if len(headers) != 3 {
		t.Errorf("headers %v", headers)
	}
	for _, k := range []platform.BlockKind{0, 1, 2, 3, 4, 29, 30, 31, 32} {
		if seen[k.String()] == 0 {
			t.Errorf("no %v", k)
		}
	}
	for k := platform.KindAddValidator; k <= last; k++ {
		if name := k.String(); seen[name] == 0 && name[0] >= 'A' && name[0] <= 'Z' {
			t.Errorf("no %v", k)
		}
	}
}
