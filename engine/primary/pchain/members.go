package pchain

import (
	"bytes"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	store "quorate/engine/store/index"
)

// Member is a member of a validator set at a height, as platform.getValidatorsAt returns
// it: a node with all its weight, the zero node with that of all who cannot pay.
type Member struct {
	Node   chain.NodeID
	Weight uint64
	Key    *[platform.BLSKeyLen]byte // nil without one
}

// ValidatorsAt returns the validator set of a subnet after the block at a height, in the
// order of the nodes; ok is false for heights that rows do not reach, or where not all is
// known. What it costs depends on the size of the set, and not on the height or on how
// long the chain is.
func (v *View) ValidatorsAt(subnet chain.ID, height uint64) (list []Member, ok bool, err error) {
	if ok, err := v.knowsSets(height); err != nil || !ok {
		return nil, false, err
	}
	set, err := v.setAt(subnet, height)
	if err != nil {
		return nil, false, err
	}
	if subnet != chain.PrimaryNetworkID {
		if err := inheritKeys(set, func() (map[string]*member, error) { return v.setAt(chain.PrimaryNetworkID, height) }); err != nil {
			return nil, false, err
		}
	}
	return membersOf(set), true, nil
}

// knowsSets reports whether all validator sets at a height are known. Rows of before
// version 2 have no marks.
func (v *View) knowsSets(height uint64) (ok bool, err error) {
	if height > v.Tip().Height || !v.head.Exact {
		return false, nil
	}
	_, ok, err = v.Get(v.Key(store.PlatformSetPoints).U8(pointMark).ID(chain.PrimaryNetworkID))
	return ok, err
}

// AllValidatorsAt returns the validator sets of all subnets that have one after the block
// at a height, each as [View.ValidatorsAt] does.
func (v *View) AllValidatorsAt(height uint64) (sets map[chain.ID][]Member, ok bool, err error) {
	if ok, err := v.knowsSets(height); err != nil || !ok {
		return nil, false, err
	}
	all, err := v.setsAt(height)
	if err != nil {
		return nil, false, err
	}
	sets = make(map[chain.ID][]Member, len(all))
	for id, set := range all {
		if len(set) == 0 {
			continue
		}
		if id != chain.PrimaryNetworkID {
			if err := inheritKeys(set, func() (map[string]*member, error) { return all[chain.PrimaryNetworkID], nil }); err != nil {
				return nil, false, err
			}
		}
		sets[id] = membersOf(set)
	}
	return sets, true, nil
}

// maxMembers bounds what is read of a validator set and its changes.
const maxMembers = 1 << 24

// nodeOf reads the node that the ID of a member is.
func nodeOf(id []byte) (node chain.NodeID, ok bool) {
	return node, copy(node[:], id) == len(id) && len(id) == len(node)
}

// inheritKeys has validators of permissioned subnets have the keys that their nodes
// have in the primary network.
func inheritKeys(set map[string]*member, network func() (map[string]*member, error)) error {
	var of map[string]*member
	for id, m := range set {
		node, ok := nodeOf([]byte(id))
		if !ok || m.Key != nil {
			continue
		}
		if of == nil {
			var err error
			if of, err = network(); err != nil {
				return err
			}
		}
		if p := of[string(node[:])]; p != nil {
			m.Key = p.Key
		}
	}
	return nil
}

// membersOf returns a set in the order of its nodes. All that cannot pay are one member
// without a node. A validator of a subnet from before it became an L1 may validate the L1
// as well: to the chain that is one member with both weights, and the key it had before.
func membersOf(set map[string]*member) (list []Member) {
	var later []Member // validations of L1s
	for id, m := range set {
		switch _, before := nodeOf([]byte(id)); {
		case m.Inactive:
			later = append(later, Member{Weight: m.Weight})
		case before:
			list = append(list, Member{Node: m.Node, Weight: m.Weight, Key: m.Key})
		default:
			later = append(later, Member{Node: m.Node, Weight: m.Weight, Key: m.Key})
		}
	}
	list = append(list, later...)
	slices.SortStableFunc(list, func(a, b Member) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	one := list[:0]
	for i := range list {
		if n := len(one); n > 0 && one[n-1].Node == list[i].Node {
			one[n-1].Weight = chain.AddSaturated(one[n-1].Weight, list[i].Weight)
			continue
		}
		one = append(one, list[i])
	}
	return one
}
