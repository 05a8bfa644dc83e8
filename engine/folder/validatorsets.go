package folder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

// ValidatorSetsConfig says which validator sets [ValidatorSets] yields.
type ValidatorSetsConfig struct {
	// DataDir is used by no server.
	DataDir string
	// Network is the number of a network; zero is the only one that the folder has.
	Network uint32
	// First and Last are heights of the P-Chain; nil is its last block.
	First, Last *uint64
	// Subnet is the one whose sets are wanted; nil is all that have a validator.
	Subnet *chain.ID
	// OnSet gets one set after the other, by height and subnet. Its error ends the rest.
	OnSet func(height uint64, subnet chain.ID, members []pchain.Member) error
}

// ValidatorSets reads validator sets from the P-Chain's rows in a data folder, those from
// which messages are signed. No node is asked.
func ValidatorSets(ctx context.Context, cfg ValidatorSetsConfig) (err error) {
	dir, err := (&Offline{DataDir: cfg.DataDir}).indexDir()
	if err != nil {
		return err
	}
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	network, err := onlyNetwork(db, cfg.Network)
	if err != nil {
		return err
	}
	rows, err := pchain.Open(db, pchain.Config{Network: network})
	if err != nil {
		return err
	}
	v, err := rows.View()
	if err != nil {
		return err
	}
	defer v.Close()
	first, last := v.Tip().Height, v.Tip().Height
	if cfg.First != nil {
		first, last = *cfg.First, *cfg.First
	}
	if cfg.Last != nil {
		last = *cfg.Last
	}
	for h := first; h <= last; h++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := cfg.at(v, h); err != nil {
			return fmt.Errorf("height %d: %w", h, err)
		}
	}
	return nil
}

// errNoSets means that a folder's rows do not have the validator sets of a height.
var errNoSets = errors.New("the rows do not have its validator sets: they follow from all blocks from the genesis on, which --genesis-file names")

// at yields the sets of one height.
func (cfg *ValidatorSetsConfig) at(v *pchain.View, height uint64) error {
	if tip := v.Tip().Height; height > tip {
		return fmt.Errorf("the P-Chain is indexed up to %d", tip)
	}
	if cfg.Subnet != nil {
		members, ok, err := v.ValidatorsAt(*cfg.Subnet, height)
		if err != nil {
			return err
		}
		if !ok {
			return errNoSets
		}
		return cfg.OnSet(height, *cfg.Subnet, members)
	}
	sets, ok, err := v.AllValidatorsAt(height)
	if err != nil {
		return err
	}
	if !ok {
		return errNoSets
	}
	subnets := make([]chain.ID, 0, len(sets))
	for id := range sets {
		subnets = append(subnets, id)
	}
	slices.SortFunc(subnets, func(a, b chain.ID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range subnets {
		if err := cfg.OnSet(height, id, sets[id]); err != nil {
			return err
		}
	}
	return nil
}

// onlyNetwork returns the network whose P-Chain a database has: that of a number, or of
// zero the only one.
func onlyNetwork(db *store.DB, number uint32) (uint32, error) {
	ids, err := db.Chains()
	if err != nil {
		return 0, err
	}
	var found []uint32
	for _, raw := range ids {
		if network, kind, ok := primary.IsRowsID(chain.ID(raw)); ok && kind == primary.PChain && cmp.Or(number, network) == network {
			found = append(found, network)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return 0, fmt.Errorf("the P-Chains of networks %d are indexed: one has to be named", found)
	case number != 0:
		return 0, fmt.Errorf("the P-Chain of network %d was never indexed", number)
	}
	return 0, errors.New("no P-Chain was ever indexed")
}
