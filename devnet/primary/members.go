package primary

import (
	"quorate/devnet/world"
	"quorate/engine/chain"
)

// Height returns the height of the P-Chain's last block.
func (c *Chain) Height() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return uint64(len(c.p.all))
}

// Conversion returns the ID of the conversion that made a subnet an L1.
func (c *Chain) Conversion(subnet chain.ID) (id chain.ID, ok bool) {
	c.Read(func(s *State) {
		if n := s.Subnets[subnet]; n != nil && n.Conversion != nil {
			id, ok = n.ConversionID, true
		}
	})
	return id, ok
}

// Validation returns the least nonce that a validator of an L1 still takes, and its weight,
// 0 once it was removed.
func (c *Chain) Validation(id chain.ID) (nonce, weight uint64, ok bool) {
	c.Read(func(s *State) {
		if v := s.L1Validators[id]; v != nil {
			nonce, weight, ok = v.MinNonce, v.Weight, true
		}
	})
	return nonce, weight, ok
}

// Sets returns the validator sets of all subnets at a height that the P-Chain has
// reached, in canonical order.
func (c *Chain) Sets(height uint64) map[chain.ID][]world.Member {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sets := make(map[chain.ID][]world.Member)
	for n, m := range c.s.sets.of(height) {
		member := world.Member{Validator: c.nodes[n.Node], Weight: m.weight, NoKey: m.key == nil}
		if n.Node == (chain.NodeID{}) { // all inactive ones of an L1
			member.Validator = &world.Validator{Index: -1}
		}
		sets[n.Subnet] = append(sets[n.Subnet], member)
	}
	for _, members := range sets {
		world.SortCanonical(members)
	}
	return sets
}
