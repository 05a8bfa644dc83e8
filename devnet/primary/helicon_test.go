package primary_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
)

// TestNever: a history without Helicon has the bytes that it had before that upgrade was
// known here, and goes on with them.
func TestNever(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		params world.Params
		want   string
	}{
		{
			world.Params{Validators: 5, Seed: 1, L1s: 1},
			"adeb8150b979fa5b8b1dbab22f0c2794fb19dc98ade1f107e896ae23611d149f 2r6LNLMX6JCdEkd5bSJuR9g532fsPenXgN6WBKNsNeHeZAwj3u",
		},
		{
			world.Params{Validators: 30, Seed: 2, L1s: 3, L1Members: 6, L1Own: 2, SharedKeys: 2, Keyless: 3, Weights: world.Zipf, L1Late: true},
			"7023f82cdcdfb040737a61f84820d911617a726f4f41fa7b4306b87fd8e60856 e6QpRquJQiDCuymLKAHoPoMETjvZxqPdB3VbSWTqRPLFMGQUC",
		},
	} {
		c, _ := made(t, small, test.params)
		for range 200 {
			c.Grow(600)
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		x := c.AVM()
		if got := fmt.Sprintf("%x %s", digest(c), x[len(x)-1].ID); got != test.want {
			t.Errorf("%+v: got %s, want %s", test.params, got, test.want)
		}
	}
}

// withHelicon makes a small history in which Helicon activates so long before its end.
func withHelicon(t testing.TB, blocks int, before time.Duration, p world.Params) (*primary.Chain, *world.World) {
	t.Helper()
	w, err := world.New(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := primary.Make(primary.Config{World: w, Blocks: blocks, Helicon: w.GenesisTime().Add(-before)})
	if err != nil {
		t.Fatal(err)
	}
	w.Follow(c)
	return c, w
}

const heliconBefore = 40 * 24 * time.Hour

// kinds counts what validators by renewed cycles did, from the state that came of it and
// from the transactions in blocks after a height.
func kinds(t *testing.T, c *primary.Chain, after uint64) map[string]int {
	t.Helper()
	n := make(map[string]int)
	left := make(map[chain.NodeID]uint64) // when
	for _, x := range c.Platform()[after:] {
		b, err := platform.ParseBlock(x.Block)
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == platform.BanffAbort {
			n["aborted"]++
		}
		for _, tx := range b.Txs {
			switch body := tx.Body.(type) {
			case *platform.AddAutoRenewedValidator:
				n[fmt.Sprintf("added with %d", body.Restaked)]++
				if left[body.NodeID] == b.Time {
					n["added again at once"]++
				}
			case *platform.SetAutoRenewedValidatorConfig:
				n["configured"]++
				if body.Period == 0 {
					n["asked to leave"]++
				}
			case *platform.RewardAutoRenewedValidator:
				n["cycles"]++
				c.Read(func(s *primary.State) { left[s.Stakers[body.TxID].NodeID] = b.Time })
			}
		}
	}
	c.Read(func(s *primary.State) { kindsOf(s, n) })
	return n
}

func kindsOf(s *primary.State, n map[string]int) {
	renewed := make(map[chain.NodeID]bool)
	for _, x := range s.Stakers {
		r := x.Renewal
		if r == nil {
			continue
		}
		renewed[x.NodeID] = true
		paid := make(map[chain.ID]int)
		for _, r := range x.Rewards {
			paid[r.TxID]++
		}
		for _, outputs := range paid {
			n[fmt.Sprintf("paid by %d", outputs)]++
		}
		if x.Weight == 3_000_000_000_000_000 {
			n["greatest"]++
		}
		if r.Accrued > 0 {
			n["accrued"]++
		}
		if r.AccruedFees > 0 {
			n["accrued of delegations"]++
		}
		switch {
		case x.Status == primary.Rewarded:
			n["left"]++
		case x.Status == primary.Unrewarded && r.Accrued > 0:
			n["forfeited the last cycle"]++
		case x.Status == primary.Unrewarded:
			n["forfeited the first cycle"]++
		}
	}
	for _, x := range s.Stakers {
		if x.Delegator && renewed[x.NodeID] && x.Status == primary.Rewarded {
			n["delegated"]++
		}
	}
}

// TestRenewals: a history across Helicon has validators by renewed cycles of every kind,
// ends with the weights of the world, and so with each seed.
func TestRenewals(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		c, w := withHelicon(t, small, heliconBefore, world.Params{Validators: 5, Seed: seed, L1s: 1})
		n := kinds(t, c, 0)
		for _, what := range []string{
			"added with 0", "added with 500000", "added with 1000000", "added again at once", "configured", "asked to leave",
			"greatest", "accrued", "accrued of delegations", "left", "forfeited the last cycle", "forfeited the first cycle",
			"paid by 1", "paid by 2", "delegated",
		} {
			if n[what] == 0 {
				t.Errorf("seed %d: none was %s: %v", seed, what, n)
			}
		}
		want, err := w.At(w.Height())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range want.Sets[chain.PrimaryNetworkID] {
			if m.Weight != m.Validator.Weight {
				t.Errorf("seed %d: %s has %d, want %d", seed, m.NodeID, m.Weight, m.Validator.Weight)
			}
		}
		if got := len(want.Sets[chain.PrimaryNetworkID]); got != 5 {
			t.Errorf("seed %d: %d validators", seed, got)
		}
		again, _ := withHelicon(t, small, heliconBefore, world.Params{Validators: 5, Seed: seed, L1s: 1})
		for range 300 {
			c.Grow(600)
			again.Grow(600)
		}
		if digest(c) != digest(again) {
			t.Errorf("seed %d: two histories", seed)
		}
	}
}

// TestGrowRenewals: validators by renewed cycles go on after the history, also where
// Helicon activates only then, and no validator is away for longer than some blocks.
func TestGrowRenewals(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{
		"long ago": heliconBefore, "shortly before": 90 * time.Minute, "at the end": 0, "later": -5 * time.Hour,
	} {
		c, w := withHelicon(t, small, before, world.Params{Validators: 5, Seed: 7, L1s: 1})
		base := w.Height()
		for i := range 6000 {
			c.Grow(120)
			if i%16 > 0 {
				continue
			}
			if n := len(at(t, w, w.Height()).Sets[chain.PrimaryNetworkID]); n != 5 {
				t.Fatalf("%s: %d validators", name, n)
			}
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		n := kinds(t, c, base)
		for _, what := range []string{
			"added with 0", "added with 500000", "added with 1000000", "added again at once", "configured", "asked to leave",
			"accrued", "left", "paid by 1", "aborted", "delegated",
		} {
			if n[what] == 0 {
				t.Errorf("%s: none was %s: %v", name, what, n)
			}
		}
	}
}

// TestHeliconBeforeGranite: the order of upgrades holds.
func TestHeliconBeforeGranite(t *testing.T) {
	t.Parallel()
	w, err := world.New(world.Params{Validators: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = primary.Make(primary.Config{World: w, Blocks: small, Helicon: w.GenesisTime().Add(-46 * 24 * time.Hour)})
	if !errors.Is(err, primary.ErrHelicon) {
		t.Errorf("got %v", err)
	}
}
