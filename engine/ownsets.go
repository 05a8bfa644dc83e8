package engine

import (
	"errors"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// ownSets are the validator sets that a P-Chain's rows have, for signing.
type ownSets struct{ rows *pchain.Chain }

var _ valset.Rows = ownSets{}

// Made implements [valset.Rows].
func (o ownSets) Made() string { return o.rows.Made() }

// view opens a view, nil if there is no block yet.
func (o ownSets) view() (*pchain.View, error) {
	v, err := o.rows.View()
	if errors.Is(err, primary.ErrEmpty) {
		return nil, nil
	}
	return v, err
}

// AllValidatorsAt implements [valset.Rows].
func (o ownSets) AllValidatorsAt(height uint64) (sets map[chain.ID][]valset.Member, ok bool, err error) {
	v, err := o.view()
	if v == nil {
		return nil, false, err
	}
	defer v.Close()
	all, ok, err := v.AllValidatorsAt(height)
	if err != nil || !ok {
		return nil, false, err
	}
	sets = make(map[chain.ID][]valset.Member, len(all))
	for id, members := range all {
		sets[id] = signers(members)
	}
	return sets, true, nil
}

// ValidatorsAt implements [valset.Rows].
func (o ownSets) ValidatorsAt(subnet chain.ID, height uint64) (members []valset.Member, ok bool, err error) {
	v, err := o.view()
	if v == nil {
		return nil, false, err
	}
	defer v.Close()
	list, ok, err := v.ValidatorsAt(subnet, height)
	return signers(list), ok, err
}

// SubnetOf implements [valset.Rows].
func (o ownSets) SubnetOf(blockchain chain.ID) (subnet chain.ID, ok bool, err error) {
	v, err := o.view()
	if v == nil {
		return subnet, false, err
	}
	defer v.Close()
	c, ok, err := v.Blockchain(blockchain)
	if err != nil || !ok {
		return subnet, false, err
	}
	return c.Subnet, true, nil
}

// signers returns members as a node's client does.
func signers(list []pchain.Member) []valset.Member {
	out := make([]valset.Member, len(list))
	for i := range list {
		out[i] = valset.Member{NodeID: list[i].Node, Weight: list[i].Weight}
		if key := list[i].Key; key != nil {
			out[i].PublicKey = key[:]
		}
	}
	return out
}
