package pchain_test

import (
	"errors"
	"fmt"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// Without the genesis, and from whatever block on, blocks are taken, and what is there
// then is what there is with it.
func TestUnknown(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	all := view(t, c)
	cfg := h.cfg
	cfg.Genesis = nil
	for _, from := range []int{61, len(h.blocks) - 40, 0, 62, 400} {
		part := open(t, openDB(t, t.TempDir()), cfg)
		commit(t, part, h.blocks[from:])
		v := view(t, part)
		if _, known := v.Supply(); known || v.Exact() || v.First() != uint64(from+1) {
			t.Errorf("from %d: a supply that nobody knows", from)
		}
		if _, ok, err := v.ValidatorsAt(chain.PrimaryNetworkID, v.Tip().Height); ok || err != nil {
			t.Errorf("from %d: a validator set that nobody knows: %v", from, err)
		}
		if err := v.EachOutput(func(u *primary.Output) {
			with, found, err := all.Output(u.Ref.ID())
			if err != nil || !found || with.State != u.State && u.State != primary.Staked || with.Amount != u.Amount || u.Known && fmt.Sprint(with.Owners) != fmt.Sprint(u.Owners) {
				t.Errorf("from %d: output %+v, want %+v, %v", from, u, with, err)
			}
		}); err != nil {
			t.Error(err)
		}
		fees, _, known := v.L1Fees()
		if want, _, _ := all.L1Fees(); known && fees != want || known != (h.blocks[from].Platform.Time < h.cfg.Upgrades.Etna) {
			t.Errorf("from %d: fees %+v, %v, want %+v", from, fees, known, want)
		}
		if _, err := v.L1Validators(&primary.L1Filter{Inactive: true}, primary.Page{Limit: 1e6}, func(one *primary.L1Validator) bool {
			want, found, err := all.L1Validator(one.ValidationID)
			if err != nil || !found || known && fmt.Sprint(one) != fmt.Sprint(want) || !known && one.Balance != 0 {
				t.Errorf("from %d: got %+v, want %+v, %v", from, one, want, err)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	}
}

// forged returns a standard block behind the last one, at its time.
func forged(h *history, after int, txs ...platform.Tx) *primary.Block {
	last := h.blocks[after-1].Platform
	b := &platform.Block{Kind: platform.BanffStandard, Parent: last.ID, Height: last.Height + 1, Time: last.Time, Txs: txs}
	b.ID[0] = 1
	return &primary.Block{Chain: primary.PChain, Platform: b}
}

// What consensus would have refused is an error that names the block, and changes
// nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	c := whole(t, h, openDB(t, t.TempDir()))
	n := len(h.blocks)
	if h.blocks[n-1].Platform.Kind.Proposal() {
		t.Fatal("the history ends with a proposal")
	}
	before, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(what string, b *primary.Block) {
		t.Helper()
		if err := c.Commit(t.Context(), []*primary.Block{b}); !errors.Is(err, pchain.ErrRefused) {
			t.Errorf("%s: got %v", what, err)
		}
		if after, err := c.Digest(t.Context()); err != nil || after != before {
			t.Errorf("%s: rows have changed: %v", what, err)
		}
	}
	kinds := map[platform.TxKind]bool{}
	for _, b := range h.blocks {
		for i := range b.Platform.Txs {
			tx := &b.Platform.Txs[i]
			// Each has been executed before: what it spends is spent.
			if kind := tx.Body.Kind(); !kinds[kind] && tx.Body.Funds() != nil {
				kinds[kind] = true
				refuse("again "+kind.String(), forged(h, n, *tx))
			}
		}
	}
	if len(kinds) < 14 {
		t.Errorf("transactions of %d kinds", len(kinds))
	}
	var in utxo.Input
	if err := view(t, c).EachOutput(func(u *primary.Output) {
		if u.State == primary.Unspent && u.StakeLock == 0 {
			in = utxo.Input{Ref: u.Ref, Asset: u.Asset, Amount: u.Amount}
		}
	}); err != nil {
		t.Fatal(err)
	}
	more := utxo.Output{Asset: in.Asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: in.Amount + 1}}
	refuse("more than is spent", forged(h, n, platform.Tx{Body: &platform.Base{Base: utxo.Base{Inputs: []utxo.Input{in}, Outputs: []utxo.Output{more}}}}))
	option := forged(h, n)
	option.Platform.Kind = platform.BanffCommit
	refuse("an option of nothing", option)
	back := forged(h, n)
	back.Platform.Time--
	refuse("time that goes back", back)
	far := forged(h, n)
	far.Platform.Time += 1 << 32
	refuse("time that passes over stakers", far)
	empty := forged(h, n)
	empty.Platform.Kind = platform.BanffProposal
	refuse("a proposal of nothing", empty)
	early := platform.Tx{Body: &platform.RewardValidator{TxID: nextToEnd(t, c)}}
	proposal := forged(h, n, early)
	proposal.Platform.Kind = platform.BanffProposal
	commit(t, c, []*primary.Block{proposal})
	commits := &primary.Block{Chain: primary.PChain, Platform: &platform.Block{
		Kind: platform.BanffCommit, Parent: proposal.Platform.ID, Height: proposal.Platform.Height + 1, Time: proposal.Platform.Time,
	}}
	if err := c.Commit(t.Context(), []*primary.Block{commits}); !errors.Is(err, pchain.ErrRefused) {
		t.Errorf("a reward before the end: got %v", err)
	}
}

// nextToEnd returns the staker whose end comes next, and is rewarded then.
func nextToEnd(t *testing.T, c *pchain.Chain) (id chain.ID) {
	t.Helper()
	f, first := &primary.StakerFilter{Status: primary.Active, AnyKind: true}, ^uint64(0)
	if _, err := view(t, c).Stakers(f, primary.Page{Limit: 1e6}, func(s *primary.Staker) bool {
		if s.End < first && s.Gross > 0 {
			id, first = s.TxID, s.End
		}
		return true
	}); err != nil || id.IsZero() {
		t.Fatal("nobody stakes", err)
	}
	return id
}

// Another network's genesis is refused by the first block, whichever that is.
func TestOtherGenesis(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	cfg := h.cfg
	g := *cfg.Genesis
	g.ID[0]++
	cfg.Genesis = &g
	c := open(t, openDB(t, t.TempDir()), cfg)
	if err := c.Commit(t.Context(), h.blocks[:1]); !errors.Is(err, pchain.ErrRefused) {
		t.Errorf("got %v", err)
	}
	zero, err := primary.Parse(primary.PChain, h.made.First())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(t.Context(), []*primary.Block{zero}); !errors.Is(err, pchain.ErrRefused) {
		t.Errorf("block 0: got %v", err)
	}
	// With block 0 the rows are those without it but for where they begin.
	c = open(t, openDB(t, t.TempDir()), h.cfg)
	commit(t, c, append([]*primary.Block{zero}, h.blocks[:20]...))
	v := view(t, c)
	if b, found, err := v.BlockAt(0); err != nil || !found || b.ID != zero.ID() || v.First() != 0 || !v.Exact() {
		t.Errorf("got %+v, %v, %v", b, found, err)
	}
}
