package engine

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/network"
)

// CanSign reports whether enough stake is connected to have messages of a network signed:
// mainnet, fuji or testnet, or, without a name, of all that are followed.
func (n *Networks) CanSign(name string) bool {
	all := n.All()
	if name != "" {
		all = all[:0:0]
		if best := n.best(rankOf(name)); best != nil {
			all = append(all, best)
		}
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(one *network.Network) bool { return one.CheckStake() != nil })
}

// CanReach reports whether a node answers for a chain.
func (n *Networks) CanReach(id chain.ID) bool {
	of, err := n.of(id)
	return err == nil && slices.ContainsFunc(of.Nodes(), func(node network.Node) bool { return node.Up })
}
