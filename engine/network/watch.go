package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/health"
	"quorate/engine/source/avm"
	"quorate/engine/source/evm"
	"quorate/engine/source/platform"
)

const (
	// chainPoll is how often the node is asked which chains there are.
	chainPoll = 10 * time.Second
	// chainPause is the same until it has told them once.
	chainPause = 250 * time.Millisecond
)

// The chains that every primary network has, by the names they go by, and their
// virtual machines: the VM's ID is its name, filled up with zeros.
var primaryChains = []struct{ name, long, vm string }{{"P", "platform", "platformvm"}, {"X", "avm", "avm"}, {"C", "evm", "evm"}}

// watchChains makes the network's chains known by name and has those of the
// primary network checked, until ctx ends.
func (n *Network) watchChains(ctx context.Context) error {
	said := ""
	for {
		// Of an error that lasts, one line is enough: the health checks tell the rest.
		all, err := n.learnChains(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			n.cfg.Log("main").Warn("node does not tell its chains", "network", n.cfg.ID, "err", err)
		}
		_, known := n.keeper.Current(chain.PrimaryNetworkID)
		n.rememberSets(ctx)
		pause := chainPoll
		if all && n.learned.CompareAndSwap(false, true) {
			close(n.toldAll)
		}
		if !known || !n.learned.Load() {
			pause = chainPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			n.rememberSets(ctx) // what was signed since the last look is found by its set
			return nil
		}
	}
}

// learnChains asks the node which chains there are, and reports whether it has
// told them all.
func (n *Network) learnChains(ctx context.Context) (all bool, err error) {
	var errs []error
	for _, c := range primaryChains {
		if err := n.learnPrimary(ctx, c.name, c.long, c.vm); err != nil {
			errs = append(errs, fmt.Errorf("%s-Chain: %w", c.name, err))
		}
	}
	all = len(errs) == 0
	errs = append(errs, n.learnUpgrades(ctx), n.cfg.Found(n))
	list, err := n.node.Blockchains(ctx)
	errs = append(errs, err)
	all = all && err == nil
	for _, b := range list {
		n.keeper.Learn(b.ID, b.SubnetID)
		if slices.Contains(n.cfg.TrackedSubnets, b.SubnetID) {
			n.keeper.FollowEpochs(b.ID, nil)
		}
		if n.learn(b.ID) {
			errs = append(errs, n.cfg.Names.Add(b.ID))
		}
	}
	return all, errors.Join(errs...)
}

// learnPrimary asks for a chain of the primary network, once.
func (n *Network) learnPrimary(ctx context.Context, name, long, vm string) error {
	n.mu.Lock()
	f := n.chains[name]
	n.mu.Unlock()
	if f != nil && !f.recalled {
		return nil
	}
	id, err := n.node.BlockchainID(ctx, name)
	if errors.Is(err, platform.ErrNotFound) {
		n.without(name)
		return nil // the node does not run it
	}
	if err != nil {
		return err
	}
	if f != nil {
		return n.confirm(ctx, name, f, id)
	}
	// A node may know a chain by name that it does not run.
	if _, err := n.node.IsBootstrapped(ctx, id.String()); errors.Is(err, platform.ErrNotFound) {
		n.without(name)
		return nil
	}
	if err := n.follow(name, long, vm, id, false); err != nil {
		return err
	}
	n.Note(ctx, func(known *Record) {
		if known.Chains == nil {
			known.Chains = make(map[string]chain.ID)
		}
		known.Chains[name] = id
	})
	return nil
}

// without notes that the node has no such chain.
func (n *Network) without(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.withoutC = n.withoutC || name == "C"
}

// confirm compares a remembered chain with what the node says. Another one means
// that the network was made again under its old number: nothing that is served of
// it is true any more, and the engine begins again without it.
func (n *Network) confirm(ctx context.Context, name string, f *Chain, id chain.ID) error {
	n.mu.Lock()
	f.recalled = f.ID != id
	n.mu.Unlock()
	if f.ID == id {
		return nil
	}
	// A node of another network says nothing of this one.
	of, err := n.node.NetworkID(ctx)
	if err == nil && of != n.cfg.ID {
		err = fmt.Errorf("a node is of network %d", of)
	}
	if err != nil {
		return err
	}
	n.Note(ctx, func(known *Record) {
		known.Chains, known.Asset, known.Upgrades, known.Sets = nil, chain.ID{}, nil, valset.Trust{}
	})
	err = fmt.Errorf("network %d is another one than before: its %s-Chain was %s and is %s now; what was remembered of it is forgotten: start again",
		n.cfg.ID, name, f.ID, id)
	n.cfg.Fail(err)
	return err
}

// follow takes up a chain of the primary network; recalled says that its ID is
// remembered, and not confirmed by a node yet.
func (n *Network) follow(name, long, vm string, id chain.ID, recalled bool) error {
	head, err := n.headOf(name, id)
	if err != nil {
		return fmt.Errorf("%s-Chain: %w", name, err)
	}
	f := &Chain{ID: id, Subnet: chain.PrimaryNetworkID, head: head, recalled: recalled}
	copy(f.VM[:], vm)
	names := []string{name, long}
	if n.cfg.Prefix != "" {
		names = []string{n.cfg.Prefix + name}
	}
	// The P-Chains of all networks have the same ID: the first network's has the names.
	if n.cfg.Prefix == "" || !id.IsZero() {
		if err := n.cfg.Names.Add(id, names...); err != nil {
			return fmt.Errorf("%s-Chain: %w", name, err)
		}
	}
	if name == "C" {
		n.keeper.FollowEpochs(id, nil)
	}
	n.mu.Lock()
	n.chains[name] = f
	n.known[id] = true
	n.mu.Unlock()
	return n.cfg.Checker.Register(health.Check{
		Name: names[0], Tags: []string{f.Subnet.String()},
		Run: func(ctx context.Context) (any, error) { return n.checkChain(ctx, f) },
	})
}

// headOf returns the reader of a chain's last accepted block. An EVM block goes by
// its hash.
func (n *Network) headOf(name string, id chain.ID) (func(context.Context) (head, error), error) {
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
	c, err := evm.New(evm.Config{Node: n.source, Path: RPCPath(id)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (head, error) {
		t, err := c.Tip(ctx)
		return head{t.Height, t.ID}, err
	}, nil
}

// learn notes a chain and reports whether it is new.
func (n *Network) learn(id chain.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.known[id]
	n.known[id] = true
	return !was
}

// knows reports whether the node has spoken of the chain.
func (n *Network) knows(id chain.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[id]
}

// following returns the chains that are checked.
func (n *Network) following() []*Chain {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]*Chain, 0, len(n.chains))
	for _, f := range n.chains {
		out = append(out, f)
	}
	return out
}
