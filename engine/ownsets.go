package engine

import (
	"errors"
	"fmt"
	"strings"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/source/platform"
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

// differ is a [network.Compare]: rewards are made by the rules here and named in no
// transaction.
func (o ownSets) differ(list []platform.Standing, supply platform.Supply) error {
	v, err := o.view()
	if v == nil {
		return err
	}
	defer v.Close()
	if !v.Exact() {
		return nil
	}
	var reasons []string
	b, found, err := v.BlockAt(supply.Height)
	if err != nil {
		return err
	}
	if found && supply.Height > 0 && b.Supply != nil && *b.Supply != supply.Amount {
		reasons = append(reasons, fmt.Sprintf("the supply after block %d is %d nAVAX, and %d there", supply.Height, *b.Supply, supply.Amount))
	}
	for i := range list {
		there := &list[i]
		s, found, err := v.Staker(there.TxID)
		if err != nil {
			return err
		}
		// One may be a few blocks ahead of the other.
		if found && s.Status == primary.Active && s.Start == there.Start && (s.Gross != there.Reward || s.Weight != there.Weight) {
			reasons = append(reasons, fmt.Sprintf("validator %s has staked %d nAVAX and is to earn %d, there %d and %d",
				s.Node, s.Weight, s.Gross, there.Weight, there.Reward))
			break // one is enough
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	if o.rows.Stale() {
		reasons = append(reasons, "the rows are of an older version, and are made again from the archive")
	}
	return fmt.Errorf("rewards differ from what a followed node says: %s", strings.Join(reasons, "; "))
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
