package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/folder"
	"quorate/engine/follow"
	"quorate/engine/network"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
)

// PrimaryNetwork are the followed chains of a primary network.
type PrimaryNetwork struct {
	network *network.Network
	of      *primaries
}

// ID returns the network's number.
func (p PrimaryNetwork) ID() uint32 { return p.network.ID() }

// AVAX returns the ID of the network's coin, zero as long as it is not known.
func (p PrimaryNetwork) AVAX() chain.ID {
	id, _ := p.network.Asset()
	return id
}

// Told returns what nodes answer about the network that is in no block.
func (p PrimaryNetwork) Told() *primary.Told { return p.network.Told() }

// Chain returns a followed chain, or nil.
func (p PrimaryNetwork) Chain(k primary.Kind) *follow.Primary { return p.of.get(p.network.ID(), k) }

// PrimaryNetwork returns the primary network called mainnet, fuji or testnet; ok is
// false if none of its chains is followed.
func (e *Engine) PrimaryNetwork(name string) (p PrimaryNetwork, ok bool) {
	if !isName(name) {
		return p, false
	}
	n := e.networks.best(rankOf(name))
	if n == nil {
		return p, false
	}
	p = PrimaryNetwork{n, &e.primaries}
	return p, e.primaries.any(n.ID())
}

// primaries are the followed chains of primary networks.
type primaries struct {
	starting sync.Mutex                // held while chains are started; guards what follows
	tried    map[primaryKey]bool       // also those that could not be started
	ruled    map[uint32]rules.Upgrades // by which a network's P-Chain is executed

	mu     sync.Mutex // guards what follows
	chains map[primaryKey]*follow.Primary
}

type primaryKey struct {
	network uint32
	kind    primary.Kind
}

func (p *primaries) get(network uint32, kind primary.Kind) *follow.Primary {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chains[primaryKey{network, kind}]
}

func (p *primaries) any(network uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.chains {
		if k.network == network {
			return true
		}
	}
	return false
}

// list returns all chains, vertices before the blocks that follow on them.
func (p *primaries) list() (all []*follow.Primary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.chains {
		all = append(all, f)
	}
	place := func(f *follow.Primary) int {
		return slices.IndexFunc(folder.PrimaryChains, func(c folder.PrimaryChain) bool { return c.Kind == f.Kind() })
	}
	slices.SortFunc(all, func(a, b *follow.Primary) int {
		return cmp.Or(cmp.Compare(a.NetworkID(), b.NetworkID()), cmp.Compare(place(a), place(b)))
	})
	return all
}

// held returns the bytes of blocks that wait for their commit, of a network.
func (p *primaries) held(network uint32) (sum int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, f := range p.chains {
		if k.network == network {
			sum += f.Held()
		}
	}
	return sum
}

func (p *primaries) add(f *follow.Primary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chains == nil {
		p.chains = make(map[primaryKey]*follow.Primary)
	}
	p.chains[primaryKey{f.NetworkID(), f.Kind()}] = f
}

// trouble says what is wrong with the containers of a C-Chain, or nil.
func (p *primaries) trouble(network uint32, id chain.ID) error {
	c := p.get(network, primary.CChain)
	if c == nil || c.ID() != id {
		return nil
	}
	return beside(c, "containers")
}

// beside says what is wrong with a chain that has no check of its own.
func beside(p *follow.Primary, what string) error {
	if p == nil {
		return nil
	}
	if _, _, err := p.Check(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// followPrimary begins to follow those chains of a primary network that are known, and
// not followed yet.
func (e *Engine) followPrimary(n *network.Network, prefix string) error {
	if e.cfg.NoPrimary {
		return nil
	}
	e.primaries.starting.Lock()
	defer e.primaries.starting.Unlock()
	var errs []error
	for _, c := range folder.PrimaryChains {
		of, key := n.Primary(c.Letter), primaryKey{n.ID(), c.Kind}
		if e.primaries.tried[key] && c.Kind == primary.PChain {
			e.checkRules(n)
		}
		if of == nil || e.primaries.tried[key] {
			continue
		}
		if e.primaries.tried == nil {
			e.primaries.tried, e.primaries.ruled = make(map[primaryKey]bool), make(map[uint32]rules.Upgrades)
		}
		var upgrades rules.Upgrades
		if c.Kind == primary.PChain {
			var ok bool
			if upgrades, ok = n.Upgrades(); !ok {
				continue // no node has said by what rules blocks are executed
			}
			e.primaries.ruled[n.ID()] = upgrades
		}
		e.primaries.tried[key] = true
		p, err := e.newPrimary(n, c.Kind, of.ID, prefix+c.Name, folder.PrimaryName(n.ID(), c.Kind), &upgrades)
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("chain %s: %w", prefix+c.Name, err))
			continue
		}
		e.primaries.add(p)
		if rows, ok := p.Rows().(*pchain.Chain); ok {
			n.OwnSets(ownSets{rows})
			errs = append(errs, n.Go("standings of validators", func(ctx context.Context) error {
				return n.WatchStandings(ctx, ownSets{rows}.differ)
			}))
		}
		if c.Name == c.Letter {
			n.Attach(of, containers{p, func() error {
				switch c.Kind {
				case primary.PChain:
					return errors.Join(n.SetsTrouble(), n.RewardsTrouble())
				case primary.XChain:
					return beside(e.primaries.get(n.ID(), primary.XVertices), "vertices")
				}
				return nil
			}})
		}
	}
	return errors.Join(errs...)
}

// checkRules ends the process if the rules of a network have come to change at another time
// than its P-Chain is executed by: the next start makes the rows again.
func (e *Engine) checkRules(n *network.Network) {
	by := e.primaries.ruled[n.ID()]
	if now, ok := n.Upgrades(); ok && now != by {
		e.fail(fmt.Errorf("the nodes of network %d apply new rules at other times than before (%+v, and not %+v): start again", n.ID(), now, by))
	}
}

// newPrimary returns a chain that is to be started.
func (e *Engine) newPrimary(n *network.Network, kind primary.Kind, id chain.ID, name, dir string, upgrades *rules.Upgrades) (*follow.Primary, error) {
	cfg := follow.PrimaryConfig{Common: e.common(n, id, name, dir, e.budget.Primary), Chain: kind}
	genesis, err := e.genesisOf(n.ID())
	if err != nil {
		return nil, err
	}
	if kind == primary.PChain && genesis != nil {
		cfg.Genesis = primary.GenesisID(genesis)
	}
	rows := folder.Rows{Network: n.ID(), Upgrades: upgrades}
	if err := rows.Know(genesis); err != nil {
		return nil, err
	}
	if id, ok := n.Asset(); ok {
		rows.Asset = id
	}
	db := e.disk.index.Load()
	if kind == primary.PChain {
		cfg.Rows = func() (follow.PrimaryRows, error) { return rows.Platform(db) }
		return follow.NewPrimary(cfg), nil
	}
	var before *primary.Chain
	if kind == primary.XChain {
		if cfg.After = e.primaries.get(n.ID(), primary.XVertices); cfg.After == nil {
			return nil, errors.New("its vertices cannot be followed")
		}
		before, _ = cfg.After.Rows().(*primary.Chain)
	}
	var opened *primary.Chain
	cfg.Rows = func() (_ follow.PrimaryRows, err error) {
		opened, err = rows.Open(db, kind, before)
		return opened, err
	}
	if before != nil {
		cfg.Inherited = func() (bool, error) { return xchain.Inherited(opened, before) }
	}
	return follow.NewPrimary(cfg), nil
}

// containers shows a chain of the primary network to its network. beside says what is
// wrong with what belongs to it.
type containers struct {
	*follow.Primary
	beside func() error
}

// Check implements [network.Indexed].
func (c containers) Check() (network.State, bool, error) {
	s, ok, err := c.Primary.Check()
	if ok {
		err = errors.Join(err, c.beside())
	}
	return network.State{Height: s.Height, ID: s.ID, Waiting: s.Waiting, WaitingFor: s.WaitingFor, Details: syncing(&s)}, ok, err
}

// genesisOf returns the genesis of a network, nil if it is not known: the one that the
// configuration has, which is kept, or else the kept one that the P-Chain's rows were
// made with.
func (e *Engine) genesisOf(network uint32) ([]byte, error) {
	if g := e.cfg.Genesis[network]; g != nil {
		return g, folder.KeepGenesis(e.cfg.DataDir, network, g)
	}
	given, ok, err := primary.GivenOf(e.disk.index.Load(), network, primary.PChain)
	if err != nil || !ok || given.Genesis.IsZero() {
		return nil, err
	}
	return folder.KeptGenesis(e.cfg.DataDir, network, given.Genesis)
}
