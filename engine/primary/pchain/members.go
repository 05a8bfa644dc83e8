package pchain

import (
	"bytes"
	"slices"

	"quorate/engine/chain"
)

// inheritKeys has validators of permissioned subnets have the keys that their nodes
// have in the primary network.
func (v *View) inheritKeys(set map[string]*member, height uint64) error {
	var of map[string]*member
	for id, m := range set {
		node, ok := nodeOf([]byte(id))
		if !ok || m.Key != nil {
			continue
		}
		if of == nil {
			var err error
			if of, err = v.setAt(chain.PrimaryNetworkID, height); err != nil {
				return err
			}
		}
		if p := of[string(node[:])]; p != nil {
			m.Key = p.Key
		}
	}
	return nil
}

// membersOf returns a set in the order of its nodes.
func membersOf(set map[string]*member) (list []Member) {
	inactive := uint64(0)
	for _, m := range set {
		if m.Inactive {
			inactive += m.Weight
			continue
		}
		list = append(list, Member{Node: m.Node, Weight: m.Weight, Key: m.Key})
	}
	if inactive > 0 {
		list = append(list, Member{Weight: inactive})
	}
	slices.SortFunc(list, func(a, b Member) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	return list
}
