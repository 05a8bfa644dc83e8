package pchain_test

import (
	"slices"
	"testing"

	devnet "quorate/devnet/primary"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// What was rewarded is what the simulated network's own executor says.
func TestRewarded(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	h.made.Read(func(s *devnet.State) {
		rewarded := map[chain.ID]uint64{}
		for _, x := range s.Stakers {
			for i := range x.Rewards {
				rewarded[x.Rewards[i].Asset] += x.Rewards[i].Amount
			}
		}
		for asset, want := range rewarded {
			if got, known, err := v.Rewarded(asset); got != want || !known || err != nil {
				t.Errorf("asset %s: %d rewarded, want %d: %v, %v", asset, got, want, known, err)
			}
		}
		if len(rewarded) < 2 {
			t.Errorf("%d assets rewarded", len(rewarded))
		}
	})
}

// What is locked is what transactions made with a lock that is not over and none has
// spent, while the chain grows; and what of the genesis is unlocked the rest of it.
func TestLocked(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	c := open(t, openDB(t, t.TempDir()), h.cfg)
	g := h.cfg.Genesis
	held := map[utxo.Ref]utxo.Output{}
	for i := range g.UTXOs {
		held[g.UTXOs[i].Ref] = g.UTXOs[i].Output
	}
	put := func(tx *platform.Tx) {
		for i, out := range slices.Concat(tx.Body.Funds().Outputs, devnet.Stake(tx)) {
			held[utxo.Ref{TxID: tx.ID, Index: uint32(i)}] = out
		}
	}
	for i := range g.Validators {
		put(&g.Validators[i])
	}
	some, staked := 0, 0
	for n, step := 0, len(h.blocks)/8+1; n < len(h.blocks); n += step {
		part := h.blocks[n:min(n+step, len(h.blocks))]
		commit(t, c, part)
		for _, b := range part {
			for i := range b.Platform.Txs {
				tx := &b.Platform.Txs[i]
				if tx.Body.Funds() == nil {
					continue
				}
				for _, in := range tx.Body.Funds().Inputs {
					delete(held, in.Ref)
				}
				put(tx)
				for i := range devnet.Stake(tx) {
					if devnet.Stake(tx)[i].StakeLock > b.Platform.Time {
						staked++
					}
				}
			}
		}
		v, err := c.View()
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []uint64{v.Time(), v.Time() + 100*24*3600} {
			want := uint64(0)
			for _, out := range held {
				if max(out.Locktime, out.StakeLock) > at && out.Asset == v.AVAX() {
					want += out.Amount
				}
			}
			if want > 0 {
				some++
			}
			if got, known, err := v.Locked(v.AVAX(), at); got != want || !known || err != nil {
				t.Errorf("block %d, at %d: %d locked, want %d: %v, %v", v.Tip().Height, at, got, want, known, err)
			}
		}
		all, unlocked, known := v.GenesisSupply()
		want := g.InitialSupply
		for i := range g.UTXOs {
			if u := &g.UTXOs[i]; max(u.Locktime, u.StakeLock) > v.Time() {
				want -= u.Amount
			}
		}
		if !known || all != g.InitialSupply || unlocked != want {
			t.Errorf("the genesis has %d, %d unlocked, want %d: %v", all, unlocked, want, known)
		}
		v.Close()
	}
	if some < 4 || staked == 0 {
		t.Errorf("something was locked %d times, %d stakes", some, staked)
	}
}
