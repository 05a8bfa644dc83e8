package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"quorate/engine/chain"
	"quorate/engine/source/avm"
	"quorate/engine/source/evm"
	"quorate/engine/source/platform"
	"quorate/rpc/health"
)

// chainPoll is how often the node is asked which chains there are.
const chainPoll = 10 * time.Second

// The chains that every primary network has, by the names they go by, and their
// virtual machines: the VM's ID is its name, filled up with zeros.
var primaryChains = []struct{ name, long, vm string }{{"P", "platform", "platformvm"}, {"X", "avm", "avm"}, {"C", "evm", "evm"}}

// head is the last block that a node has accepted.
type head struct {
	height uint64
	id     chain.ID
}

// followed is a chain whose health is checked.
type followed struct {
	id     chain.ID
	subnet chain.ID
	vm     chain.ID
	head   func(context.Context) (head, error)
	// Guarded by the network's mu:
	evm     *EVM  // once it is indexed
	trouble error // why a configured chain is not indexed yet
}

// watchChains makes the network's chains known by name and has those of the
// primary network checked, until ctx ends.
func (n *network) watchChains(ctx context.Context) error {
	tick := time.NewTicker(chainPoll)
	defer tick.Stop()
	said := ""
	for {
		// Of an error that lasts, one line is enough: the health checks tell the rest.
		if err := n.learnChains(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			n.cfg.Log("main").Warn("node does not tell its chains", "network", n.id, "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *network) learnChains(ctx context.Context) error {
	var errs []error
	for _, c := range primaryChains {
		if n.has(c.name) {
			continue
		}
		id, err := n.node.BlockchainID(ctx, c.name)
		switch {
		case errors.Is(err, platform.ErrNotFound):
			continue // the node does not run it
		case err != nil:
			errs = append(errs, fmt.Errorf("%s-Chain: %w", c.name, err))
			continue
		}
		// A node may know a chain by name that it does not run.
		if _, err := n.node.IsBootstrapped(ctx, id.String()); errors.Is(err, platform.ErrNotFound) {
			continue
		}
		if err := n.follow(c.name, c.long, c.vm, id); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, n.startEVMs(ctx))
	list, err := n.node.Blockchains(ctx)
	errs = append(errs, err)
	for _, b := range list {
		n.keeper.Learn(b.ID, b.SubnetID)
		if slices.Contains(n.cfg.TrackedSubnets, b.SubnetID) {
			n.keeper.FollowEpochs(b.ID)
		}
		if n.learn(b.ID) {
			errs = append(errs, n.engine.names.Add(b.ID))
		}
	}
	if err == nil {
		n.learned.Store(true)
	}
	return errors.Join(errs...)
}

// follow takes up a chain of the primary network.
func (n *network) follow(name, long, vm string, id chain.ID) error {
	head, err := n.headOf(name, id)
	if err != nil {
		return fmt.Errorf("%s-Chain: %w", name, err)
	}
	f := &followed{id: id, subnet: chain.PrimaryNetworkID, head: head}
	copy(f.vm[:], vm)
	names := []string{name, long}
	if n.prefix != "" {
		names = []string{n.prefix + name}
	}
	// The P-Chains of all networks have the same ID: the first network's has the names.
	if n.prefix == "" || !id.IsZero() {
		if err := n.engine.names.Add(id, names...); err != nil {
			return fmt.Errorf("%s-Chain: %w", name, err)
		}
	}
	if name == "C" {
		n.keeper.FollowEpochs(id)
	}
	n.mu.Lock()
	n.chains[name] = f
	n.known[id] = true
	n.mu.Unlock()
	return n.engine.checker.Register(health.Check{
		Name: names[0], Tags: []string{f.subnet.String()},
		Run: func(ctx context.Context) (any, error) { return n.checkChain(ctx, f) },
	})
}

// startEVMs begins to index the chains that are not indexed yet.
func (n *network) startEVMs(ctx context.Context) error {
	if n.cfg.NoIndex {
		return nil
	}
	n.mu.Lock()
	c := n.chains["C"]
	n.mu.Unlock()
	var errs []error
	if c != nil && !n.indexes(c.id) {
		if err := n.startC(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("C-Chain: %w", err))
		}
	}
	if n.prefix != "" {
		return errors.Join(errs...)
	}
	n.mu.Lock()
	announced := n.further
	n.mu.Unlock()
	for i := range n.cfg.EVMChains {
		cfg := &n.cfg.EVMChains[i]
		if i >= len(announced) {
			errs = append(errs, n.announce(cfg))
			n.mu.Lock()
			announced = n.further
			n.mu.Unlock()
		}
		if !n.indexes(cfg.ID) {
			if err := n.startFurther(ctx, announced[i], cfg); err != nil {
				errs = append(errs, fmt.Errorf("chain %s: %w", cfg.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (n *network) indexes(id chain.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.evms, func(c *EVM) bool { return c.id == id })
}

// headOf gives the reader of a chain's last accepted block. An EVM block goes by
// its hash.
func (n *network) headOf(name string, id chain.ID) (func(context.Context) (head, error), error) {
	switch name {
	case "P":
		return func(ctx context.Context) (head, error) {
			t, err := n.node.Head(ctx)
			return head{t.Height, t.ID}, err
		}, nil
	case "X":
		return func(ctx context.Context) (head, error) {
			t, err := avm.Head(ctx, n.source)
			return head{t.Height, t.ID}, err
		}, nil
	}
	c, err := evm.New(evm.Config{Node: n.source, Path: rpcPath(id)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (head, error) {
		t, err := c.Tip(ctx)
		return head{t.Number, chain.ID(t.Hash)}, err
	}, nil
}

func (n *network) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.chains[name] != nil
}

// learn notes a chain and tells whether it is new.
func (n *network) learn(id chain.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.known[id]
	n.known[id] = true
	return !was
}

// knows tells whether the node has spoken of the chain.
func (n *network) knows(id chain.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[id]
}

// following gives the chains that are checked.
func (n *network) following() []*followed {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]*followed, 0, len(n.chains))
	for _, f := range n.chains {
		out = append(out, f)
	}
	return out
}

// networkName is how a network is called in names of chains.
func networkName(id uint32) string {
	switch id {
	case mainnetID:
		return "mainnet"
	case fujiID:
		return "fuji"
	}
	return "network" + strconv.FormatUint(uint64(id), 10)
}
