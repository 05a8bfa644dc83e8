package pchain

import (
	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// Rewarded returns what was paid as rewards in an asset since the first block, or staked of
// them by validators that renew themselves; known is false where the rows are of an older version, and made again.
func (v *View) Rewarded(asset chain.ID) (amount uint64, known bool, err error) {
	return v.Amount(v.Key(store.PlatformRewarded).ID(asset))
}

// Overpaid returns the first block from which on rewards and the supply are too high, because
// the rows were made by the rates of before Helicon, and when that was, in Unix seconds; ok is
// false if they are right.
func (c *Chain) Overpaid() (from, since uint64, ok bool, err error) {
	if !c.Stale() {
		return 0, 0, false, nil
	}
	v, err := c.View()
	if err != nil {
		return 0, 0, false, err
	}
	defer v.Close()
	since = c.cfg.Upgrades.Helicon
	if v.Version() >= rated || !v.head.SupplyKnown || since == 0 || v.head.Time < since {
		return 0, 0, false, nil
	}
	of := primary.BlockFilter{TimeRange: primary.TimeRange{From: since}}
	_, err = v.Blocks(&of, primary.Page{Limit: 1, Asc: true}, func(b *primary.BlockInfo) bool {
		from, ok = b.Height, true
		return true
	})
	return from, since, ok, err
}

// GenesisSupply returns the supply of AVAX that the network started with, on all chains
// but the C-Chain, and the part of it whose locks have ended by the chain's time. known is
// false where the genesis is not.
func (v *View) GenesisSupply() (all, unlocked uint64, known bool) {
	g := v.c.cfg.Genesis
	if g == nil || !v.head.Exact {
		return 0, 0, false
	}
	all, unlocked = g.InitialSupply, g.InitialSupply
	lock := func(o *utxo.Output) {
		if o.Asset == v.head.AVAX && max(o.Locktime, o.StakeLock) > v.head.Time {
			unlocked -= min(o.Amount, unlocked)
		}
	}
	for i := range g.UTXOs {
		lock(&g.UTXOs[i].Output)
	}
	for i := range g.Validators {
		if _, stake := stakeOf(&g.Validators[i]); stake != nil {
			for j := range stake {
				lock(&stake[j])
			}
		}
	}
	return all, unlocked, true
}
