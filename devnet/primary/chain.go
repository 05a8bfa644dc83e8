package primary

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// DefaultBlocks is about how many blocks the P-Chain has at the start.
const DefaultBlocks = 8000

// Config says what [Make] makes.
type Config struct {
	// World is the network that the chains are of.
	World *world.World
	// Blocks is about how many blocks the P-Chain has; 0 means [DefaultBlocks]. A
	// history has at least some hundred: one of each kind of everything. The X-Chain
	// has about a third as many vertices and blocks.
	Blocks int
	// Helicon is when that upgrade activates, by the chain's time; the zero time is
	// never. It is refused before Granite, which activates 45 days before the end of the
	// history.
	Helicon time.Time
}

// ErrHelicon is returned for a [Config] with a time of Helicon that cannot be.
var ErrHelicon = errors.New("the upgrade Helicon cannot come before Granite")

// Chain is the P- and the X-Chain of a simulated network. Its methods may be called
// from any goroutine.
type Chain struct {
	w       *world.World
	forks   Forks
	genesis []byte
	zero    []byte // the P-Chain's block at height 0

	core *core // nil without a C-Chain

	mu sync.RWMutex // guards what follows
	*maker
}

// maker makes the chains.
type maker struct {
	cfg   Config
	w     *world.World
	forks Forks
	rng   *rand.Rand
	s     *State
	p     line
	nodes map[chain.NodeID]*world.Validator

	tip     uint64                  // when the history ends
	grown   bool                    // it has ended
	open    []platform.Tx           // of the block that is being made
	queue   []event                 // by time
	formers []*world.Validator      // nodes that are no validators at tip
	guests  []*world.Validator      // some that are
	free    map[chain.NodeID]uint64 // until when a guest may have other stints
	order   map[chain.ID][]*Staker  // validators by subnet
	final   map[chain.ID]bool       // validators beyond tip, by transaction
	assets  []chain.ID              // of the X-Chain with a fixed amount

	renewers []*renewer       // nodes that validate by renewed cycles in the history
	lasting  []*renewer       // and validators that do so at tip
	away     map[chain.ID]int // which cycle is refused its reward, counted from 1
	err      error

	xmaker
}

// Make makes the chains up to the time at which the network's EVM chains begin to
// grow.
func Make(cfg Config) (*Chain, error) {
	if cfg.Blocks == 0 {
		cfg.Blocks = DefaultBlocks
	}
	w := cfg.World
	tip := uint64(w.GenesisTime().Unix()) // after 1970
	forks := forksBefore(tip, cfg.Helicon)
	if forks.Helicon < forks.Granite {
		return nil, fmt.Errorf("%w, at %s", ErrHelicon, time.Unix(int64(forks.Granite), 0).UTC().Format(time.RFC3339)) // after 1970
	}
	m := &maker{cfg: cfg, w: w, forks: forks, nodes: make(map[chain.NodeID]*world.Validator)}
	m.rng = rand.New(rand.NewChaCha8(w.ChainSeed(chain.PlatformChainID)))
	for _, v := range w.Validators() {
		m.nodes[v.NodeID] = v
	}
	for _, l := range w.L1s() {
		for _, v := range l.Former() {
			m.nodes[v.NodeID] = v.Validator
		}
	}
	for i := range min(max(cfg.Blocks/25, minFormers), maxFormers) {
		v, err := w.Former(i)
		if err != nil {
			return nil, err
		}
		m.formers = append(m.formers, v)
		m.nodes[v.NodeID] = v
	}
	if err := m.findRenewers(tip); err != nil {
		return nil, err
	}
	c := &Chain{w: w, forks: m.forks, maker: m}
	g, err := m.makeGenesis(tip)
	if err != nil {
		return nil, err
	}
	if c.genesis, err = g.Bytes(); err != nil {
		return nil, fmt.Errorf("P-Chain genesis: %w", err)
	}
	if g, err = platform.ParseGenesis(c.genesis); err != nil {
		return nil, err
	}
	zero := platform.Block{Kind: platform.ApricotCommit, Parent: g.ID}
	if c.zero, err = zero.Bytes(); err != nil {
		return nil, fmt.Errorf("P-Chain genesis: %w", err)
	}
	m.s = newState(w.AssetID(), m.forks, g)
	m.p = line{parent: sha256.Sum256(c.zero), inner: g.Time}
	m.p.outer = m.p.parent
	if err := m.makeX(); err != nil {
		return nil, err
	}
	m.plan(tip)
	m.run(tip)
	return c, m.err
}

// Genesis returns the bytes of the P-Chain's genesis state, whose hash the block at
// height 0 names as its parent.
func (c *Chain) Genesis() []byte { return c.genesis }

// First returns the bytes of the P-Chain's block at height 0, which is no container.
func (c *Chain) First() []byte { return c.zero }

// Forks returns the times of the network's upgrades.
func (c *Chain) Forks() Forks { return c.forks }

// Platform returns the P-Chain's containers: that at index i has height i+1. The
// slice must not be changed.
func (c *Chain) Platform() []*Container {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.p.all[:len(c.p.all):len(c.p.all)]
}

// Find returns a block of the P- or the X-Chain by its own ID or its container's, or
// nil.
func (c *Chain) Find(blockchain, id chain.ID) *Container {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if blockchain == chain.PlatformChainID {
		return c.p.byID[id]
	}
	return c.line.byID[id]
}

// Read calls f with the P-Chain's state, which must neither be changed nor kept.
func (c *Chain) Read(f func(*State)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f(c.s)
}

// makeGenesis makes the genesis state: what owners of L1s and accounts have, of which
// some is locked, and the first validators.
func (m *maker) makeGenesis(tip uint64) (*platform.Genesis, error) {
	g := &platform.Genesis{Time: m.forks.Genesis, Chains: m.w.GenesisChains(), Message: "the simulated network"}
	give := func(owners utxo.Owners, amount, lock uint64) {
		g.UTXOs = append(g.UTXOs, platform.GenesisUTXO{UTXO: utxo.UTXO{
			Ref: utxo.Ref{Index: uint32(len(g.UTXOs))}, // thousands
			Output: utxo.Output{Asset: m.w.AssetID(), StakeLock: lock, State: utxo.State{
				Kind: utxo.TransferOutput, Amount: amount, Owners: owners,
			}},
		}})
		g.InitialSupply += amount
	}
	for i := range world.MaxL1s { // first: their transactions name them by index
		give(world.Single(m.w.L1Owner(i)), world.L1Funds, 0)
	}
	staked := uint64(0)
	for _, v := range m.w.Validators() {
		if v.Weight > 0 {
			give(world.Single(v.Reward), m.ownStake(v)+100*avax, 0)
			staked += v.Weight - m.ownStake(v)
		}
	}
	for i := range world.Accounts {
		give(world.Single(m.w.Account(i)), accountFunds+staked/(world.Accounts/2), 0)
		if i%4 == 0 { // and what can only be staked for a time
			give(world.Single(m.w.Account(i)), lockedFunds, m.forks.Genesis+uint64(1+i%3)*400*day) // small
		}
	}
	for _, r := range m.renewers {
		give(world.Single(r.node.Reward), r.stake+100*avax, 0)
	}
	for i, v := range m.formers[:founders] {
		tx, err := m.founder(v, uint64(i)) // small
		if err != nil {
			return nil, err
		}
		g.Validators = append(g.Validators, tx)
		g.InitialSupply += founderStake
	}
	slices.SortFunc(g.Validators, func(a, b platform.Tx) int {
		return int(int64(endOf(&a)) - int64(endOf(&b))) // a few years apart
	})
	g.InitialSupply = min(g.InitialSupply, supplyCap/2)
	return g, nil
}

func endOf(tx *platform.Tx) uint64 { return tx.Body.(*platform.AddValidator).End }

// founder returns the transaction of a validator that the network begins with.
func (m *maker) founder(v *world.Validator, i uint64) (platform.Tx, error) {
	return world.Sealed(&platform.AddValidator{
		Base: utxo.Base{NetworkID: world.NetworkID},
		Validator: platform.Validator{
			NodeID: v.NodeID, Start: m.forks.Genesis, End: m.forks.Genesis + 365*day - i*5400, Weight: founderStake,
		},
		Stake: []utxo.Output{{Asset: m.w.AssetID(), State: utxo.State{
			Kind: utxo.TransferOutput, Amount: founderStake, Owners: world.Single(v.Reward),
		}}},
		RewardsOwner: world.Single(v.Reward), DelegationFee: 20_000 + uint32(i)*10_000, // small
	}, nil)
}

// ownStake is what a validator stakes itself at the end of the history. The rest of
// its weight is delegated to it.
func (m *maker) ownStake(v *world.Validator) uint64 {
	if m.renewing(v) != nil {
		return v.Weight
	}
	if own := v.Weight / 8 * 7; own >= 2*MinValidatorStake {
		return own
	}
	return v.Weight
}
