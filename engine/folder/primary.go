package folder

import (
	"errors"
	"fmt"
	"slices"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// primaryKey names a chain of a primary network.
type primaryKey struct {
	network uint32
	kind    primary.Kind
}

// primaryOffline is a chain of a primary network in a data folder that nothing serves.
type primaryOffline struct {
	o       *Offline
	name    string
	network uint32
	kind    primary.Kind
	rows    *primary.Chain
	// recorded: what the rows follow from beside blocks was kept with them.
	recorded bool
	// missing: it was with a genesis that is not in the folder.
	missing  bool
	progress func(done, of uint64)
}

// Errors of rows that cannot be made again without a server.
var (
	errNotRecorded = errors.New("the rows are of an older version, which did not keep what they were made with: start the server that follows the network, which makes them again by itself")
	errNoGenesis   = errors.New("the genesis that the rows were made with is not in the folder: start the server once with --genesis-file")
)

// made returns why the rows cannot be made again, or nil.
func (p *primaryOffline) made() error {
	if _, any := p.rows.First(); !any {
		return nil // there are none
	}
	switch {
	case p.missing:
		return errNoGenesis
	case p.recorded || p.kind != primary.PChain:
		return nil
	case p.network == chain.MainnetID || p.network == chain.FujiID: // their upgrades are known
		return nil
	}
	return errNotRecorded
}

// archive opens the archive of the chain.
func (p *primaryOffline) archive(do func(primary.Blocks) error) error {
	return p.o.openArchive(p.name, container.KindOf(p.kind), func(a *archive.Archive) error {
		first, _, ok := a.First()
		if begun, any := p.rows.First(); any && (!ok || first > begun) {
			return fmt.Errorf("the archive begins at block %d, and lacks the blocks from %d on", first, begun)
		}
		return do(container.NewReader(a, p.kind))
	})
}

// eachPrimary opens the chains of primary networks one after the other, and reports
// whether there were any: vertices before the blocks that follow on them.
func (o *Offline) eachPrimary(db *store.DB, ids [][32]byte, do func(*primaryOffline) error) (any bool, err error) {
	var networks []uint32
	have := make(map[primaryKey]bool)
	for _, raw := range ids {
		if network, kind, ok := primary.IsRowsID(chain.ID(raw)); ok {
			have[primaryKey{network, kind}] = true
			if !slices.Contains(networks, network) {
				networks = append(networks, network)
			}
		}
	}
	slices.Sort(networks)
	for _, network := range networks {
		opened, err := o.openNetwork(db, network, have)
		if err != nil {
			return any, fmt.Errorf("network %d: %w", network, err)
		}
		for _, p := range opened {
			if o.Chain != "" && o.Chain != p.name {
				continue
			}
			any = true
			if err := do(p); err != nil {
				return any, fmt.Errorf("chain %s: %w", p.name, err)
			}
		}
	}
	return any, nil
}

// openNetwork opens the rows of a primary network as the server that made them did.
func (o *Offline) openNetwork(db *store.DB, network uint32, have map[primaryKey]bool) (list []*primaryOffline, err error) {
	with := Rows{Network: network}
	var vertices *primary.Chain
	for _, c := range PrimaryChains {
		if !have[primaryKey{network, c.Kind}] {
			continue
		}
		p := &primaryOffline{o: o, name: PrimaryName(network, c.Kind), network: network, kind: c.Kind}
		p.progress = o.progress(p.name)
		given, ok, err := primary.GivenOf(db, network, c.Kind)
		if err != nil {
			return nil, err
		}
		p.recorded = ok
		if c.Kind == primary.PChain {
			if err := o.recall(&with, &given, ok); err != nil {
				return nil, err
			}
			if p.rows, err = openPlatform(db, &with); err != nil {
				return nil, err
			}
		} else if p.rows, err = with.Open(db, c.Kind, vertices); err != nil {
			return nil, err
		}
		if c.Kind == primary.XVertices {
			vertices = p.rows
		}
		p.missing = !given.Genesis.IsZero() && with.genesis == nil
		list = append(list, p)
	}
	return list, nil
}

// recall takes up what the rows of a P-Chain follow from beside blocks.
func (o *Offline) recall(with *Rows, given *primary.Given, recorded bool) error {
	if !recorded {
		return nil
	}
	with.Upgrades = &given.Upgrades
	genesis, err := KeptGenesis(o.DataDir, with.Network, given.Genesis)
	if err != nil {
		return err
	}
	return with.Know(genesis)
}

// openPlatform opens the rows of a P-Chain, with the coin that they know.
func openPlatform(db *store.DB, with *Rows) (*primary.Chain, error) {
	for {
		c, err := with.Platform(db)
		if err != nil {
			return nil, err
		}
		if !with.Asset.IsZero() {
			return c.Chain, nil
		}
		v, err := c.View()
		if errors.Is(err, primary.ErrEmpty) {
			return c.Chain, nil
		}
		if err != nil {
			return nil, err
		}
		with.Asset = v.AVAX()
		v.Close()
		if with.Asset.IsZero() {
			return c.Chain, nil
		}
	}
}
