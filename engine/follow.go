package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	"quorate/rpc/health"
)

// followPauseMost bounds the wait before a chain's node is asked again what the
// chain is; the first is a twentieth of it.
const followPauseMost = 5 * time.Second

// recallChains takes up the chains that are remembered of the network: they are
// known by name and served from the index before any node has answered.
func (n *network) recallChains(known *networkRecord) {
	log := n.cfg.Log("main")
	for _, c := range primaryChains {
		id, ok := known.Chains[c.name]
		if !ok {
			continue
		}
		if err := n.follow(c.name, c.long, c.vm, id, true); err != nil {
			log.Warn("a remembered chain cannot be followed", "network", n.id, "chain", c.name, "err", err)
		}
	}
	if err := n.startEVMs(); err != nil {
		log.Warn("a remembered chain cannot be followed", "network", n.id, "err", err)
	}
}

// configured returns what the operator has said of a chain, or nil.
func (c *Config) configured(id chain.ID) *EVMConfig {
	i := slices.IndexFunc(c.EVMChains, func(e EVMConfig) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return &c.EVMChains[i]
}

// startEVMs begins to follow the chains that are not followed yet: the C-Chain,
// and in the first network those that are configured.
func (n *network) startEVMs() error {
	if n.cfg.NoIndex {
		return nil
	}
	n.mu.Lock()
	c, certain := n.chains["C"], n.chains["C"] != nil || n.withoutC
	n.mu.Unlock()
	var errs []error
	if c != nil {
		errs = append(errs, n.startEVM(c, n.prefix+"C", n.cfg.configured(c.id)))
	}
	if n.prefix != "" {
		return errors.Join(errs...)
	}
	for i := range n.cfg.EVMChains {
		cfg := &n.cfg.EVMChains[i]
		// One of the primary network may be the C-Chain, whose ID has to be known first.
		if cfg.Subnet == chain.PrimaryNetworkID && !certain || n.engine.owner(cfg.ID) != nil {
			continue
		}
		f, err := n.announce(cfg)
		errs = append(errs, err, n.startEVM(f, cfg.name(), cfg))
	}
	return errors.Join(errs...)
}

// announce makes a configured chain known by name and has it checked from the
// start on, also while its node does not answer.
func (n *network) announce(cfg *EVMConfig) (*followed, error) {
	f := &followed{id: cfg.ID, subnet: cfg.Subnet, vm: cfg.VM, trouble: errNotAsked}
	n.keeper.Track(cfg.Subnet)
	n.keeper.FollowEpochs(cfg.ID)
	return f, errors.Join(
		n.engine.names.Add(cfg.ID, cfg.Names...),
		n.engine.checker.Register(health.Check{
			Name: cfg.name(), Tags: []string{cfg.Subnet.String()},
			Run: func(ctx context.Context) (any, error) { return n.checkChain(ctx, f) },
		}),
	)
}

// claim makes a network the one that indexes a chain: a chain has one writer. It
// reports whether none had it.
func (e *Engine) claim(id chain.ID, n *network) bool {
	e.evmMu.Lock()
	defer e.evmMu.Unlock()
	if e.owners[id] != nil {
		return false
	}
	e.owners[id] = n
	return true
}

// owner returns the network that indexes a chain, or nil.
func (e *Engine) owner(id chain.ID) *network {
	e.evmMu.Lock()
	defer e.evmMu.Unlock()
	return e.owners[id]
}

// startEVM begins to follow a chain, unless that was done. What is remembered of
// it is served at once.
func (n *network) startEVM(f *followed, name string, cfg *EVMConfig) error {
	if !n.engine.claim(f.id, n) {
		return nil
	}
	if cfg != nil && f.head != nil { // the C-Chain, with what the operator says of it
		if err := n.engine.names.Add(f.id, cfg.Names...); err != nil {
			n.cfg.Log("main").Warn("a name of the chains file is not used", "chain", name, "err", err)
		}
	}
	c := &EVM{id: f.id, subnet: f.subnet, vm: f.vm, network: n, name: name, coin: f.head != nil, details: n.cfg.CChain, opened: time.Now()}
	if cfg != nil {
		c.details = cfg.Details
	}
	var known evmRecord
	n.mu.Lock()
	asset := n.facts.Asset
	n.mu.Unlock()
	n.keeper.Learn(f.id, f.subnet)
	if n.engine.memory.recall(evmKey(f.id), &known) && (f.subnet != chain.PrimaryNetworkID || !asset.IsZero()) {
		c.number = known.Number
		if err := errors.Join(n.connectEVM(c, cfg, asset), n.serveEVM(f, c)); err != nil {
			return fmt.Errorf("chain %s: %w", name, err)
		}
	}
	return n.upper.Go("chain "+name, func(ctx context.Context) error { return n.followEVM(ctx, f, c, cfg) })
}

// followEVM asks the chain's node what the chain is until it answers, and has it
// indexed then. Each chain has an actor for it: one that is down delays no other.
func (n *network) followEVM(ctx context.Context, f *followed, c *EVM, cfg *EVMConfig) error {
	said := ""
	for wait := followPauseMost / 20; ; wait = min(2*wait, followPauseMost) {
		err := n.tryEVM(ctx, f, c, cfg)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		c.trouble.Store(&err)
		n.mu.Lock()
		f.trouble = err
		n.mu.Unlock()
		if text := err.Error(); text != said { // one line for each new reason
			said = text
			n.cfg.Log("evm").Warn("the chain is not followed yet", "chain", c.name, "err", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *network) tryEVM(ctx context.Context, f *followed, c *EVM, cfg *EVMConfig) error {
	if c.client == nil {
		asset, err := n.asset(ctx, f.subnet)
		if err != nil {
			return err
		}
		if err := n.connectEVM(c, cfg, asset); err != nil {
			return err
		}
	}
	number, err := c.client.ChainID(ctx)
	if err != nil {
		return err
	}
	features, err := c.client.Features(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.index == nil:
		c.number = number
		if err := n.serveEVM(f, c); err != nil {
			return err
		}
	case c.number != number:
		return fmt.Errorf("the node says that its EVM chain number is %d, and said before that it is %d", number, c.number)
	}
	n.engine.memory.remember(ctx, evmKey(c.id), &evmRecord{Number: number, Trace: features.Trace})
	return n.indexEVM(c, features)
}

// asset returns the ID of AVAX, which blocks of the primary network's chains name.
func (n *network) asset(ctx context.Context, subnet chain.ID) (chain.ID, error) {
	n.mu.Lock()
	id := n.facts.Asset
	n.mu.Unlock()
	if subnet != chain.PrimaryNetworkID || !id.IsZero() {
		return id, nil
	}
	id, err := n.node.StakingAssetID(ctx)
	if err == nil {
		n.note(ctx, func(known *networkRecord) { known.Asset = id })
	}
	return id, err
}

// connectEVM makes the client of a chain's API: that which is configured, or that
// of the followed nodes.
func (n *network) connectEVM(c *EVM, cfg *EVMConfig, asset chain.ID) error {
	set := evmsource.Config{
		AVAXAssetID: evm.Hash(asset), Logger: n.cfg.Log("evm"), Metrics: n.metrics.With("chain", c.name), Retries: evmRetries,
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	nodes := n.nodes
	if cfg != nil {
		nodes = []source.Endpoint{cfg.RPC}
		set.Name, set.WS = cfg.ID.String(), cfg.WS
	} else {
		set.Path = rpcPath(c.id)
		set.WS = nodes[0].At(strings.TrimSuffix(set.Path, "rpc") + "ws")
	}
	own, err := n.evmSource(nodes)
	if err != nil {
		return err
	}
	if cfg != nil {
		n.apart = append(n.apart, own)
	} else {
		n.shared = append(n.shared, own)
	}
	set.Node, c.socket = own, !set.WS.Zero()
	c.client, err = evmsource.New(set)
	return err
}

// evmSource gives a client for the blocks of a chain: slower calls and smaller
// answers than others. Nodes cut answers off at 25 MB.
func (n *network) evmSource(nodes []source.Endpoint) (*source.Client, error) {
	return source.New(source.Config{Nodes: nodes, Timeout: evmTimeout, MaxBody: maxEVMBody, Logger: n.cfg.Log("source"), Metrics: n.metrics})
}

// serveEVM opens the index of a chain whose number is known and lets it be asked
// for. It asks no node anything.
func (n *network) serveEVM(f *followed, c *EVM) (err error) {
	log, set := n.cfg.Log("evm"), n.metrics.With("chain", c.name)
	c.tokens = newTokenLane(c, log)
	opts := index.Options{Wrapped: slices.Clone(c.details.Wrapped), OnSeen: c.tokens.seen, Metrics: set}
	if w, ok := wrappedAVAX[c.number]; ok && !slices.Contains(opts.Wrapped, w) {
		opts.Wrapped = append(opts.Wrapped, w)
	}
	if c.index, err = index.Open(n.engine.db.Load(), c.id, opts); err != nil {
		return err
	}
	n.mu.Lock()
	f.evm, f.trouble = c, nil
	n.mu.Unlock()
	n.engine.addEVM(c)
	set.Gauge("quorate_chain_info", "Always 1; the labels say which chain this is.",
		"blockchain_id", c.id.String(), "subnet", c.subnet.String(), "evm_chain_id", strconv.FormatUint(c.number, 10)).Set(1)
	return errors.Join(
		n.upper.Go("tokens "+c.name, c.tokens.run),
		n.upper.Go("metrics "+c.name, func(ctx context.Context) error { return c.catchUp(ctx, log) }),
	)
}

// indexEVM begins to index a chain that is served.
func (n *network) indexEVM(c *EVM, features evmsource.Features) error {
	log := n.cfg.Log("evm")
	if !features.Trace {
		log.Warn("the node has no debug API: internal transactions and past balances are not indexed", "chain", c.name)
	}
	i, err := ingest.New(ingest.Config{
		Name: c.name, Source: c.client, Sink: roomySink{c.index, n.engine.room},
		Trace: features.Trace, TraceOptional: true,
		OnBlock: func(b *evm.Block) {
			n.accepted.block(b)
			n.ahead.block(b, c.ingest.Load().Target())
		},
		OnProgress: n.cfg.OnProgress, Logger: log, Metrics: n.metrics.With("chain", c.name),
	})
	if err != nil {
		return err
	}
	c.ingest.Store(i)
	return n.upper.Go("ingest "+c.name, i.Run)
}
