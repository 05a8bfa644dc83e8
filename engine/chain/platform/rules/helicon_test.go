package rules

import "testing"

// What a stake of a day, of 1,000,000 AVAX of 360,000,000, earns that starts at a time
// about Helicon: the expected rewards are those of avalanchego's own tests (v1.15.0,
// vms/platformvm/reward/calculator_test.go).
func TestHeliconRewards(t *testing.T) {
	t.Parallel()
	const helicon, days90, day = 1_000_000, 90 * 24 * 60 * 60, 24 * 60 * 60
	for _, e := range []struct {
		minRate, maxRate, start, reward uint64
	}{
		{100_000, 120_000, helicon - 1, 274122724713},
		{100_000, 120_000, helicon, 274122724713},
		{100_000, 120_000, helicon + days90/3, 251355136048},
		{100_000, 120_000, helicon + days90, 205817226496},
		{100_000, 120_000, 1 << 62, 205817226496},
		{80_000, 120_000, helicon + days90/2, 212647776318},
		{10_000, 120_000, helicon + days90/2, 117020078814},
		{74_999, 120_000, helicon, 205814494276},
		{74_999, 120_000, helicon + days90/2, 205814494276},
		{74_999, 120_000, helicon + days90, 205817226496},
		{75_000, 120_000, helicon + days90/2, 205817226496},
		{75_001, 120_000, helicon + days90/2, 205819958716},
		{75_001, 120_000, helicon + days90, 205817226496},
		{10_000, 20_000, helicon + days90, 27472321261},
	} {
		r := Rewards{MinRate: e.minRate, MaxRate: e.maxRate, Period: year, SupplyCap: 720 * million}
		if got := (Upgrades{Helicon: helicon}).Rewards(r, e.start).Reward(day, million, 360*million); got != e.reward {
			t.Errorf("%+v: got %d", e, got)
		}
		if got := (Upgrades{}).Rewards(r, e.start); got != r {
			t.Errorf("%+v: a rate of %+v though Helicon is not scheduled", e, got)
		}
	}
}
