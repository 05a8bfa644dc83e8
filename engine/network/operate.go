package network

import (
	"cmp"
	"context"
	"slices"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/p2p"
)

// SubnetStake is how much of a subnet's stake is connected.
type SubnetStake struct {
	Subnet           chain.ID
	Height           uint64
	Validators       int // signing keys
	Connected, Total uint64
}

// Stake returns how much stake of the primary network, and of the subnets in use, is
// connected: the largest first.
func (n *Network) Stake() []SubnetStake {
	sets := largest(n.keeper.InUse())
	out := make([]SubnetStake, len(sets))
	for i, set := range sets {
		out[i] = SubnetStake{
			Subnet: set.SubnetID, Height: set.Height, Validators: len(set.Validators),
			Connected: set.Weight(n.connected(set)), Total: set.TotalWeight,
		}
	}
	return out
}

// Validators are the entries of a validator set, the heaviest first, and how they do.
type Validators struct {
	SubnetStake
	// Keyless is weight of Total without a BLS key, Inactive that of L1 validators that are
	// out of balance. They are entries too, as far as they are known.
	Keyless, Inactive uint64
	Entries           []Validator
}

// Validator is one entry of a validator set.
type Validator struct {
	// Weight is that of all nodes with the entry's key.
	Weight uint64
	// Underfunded reports that it is not asked, as it is out of balance or about to be.
	Underfunded bool
	Nodes       []ValidatorNode
}

// ValidatorNode is a node that signs with the key of an entry.
type ValidatorNode struct {
	p2p.Peer
	aggregator.Conduct
}

// Validators returns the validators of a subnet in use at the proposed height.
func (n *Network) Validators(subnet chain.ID) (*Validators, bool) {
	sets := n.keeper.InUse()
	i := slices.IndexFunc(sets, func(s *valset.Set) bool { return s.SubnetID == subnet })
	if i < 0 {
		return nil, false
	}
	set := sets[i]
	out := &Validators{Keyless: set.TotalWeight}
	out.Subnet, out.Height, out.Validators, out.Total = subnet, set.Height, len(set.Validators), set.TotalWeight
	out.Connected = set.Weight(n.connected(set))
	for i := range set.Validators {
		v := &set.Validators[i]
		out.Keyless -= v.Weight
		e := Validator{Weight: v.Weight, Underfunded: v.Underfunded}
		for _, id := range v.NodeIDs {
			p, _ := n.peers.Peer(id) // of one that is not wanted nothing is known
			e.Nodes = append(e.Nodes, ValidatorNode{Peer: p, Conduct: n.agg.Conduct(subnet, v, id)})
		}
		out.Entries = append(out.Entries, e)
	}
	out.Inactive = min(set.Inactive, out.Keyless)
	out.Keyless -= out.Inactive
	for _, v := range set.OutOfBalance {
		out.Entries = append(out.Entries, Validator{Weight: v.Weight, Underfunded: true, Nodes: []ValidatorNode{{Peer: p2p.Peer{NodeID: v.NodeID}}}})
	}
	slices.SortStableFunc(out.Entries, func(a, b Validator) int { return cmp.Compare(b.Weight, a.Weight) })
	return out, true
}

// SigningSet returns the validators that must have signed a message of a chain: those of
// its subnet unless another one is named, at a height of the P-Chain, 0 being the proposed.
func (n *Network) SigningSet(ctx context.Context, source chain.ID, subnet *chain.ID, height uint64) (*valset.Set, error) {
	if subnet == nil {
		id, err := n.keeper.SubnetOf(ctx, source)
		if err != nil {
			return nil, err
		}
		subnet = &id
	}
	return n.keeper.At(ctx, *subnet, height)
}
