package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// version counts the rules that rows are made by: whoever changes which rows a block
// has, or what is in them, adds one. Rows of versions from reads on are served until they
// are made again.
const (
	version = 11
	// wholeLists is the version from which on stakers are in lists of any status, from
	// which none is ever taken away.
	wholeLists = 5
	reads      = 1  // without the points of validator sets, which are not read of it
	burned     = 6  // rows from it on have what was burned
	supplied   = 7  // and what is locked and was rewarded
	live       = 8  // live lists are trees
	rated      = 11 // rewards are by the rates of Helicon
)

// Config says what network's P-Chain it is.
type Config struct {
	Network uint32
	// Genesis is the state that the network started with; nil where it is not known.
	Genesis *platform.Genesis
	// Params and Upgrades default to those of the network.
	Params   *rules.Params
	Upgrades *rules.Upgrades
	// AVAX is the ID of the asset; zero: that of the genesis, or of the first stake.
	AVAX chain.ID
}

// Chain is the rows of a P-Chain.
type Chain struct {
	*primary.Chain
	cfg Config
}

// Open returns the rows of a network's P-Chain.
func Open(db *store.DB, cfg Config) (*Chain, error) { return open(db, cfg, version) }

func open(db *store.DB, cfg Config, version uint16) (*Chain, error) {
	cfg.fill()
	given := primary.Given{Upgrades: *cfg.Upgrades}
	if cfg.Genesis != nil {
		given.Genesis = cfg.Genesis.ID
	}
	c, err := primary.OpenChain(db, primary.Config{
		ID: primary.RowsID(cfg.Network, primary.PChain), Version: version, Reads: reads, Burned: burned, Supplied: supplied, Live: live, Given: given,
		Machine: func() primary.Machine { return &machine{cfg: &cfg} },
	})
	if err != nil {
		return nil, fmt.Errorf("P-Chain of network %d: %w", cfg.Network, err)
	}
	return &Chain{Chain: c, cfg: cfg}, nil
}

// rewards returns the parameters for a stake of the primary network that starts at a time.
func (c *Config) rewards(start uint64) rules.Rewards {
	return c.Upgrades.Rewards(c.Params.Rewards, start)
}

func (c *Config) fill() {
	if c.Params == nil {
		p := rules.For(c.Network)
		c.Params = &p
	}
	if c.Upgrades == nil {
		u := rules.UpgradesOf(c.Network)
		c.Upgrades = &u
	}
}
