package pchain_test

import (
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// upTo indexes the recorded blocks up to a height.
func (n *heliconNetwork) upTo(t testing.TB, height int) (c *pchain.Chain, last *platform.Block) {
	t.Helper()
	c = open(t, openDB(t, t.TempDir()), n.cfg)
	blocks := recordedBlocks(t, n.blocks[1:height+1])
	commit(t, c, blocks)
	return c, blocks[height-1].Platform
}

// following makes a block behind another one.
func following(t testing.TB, last *platform.Block, kind platform.BlockKind, time uint64, bodies ...platform.Body) *primary.Block {
	t.Helper()
	p := &platform.Block{Kind: kind, Parent: last.ID, Height: last.Height + 1, Time: time}
	for _, body := range bodies {
		p.Txs = append(p.Txs, platform.Tx{Body: body})
	}
	raw, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := primary.Parse(primary.PChain, raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Only the validator whose cycle ends is rewarded, at its end and by the transaction for
// those that renew themselves; and only those are configured.
func TestCycleRefused(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	of := func(height int) *platform.Tx { // what the recorded proposal proposes
		b, err := platform.ParseBlock(n.blocks[height].Block)
		if err != nil {
			t.Fatal(err)
		}
		return b.Proposed()
	}
	renewed, ok := of(27).Body.(*platform.RewardAutoRenewedValidator)
	if !ok {
		t.Fatal("block 27 ends no cycle")
	}
	other, ok := of(30).Body.(*platform.RewardAutoRenewedValidator)
	if !ok {
		t.Fatal("block 30 ends no cycle")
	}
	legacy, ok := of(25).Body.(*platform.RewardValidator)
	if !ok {
		t.Fatal("block 25 rewards nobody")
	}
	end := func(after int) uint64 {
		b, err := platform.ParseBlock(n.blocks[after+1].Block)
		if err != nil {
			t.Fatal(err)
		}
		return b.Time
	}
	for name, e := range map[string]struct {
		after int
		body  platform.Body
	}{
		"another time":             {26, &platform.RewardAutoRenewedValidator{TxID: renewed.TxID, Time: renewed.Time - 1}},
		"another's turn":           {26, &platform.RewardAutoRenewedValidator{TxID: other.TxID, Time: renewed.Time}},
		"as one that does not":     {26, &platform.RewardValidator{TxID: renewed.TxID}},
		"one that does not":        {24, &platform.RewardAutoRenewedValidator{TxID: legacy.TxID, Time: end(24)}},
		"configures one that does": {26, &platform.SetAutoRenewedValidatorConfig{TxID: legacy.TxID}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, last := n.upTo(t, e.after)
			if _, config := e.body.(*platform.SetAutoRenewedValidatorConfig); config {
				b := following(t, last, platform.BanffStandard, last.Time, e.body)
				if err := c.Commit(t.Context(), []*primary.Block{b}); !errors.Is(err, pchain.ErrRefused) {
					t.Errorf("got %v", err)
				}
				return
			}
			proposal := following(t, last, platform.BanffProposal, end(e.after), e.body)
			option := following(t, proposal.Platform, platform.BanffCommit, end(e.after))
			if err := c.Commit(t.Context(), []*primary.Block{proposal, option}); !errors.Is(err, pchain.ErrRefused) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A validator's weight grows up to the largest stake and no further: the rest is paid. Of
// the supply nothing is lost and nothing is made by it.
func TestLargestStake(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	p := rules.For(n.cfg.Network)
	p.MaxStake = 3_000_000_614_242 + 1_000 // validator B reaches it in its second cycle
	n.cfg.Params = &p
	c, _ := n.upTo(t, len(n.blocks)-1)
	v := view(t, c)
	sum, largest := n.cfg.Genesis.InitialSupply, 0
	if _, err := v.Stakers(&primary.StakerFilter{AnyKind: true, Status: primary.Active}, primary.Page{Limit: 1000}, func(s *primary.Staker) bool {
		sum += s.Gross + s.Share
		if r := s.Renewal; r != nil && s.Weight == p.MaxStake && r.Rewards+r.Shares == 615_242 {
			largest++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	paid, _, err := v.Rewarded(v.AVAX())
	if err != nil || largest != 1 {
		t.Errorf("%d validators have the largest stake, %v", largest, err)
	}
	if supply, ok := v.Supply(); !ok || supply != sum+paid {
		t.Errorf("supply %d, want %d", supply, sum+paid)
	}
}

// Since Helicon a node may be added again in the block that removes it.
func TestAddedAgain(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	const after = 7 // which adds the only validator of the subnet
	c, last := n.upTo(t, after)
	old, ok := last.Txs[0].Body.(*platform.AddSubnetValidator)
	if !ok {
		t.Fatal("no validator of a subnet")
	}
	again := *old
	again.Base.Inputs, again.Base.Outputs, again.Weight = nil, nil, old.Weight+5
	b := following(t, last, platform.BanffStandard, last.Time, &platform.RemoveSubnetValidator{NodeID: old.NodeID, Subnet: old.Subnet}, &again)
	commit(t, c, []*primary.Block{b})
	v := view(t, c)
	for height, weight := range map[uint64]uint64{after: old.Weight, after + 1: old.Weight + 5} {
		if set, ok, err := v.ValidatorsAt(old.Subnet, height); err != nil || !ok || len(set) != 1 || set[0].Weight != weight {
			t.Errorf("height %d: %+v, %v, %v", height, set, ok, err)
		}
	}
	for id, status := range map[chain.ID]primary.StakerStatus{last.Txs[0].ID: primary.Removed, b.Platform.Txs[1].ID: primary.Active} {
		if s, found, err := v.Staker(id); err != nil || !found || s.Status != status {
			t.Errorf("%s: %+v, %v, want status %d", id, s, err, status)
		}
	}
	if s, err := v.Sums(old.Subnet); err != nil || s.Validators != 1 || s.ValidatorWeight != old.Weight+5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Rows that were made by the rates of before Helicon say so, and are made again.
func TestRatesOfBefore(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	before := *n.cfg.Upgrades
	before.Helicon = rules.Never
	cfg := n.cfg
	cfg.Upgrades = &before
	db := openDB(t, t.TempDir())
	old, err := pchain.OpenVersion(db, cfg, 10)
	if err != nil {
		t.Fatal(err)
	}
	blocks, first := recordedBlocks(t, n.blocks[1:]), uint64(0)
	for _, b := range blocks {
		if first == 0 && b.Platform.Time >= n.cfg.Upgrades.Helicon {
			first = b.Platform.Height
		}
	}
	commit(t, old, blocks)
	c := open(t, db, n.cfg)
	if from, since, ok, err := c.Overpaid(); err != nil || !ok || from != first || since != n.cfg.Upgrades.Helicon {
		t.Errorf("too high from block %d, since %d: %v, %v", from, since, ok, err)
	}
	wrong, _ := view(t, c).Supply()
	if err := c.Rebuild(t.Context(), inArchive(blocks), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := c.Overpaid(); err != nil || ok {
		t.Errorf("still too high: %v", err)
	}
	if right, ok := view(t, c).Supply(); !ok || right >= wrong {
		t.Errorf("supply %d, %d before", right, wrong)
	}
	fresh, _ := n.upTo(t, len(n.blocks)-1)
	want, err := fresh.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Digest(t.Context()); err != nil || got != want {
		t.Errorf("rows that were made again are others than fresh ones: %v", err)
	}
}

// Without the genesis, and from whatever block on, cycles are taken, and no reward is made
// up: no output is another one than with it.
func TestCyclesUnknown(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	c, _ := n.upTo(t, len(n.blocks)-1)
	all := view(t, c)
	cfg := n.cfg
	cfg.Genesis = nil
	for _, from := range []int{0, 13, 21, 27, 40} {
		part := open(t, openDB(t, t.TempDir()), cfg)
		commit(t, part, recordedBlocks(t, n.blocks[1+from:]))
		v := view(t, part)
		if _, known := v.Supply(); known || v.Exact() {
			t.Errorf("from %d: a supply that nobody knows", from)
		}
		if err := v.EachOutput(func(u *primary.Output) {
			with, found, err := all.Output(u.Ref.ID())
			if err != nil || !found || with.Amount != u.Amount || with.State != u.State && u.State != primary.Staked {
				t.Errorf("from %d: output %+v, want %+v, %v", from, u, with, err)
			}
		}); err != nil {
			t.Error(err)
		}
	}
}
