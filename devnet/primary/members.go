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
