package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/health"
	"quorate/engine/source"
	"quorate/engine/source/platform"
)

// head is the last block that a node has accepted.
type head struct {
	height uint64
	id     chain.ID
}

// Chain is a chain of the network whose health is checked.
type Chain struct {
	ID, Subnet, VM chain.ID // VM is zero where it is unknown

	head func(context.Context) (head, error) // asks the node; nil of configured chains
	// Guarded by the network's mu:
	indexed  Indexed // nil of a chain that is not
	recalled bool    // its ID is remembered, and no node has confirmed it
}

// Indexed is a chain's index, as the health check of the chain sees it.
type Indexed interface {
	// Check returns the last indexed block and what is wrong with the way it came. ok
	// is false as long as the chain is not served: err then says why, nil if that is
	// not known yet.
	Check() (s State, ok bool, err error)
}

// State is how far the index of a chain is.
type State struct {
	Height     uint64
	ID         chain.ID
	Waiting    int // blocks that wait to be indexed
	WaitingFor time.Duration
	// Details are shown in the chain's check besides; nil: nothing.
	Details any
}

// errNotAsked is what is wrong with a configured chain before its node was asked.
var errNotAsked = errors.New("the chain's node was not asked yet")

// Coin returns the C-Chain, nil as long as it is unknown or if there is none.
// certain reports whether that is the last word.
func (n *Network) Coin() (c *Chain, certain bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c = n.chains["C"]
	return c, c != nil || n.withoutC
}

// Primary returns a chain of the primary network by its letter, nil as long as it is
// unknown or if there is none.
func (n *Network) Primary(letter string) *Chain {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.chains[letter]
}

// Announce makes a configured chain known by its names, and has it checked from
// the start on, also while its node does not answer. rpc is the chain's own, if it has one.
func (n *Network) Announce(c *Chain, name string, names []string, rpc source.Endpoint) error {
	n.keeper.Track(c.Subnet)
	own, err := n.ownEpochs(c.ID, rpc)
	n.keeper.FollowEpochs(c.ID, own)
	return errors.Join(
		err,
		n.cfg.Names.Add(c.ID, names...),
		n.cfg.Checker.Register(health.Check{
			Name: name, Tags: []string{c.Subnet.String()},
			Run: func(ctx context.Context) (any, error) { return n.checkChain(ctx, c) },
		}),
	)
}

// epochTimeout bounds a question for the epoch of one chain: those of others wait.
const epochTimeout = 2 * time.Second

// ownEpochs returns what asks the node of a chain's own for its epoch, at the proposervm
// endpoint beside the chain's RPC; nil if that has not the path of a node's.
func (n *Network) ownEpochs(id chain.ID, rpc source.Endpoint) (valset.Epochs, error) {
	if rpc.Zero() {
		return nil, nil
	}
	base, ok := rpc.Sibling(RPCPath(id), "")
	if !ok {
		return nil, nil
	}
	node, _, err := n.Source(source.Config{Timeout: epochTimeout}, base)
	if err != nil {
		return nil, err
	}
	return platform.New(node), nil
}

// Attach has the index of a chain shown in the chain's check.
func (n *Network) Attach(c *Chain, i Indexed) {
	n.keeper.Learn(c.ID, c.Subnet)
	n.mu.Lock()
	defer n.mu.Unlock()
	c.indexed = i
	n.attached = append(n.attached, c)
}

// Accepted takes a block of a followed chain: the messages in it may be signed.
// target is the chain's last known height.
func (n *Network) Accepted(id chain.ID, b *evm.Block, target uint64) {
	n.executed.block(id, b)
	n.ahead.block(b, target)
}

// Later reports whether an EVM chain is known to execute blocks after it accepted them.
func (n *Network) Later(id chain.ID) bool { return n.executed.Later(id) }

// Asset returns the ID of AVAX if it is known without asking a node.
func (n *Network) Asset() (id chain.ID, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.facts.Asset, !n.facts.Asset.IsZero()
}

// AskAsset returns the ID of AVAX, which blocks of the primary network's chains name.
func (n *Network) AskAsset(ctx context.Context) (chain.ID, error) {
	if id, ok := n.Asset(); ok {
		return id, nil
	}
	id, err := n.node.StakingAssetID(ctx)
	if err == nil {
		n.Note(ctx, func(known *Record) { known.Asset = id })
	}
	return id, err
}

// Upgrades returns when the P-Chain's rules changed, if that is known: on mainnet and
// fuji it always is, and the nodes of other networks say it.
func (n *Network) Upgrades() (u rules.Upgrades, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.cfg.ID == 1 || n.cfg.ID == 5 || n.noUpgrades:
		return rules.UpgradesOf(n.cfg.ID), true
	case n.facts.Upgrades != nil && n.facts.Upgrades.Helicon != 0: // older releases did not ask for it
		return *n.facts.Upgrades, true
	case n.cfg.Nodeless: // no node of theirs has said them to those who have written of it
		return rules.UpgradesOf(n.cfg.ID), true
	}
	return u, false
}

// learnUpgrades asks for them until Helicon is active: when it will be can be decided
// late. A node that does not know of it changes nothing.
func (n *Network) learnUpgrades(ctx context.Context) error {
	old, ok := n.Upgrades()
	n.mu.Lock()
	told := n.facts.Upgrades != nil
	n.mu.Unlock()
	if ok && (!told || old.Helicon != 0 && int64(old.Helicon) <= time.Now().Unix()) {
		return nil
	}
	u, err := n.node.Upgrades(ctx)
	switch {
	case errors.Is(err, platform.ErrNoMethod) && ok:
		return nil
	case errors.Is(err, platform.ErrNoMethod): // an older node, which may be updated
		n.mu.Lock()
		n.noUpgrades = true
		n.mu.Unlock()
		return nil
	case err != nil:
		return fmt.Errorf("when its rules changed: %w", err)
	}
	if ok && (u.Helicon == old.Helicon || u.Helicon == rules.Never) {
		return nil
	}
	if ok {
		old.Helicon = u.Helicon // the others have long been
		u = old
	}
	n.Note(ctx, func(known *Record) { known.Upgrades = &u })
	return nil
}

// Source returns a client for a chain's API, which the network closes when it
// stops: at the address own, or below path at the followed nodes, whose changes it
// follows, if own is zero. It fills in the nodes of cfg. at is the address that is
// asked first.
func (n *Network) Source(cfg source.Config, own source.Endpoint) (c *source.Client, at source.Endpoint, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	cfg.Nodes, cfg.Pool, cfg.Logger, cfg.Metrics = n.nodes, n.cfg.Answers, n.cfg.Log("source"), n.metrics
	if !own.Zero() {
		cfg.Nodes = []source.Endpoint{own}
	}
	if c, err = source.New(cfg); err != nil {
		return nil, at, err
	}
	if own.Zero() {
		n.shared = append(n.shared, c)
	} else {
		n.apart = append(n.apart, c)
	}
	return c, cfg.Nodes[0], nil
}

// recallChains takes up the chains that are remembered: they are known by name and
// served from the index before any node has answered.
func (n *Network) recallChains() {
	log := n.cfg.Log("main")
	for _, c := range primaryChains {
		id, ok := n.cfg.Known.Chains[c.name]
		if !ok {
			continue
		}
		if err := n.follow(c.name, c.long, c.vm, id, true); err != nil {
			log.Warn("a remembered chain cannot be followed", "network", n.cfg.ID, "chain", c.name, "err", err)
		}
	}
	if err := n.cfg.Found(n); err != nil {
		log.Warn("a remembered chain cannot be followed", "network", n.cfg.ID, "err", err)
	}
}

// Learn takes what others know of the network by now.
func (n *Network) Learn(known *Record) error {
	n.mu.Lock()
	n.facts.Merge(known)
	n.mu.Unlock()
	return n.cfg.Found(n)
}

// readHead fills in the last block: of an indexed chain the index's, and otherwise
// the node's.
func (n *Network) readHead(ctx context.Context, c *Chain, to *consensus, details *any) error {
	n.mu.Lock()
	indexed := c.indexed
	n.mu.Unlock()
	to.LongestProcessingBlock = time.Duration(0).String()
	var served bool
	var trouble error
	if indexed != nil {
		var s State
		if s, served, trouble = indexed.Check(); served {
			to.LastAcceptedHeight, to.LastAcceptedID = s.Height, s.ID.String()
			to.ProcessingBlocks, to.LongestProcessingBlock = s.Waiting, s.WaitingFor.String()
			*details = s.Details
			return trouble
		}
	}
	if trouble == nil && c.head == nil {
		trouble = errNotAsked
	}
	if trouble != nil {
		return fmt.Errorf("the chain is not followed yet: %w", trouble)
	}
	h, err := c.head(ctx)
	if err != nil {
		return fmt.Errorf("the node's last block is not known: %w", err)
	}
	to.LastAcceptedHeight, to.LastAcceptedID = h.height, h.id.String()
	return nil
}

// Swap implements [follow.Host]: with Helicon nodes replace the C-Chain's virtual machine.
func (n *Network) Swap() (at time.Time) {
	if u, ok := n.Upgrades(); ok && u.Helicon > 0 && u.Helicon < rules.Never {
		at = time.Unix(int64(u.Helicon), 0) // below the year 9999
	}
	return at
}

// SwapOf returns [Network.Swap] if a chain is the C-Chain, and else the zero time.
func (n *Network) SwapOf(id chain.ID) (at time.Time) {
	if c, _ := n.Coin(); c != nil && c.ID == id {
		at = n.Swap()
	}
	return at
}
