package rules

import (
	_ "embed"
	"errors"
	"math"
	"testing"

	"quorate/engine/chain/chaintest"
)

// goldenJSON holds what avalanchego's own packages computed: e2e/vectors.
//
//go:embed testdata/avalanchego.json
var goldenJSON []byte

type feeConfig struct{ Capacity, Target, MinPrice, ExcessConversionConstant uint64 }

func (c feeConfig) ours() FeeConfig {
	return FeeConfig{c.Capacity, c.Target, c.MinPrice, c.ExcessConversionConstant}
}

type goldens struct {
	Rewards []struct{ MinRate, MaxRate, Period, Cap, Seconds, Stake, Supply, Reward uint64 }
	Splits  []struct {
		Reward, Validator, Delegator uint64
		Fee                          uint32
	}
	Fees []struct {
		Config                                           feeConfig
		State                                            struct{ Current, Excess uint64 }
		Seconds, Funds, Price, Cost, Excess, SecondsLeft uint64
	}
	Params []struct {
		ID                            uint32
		MinRate, MaxRate, Period, Cap uint64
		Fees                          feeConfig
	}
}

func TestGoldenRewards(t *testing.T) {
	t.Parallel()
	g, some, all := chaintest.Load[goldens](t, goldenJSON), 0, 0
	for _, e := range g.Rewards {
		got := Rewards{e.MinRate, e.MaxRate, e.Period, e.Cap}.Reward(e.Seconds, e.Stake, e.Supply)
		if got != e.Reward {
			t.Errorf("%+v: got %d", e, got)
		}
		if got > 0 {
			some++
		}
		if got > 0 && got == e.Cap-e.Supply {
			all++
		}
	}
	if some < 100 || all == 0 {
		t.Errorf("%d rewards, %d of them of all that is left", some, all)
	}
	for _, e := range g.Splits {
		if v, d := Split(e.Reward, e.Fee); v != e.Validator || d != e.Delegator {
			t.Errorf("%+v: got %d and %d", e, v, d)
		}
	}
}

func TestGoldenFees(t *testing.T) {
	t.Parallel()
	saturated := 0
	for _, e := range chaintest.Load[goldens](t, goldenJSON).Fees {
		c, f := e.Config.ours(), L1Fees{Active: e.State.Current, Excess: e.State.Excess}
		if got := f.Price(c); got != e.Price {
			t.Errorf("%+v: got price %d", e, got)
		}
		if got := f.Cost(c, e.Seconds); got != e.Cost {
			t.Errorf("%+v: got cost %d", e, got)
		}
		if got := f.SecondsLeft(c, 300, e.Funds); got != e.SecondsLeft {
			t.Errorf("%+v: got %d seconds", e, got)
		}
		next, err := f.Advance(c, e.Seconds)
		if err != nil || next.Excess != e.Excess || next.Accrued != e.Cost || next.Active != f.Active {
			t.Errorf("%+v: got %+v, %v", e, next, err)
		}
		if e.Cost == math.MaxUint64 {
			saturated++
		}
	}
	if saturated == 0 {
		t.Error("no fee without bound")
	}
}

func TestGoldenParams(t *testing.T) {
	t.Parallel()
	for _, e := range chaintest.Load[goldens](t, goldenJSON).Params {
		if got, want := For(e.ID), (Params{Rewards{e.MinRate, e.MaxRate, e.Period, e.Cap}, e.Fees.ours(), 3_000_000_000_000_000}); got != want {
			t.Errorf("network %d: got %+v, want %+v", e.ID, got, want)
		}
	}
}

// Advancing by parts is advancing at once, while nobody joins or leaves.
func TestAdvanceByParts(t *testing.T) {
	t.Parallel()
	c := For(12345).Fees
	for _, active := range []uint64{0, 9_000, 10_000, 10_001, 20_000} {
		f := L1Fees{Active: active, Excess: 3_000_000, Accrued: 5}
		whole, err := f.Advance(c, 600)
		if err != nil {
			t.Fatal(err)
		}
		for _, seconds := range []uint64{1, 0, 199, 400} {
			next, err := f.NextSecond(c)
			if err != nil {
				t.Fatal(err)
			}
			after, err := f.Advance(c, 1)
			if err != nil || after.Accrued != next {
				t.Errorf("%d active: %d accrue in a second, %d were expected", active, after.Accrued, next)
			}
			if f, err = f.Advance(c, seconds); err != nil {
				t.Fatal(err)
			}
		}
		if f != whole {
			t.Errorf("%d active: got %+v, want %+v", active, f, whole)
		}
	}
}

// What no chain has: nothing is divided by zero and nothing overflows in silence.
func TestOutOfRange(t *testing.T) {
	t.Parallel()
	r := For(1).Rewards
	for _, e := range []struct {
		r      Rewards
		supply uint64
	}{{r, 0}, {r, r.SupplyCap + 1}, {Rewards{}, 0}, {Rewards{SupplyCap: 2}, 1}, {Rewards{2, 1, 1, 2}, 1}} {
		if got := e.r.Reward(1, 1, e.supply); got != 0 {
			t.Errorf("%+v: got %d", e, got)
		}
	}
	if v, d := Split(10, Denominator+1); v != 10 || d != 0 {
		t.Errorf("got %d and %d", v, d)
	}
	c := For(1).Fees
	full := L1Fees{Active: c.Target, Accrued: math.MaxUint64}
	if f, err := full.Advance(c, 1); !errors.Is(err, ErrOverflow) || f != full {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, err := full.NextSecond(c); !errors.Is(err, ErrOverflow) {
		t.Errorf("got %v", err)
	}
	if p := full.Price(FeeConfig{}); p != math.MaxUint64 {
		t.Errorf("got %d", p)
	}
	if s := full.SecondsLeft(FeeConfig{}, 7, 0); s != 7 {
		t.Errorf("got %d", s)
	}
	if s := (L1Fees{Active: 1, Excess: math.MaxUint64}).SecondsLeft(c, 7, 3); s != 0 {
		t.Errorf("got %d", s)
	}
}
