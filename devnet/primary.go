package devnet

import (
	"slices"
	"time"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	bech32 "quorate/engine/chain/address"
)

// Primary returns the model of the P- and the X-Chain with blocks: nil without
// [Config.PrimaryBlocks]. [primary.Chain.Grow] makes them grow at once.
func (d *Devnet) Primary() *primary.Chain { return d.primary }

// Genesis returns the genesis bytes of the P-Chain, which no node has: nil without
// [Config.PrimaryBlocks].
func (d *Devnet) Genesis() []byte {
	if d.primary == nil {
		return nil
	}
	return d.primary.Genesis()
}

// growPrimary has the P-Chain accept a block.
func (d *Devnet) growPrimary() {
	if d.primary == nil {
		d.world.Shift()
		return
	}
	d.primary.Grow(max(uint64(d.cfg.HeightInterval/time.Second), 1)) // not negative
	if err := d.primary.Err(); err != nil {
		d.log.Error("the P-Chain does not grow", "error", err)
	}
}

// maxFactAddresses bounds the reward addresses in the facts.
const maxFactAddresses = 20

// primaryFacts adds what the history of the P- and the X-Chain holds.
func (d *Devnet) primaryFacts(f *Facts) {
	if d.primary == nil {
		return
	}
	if all := d.primary.Vertices(); len(all) > 0 {
		height := all[len(all)/2].Height
		f.VertexHeight = &height
	}
	d.primary.Read(func(s *primary.State) {
		for _, b := range s.Blockchains {
			if id := b.ID.String(); !slices.Contains(f.BlockchainIDs, id) {
				f.BlockchainIDs = append(f.BlockchainIDs, id)
			}
		}
		f.RewardAddresses = rewarded(s)
	})
}

// rewarded returns the addresses that got most rewards, delegators' and validators'.
func rewarded(s *primary.State) []string {
	count := make(map[bech32.Address]int)
	for _, x := range s.Stakers {
		for _, r := range x.Rewards {
			if x.Subnet == chain.PrimaryNetworkID {
				count[r.Addresses[0]]++
			}
		}
	}
	var all []bech32.Address
	for a := range count {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b bech32.Address) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return slices.Compare(a[:], b[:])
	})
	var texts []string
	for _, a := range all[:min(len(all), maxFactAddresses)] {
		texts = append(texts, a.Text(bech32.Prefix(world.NetworkID)))
	}
	return texts
}
