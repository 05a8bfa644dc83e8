package pchain_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// FuzzBlock commits blocks of any bytes that parse: the history's own transactions with
// members replaced, and what the fuzzer makes of them. They are refused or taken, and
// what is taken can be read; nothing panics.
func FuzzBlock(f *testing.F) {
	h := simulated(f)
	var some [][]byte
	kinds := map[platform.TxKind]int{}
	for _, b := range h.blocks {
		for i := range b.Platform.Txs {
			if kind := b.Platform.Txs[i].Body.Kind(); kinds[kind] < 1 {
				kinds[kind]++
				raw, err := b.Platform.Bytes()
				if err != nil {
					f.Fatal(err)
				}
				some = append(some, raw)
				break
			}
		}
	}
	for i, raw := range some {
		f.Add(raw, uint64(i))
	}
	exact, bare := h.cfg, h.cfg
	bare.Genesis = nil
	network := uint32(1000)
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		parsed, err := platform.ParseBlock(raw)
		if err != nil {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, cfg := range []pchain.Config{exact, bare} {
			// Each has rows of its own in the one database, which is dear to open.
			network++
			cfg.Network, cfg.Params = network, params(h)
			c := open(t, shared.db, cfg)
			// From the middle only what is not known from the genesis on can begin.
			from := 0
			if cfg.Genesis == nil {
				from = rnd.IntN(len(h.blocks) - 30)
			}
			commit(t, c, h.blocks[from:from+12])
			last := h.blocks[from+11].Platform
			for range 3 {
				b := twisted(rnd, parsed, h)
				b.Parent, b.Height, b.ID = last.ID, last.Height+1, chain.ID{byte(rnd.Uint32()), 1}
				if rnd.IntN(3) > 0 {
					b.Time = last.Time
				}
				err := c.Commit(t.Context(), []*primary.Block{{Chain: primary.PChain, Platform: b}})
				switch {
				case err == nil:
					last = b
				case !errors.Is(err, pchain.ErrRefused):
					t.Fatal(err)
				}
			}
			v, err := c.View()
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if _, err := v.Stakers(&primary.StakerFilter{AnyKind: true}, primary.Page{Limit: 100}, func(*primary.Staker) bool { return true }); err != nil {
				t.Error(err)
			}
			if err := v.EachOutput(func(*primary.Output) {}); err != nil {
				t.Error(err)
			}
		}
	})
}

// twisted returns a copy of a block with members that are other than they were.
func twisted(rnd *rand.Rand, of *platform.Block, h *history) *platform.Block {
	raw, err := of.Bytes()
	if err != nil {
		panic(err) // it was parsed
	}
	b, err := platform.ParseBlock(raw)
	if err != nil {
		panic(err)
	}
	number := func() uint64 {
		return []uint64{0, 1, 1 << 63, ^uint64(0), rnd.Uint64(), uint64(rnd.Uint32())}[rnd.IntN(6)]
	}
	for i := range b.Txs {
		base := b.Txs[i].Body.Funds()
		if base == nil || rnd.IntN(4) == 0 {
			continue
		}
		if rnd.IntN(2) == 0 { // spend what is there
			base.Inputs = nil
			for range 1 + rnd.IntN(3) {
				u := &h.cfg.Genesis.UTXOs[rnd.IntN(len(h.cfg.Genesis.UTXOs))]
				base.Inputs = append(base.Inputs, utxo.Input{Ref: u.Ref, Asset: u.Asset, Amount: u.Amount})
			}
		}
		for j := range base.Outputs {
			if rnd.IntN(3) == 0 {
				base.Outputs[j].Amount = number()
			}
		}
		twist(rnd, b.Txs[i].Body, number)
	}
	return b
}

// twist replaces what decides when and how much.
func twist(rnd *rand.Rand, body platform.Body, number func() uint64) {
	if rnd.IntN(2) == 0 {
		return
	}
	switch t := body.(type) {
	case *platform.AddValidator:
		t.Start, t.End, t.Weight, t.DelegationFee = number(), number(), number(), uint32(number())
	case *platform.AddPermissionlessValidator:
		t.End, t.Weight, t.DelegationFee, t.Stake = number(), number(), uint32(number()), nil
	case *platform.AddPermissionlessDelegator:
		t.End, t.Weight = number(), number()
	case *platform.AddDelegator:
		t.Start, t.End, t.Weight = number(), number(), number()
	case *platform.TransformSubnet:
		t.InitialSupply, t.MaximumSupply, t.MaxConsumptionRate = number(), number(), number()
	case *platform.ConvertSubnetToL1:
		for i := range t.Validators {
			t.Validators[i].Balance, t.Validators[i].Weight = number(), number()
		}
	case *platform.IncreaseL1ValidatorBalance:
		t.Balance = number()
	case *platform.AdvanceTime:
		t.Time = number()
	}
}
