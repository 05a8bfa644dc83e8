package pchain

import (
	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	store "quorate/engine/store/index"
)

// Rewarded returns what was paid as rewards in an asset since the first block, or staked of
// them by validators that renew themselves; known is false where the rows are of an older version, and made again.
func (v *View) Rewarded(asset chain.ID) (amount uint64, known bool, err error) {
	return v.Amount(v.Key(store.PlatformRewarded).ID(asset))
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
