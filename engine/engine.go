package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chains"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/engine/store"
	"quorate/p2p"
	"quorate/rpc/health"
	"quorate/rpc/vm"
)

// Engine is the running system without its HTTP server. Start it with Run.
type Engine struct {
	cfg         Config
	log         *slog.Logger
	certificate tls.Certificate
	names       *chains.Registry
	vms         *vm.Loader
	checker     *health.Checker
	ready       chan struct{}
	stopBy      atomic.Pointer[time.Time]
	results     atomic.Pointer[store.Results] // nil while it is not open
	db          atomic.Pointer[store.DB]      // of the index; nil while it is not open
	networks    atomic.Pointer[[]*network]    // nil until the nodes have told their networks
	evmMu       sync.Mutex                    // guards changes of evms
	evms        atomic.Pointer[[]*EVM]
}

// New checks cfg, opens what is kept in the data folder of names and identity,
// and gives an engine that is not running yet.
func New(cfg Config) (*Engine, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	e := &Engine{cfg: cfg, log: cfg.Log("main"), ready: make(chan struct{})}
	var err error
	if e.certificate, err = p2p.LoadOrCreateCertificate(filepath.Join(cfg.DataDir, "staker.pem")); err != nil {
		return nil, err
	}
	if e.names, err = chains.Open(filepath.Join(cfg.DataDir, "aliases.json")); err != nil {
		return nil, err
	}
	plugins := cmp.Or(cfg.PluginDir, filepath.Join(cfg.DataDir, "plugins"))
	if e.vms, err = vm.New(vm.Config{Dir: plugins, Logger: cfg.Log("vm"), Metrics: cfg.Metrics}); err != nil {
		return nil, err
	}
	e.checker, err = health.New(health.Config{Frequency: cfg.HealthEvery, Starting: time.Second, Logger: cfg.Log("health"), Metrics: cfg.Metrics})
	if err != nil {
		return nil, err
	}
	e.diskMetrics()
	return e, e.registerChecks()
}

// Health gives the checks and their last results.
func (e *Engine) Health() *health.Checker { return e.checker }

// Chains gives the names of the chains that the followed nodes know.
func (e *Engine) Chains() *chains.Registry { return e.names }

// VMs gives the virtual machine plugins.
func (e *Engine) VMs() *vm.Loader { return e.vms }

// NodeID is the name by which validators know us.
func (e *Engine) NodeID() chain.NodeID { return chain.NodeIDFromCert(e.certificate.Leaf.Raw) }

// Ready is closed once the engine can do its work: validator sets are loaded
// and enough stake is connected, or [Config.ConnectPatience] is over.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Run works until ctx ends; then it stops all parts in the reverse order of
// their start, in bounded time: see [Engine.StopBy]. Call it once.
func (e *Engine) Run(ctx context.Context) (err error) {
	var end ending
	defer func() { err = errors.Join(err, e.end(&end)) }()
	results, err := e.openDatabases(&end)
	if err != nil {
		return err
	}
	base := newLayer(ctx, e.log)
	end.later("the base", baseStop, base.stop)
	err = errors.Join(base.Go("results", results.Run), base.Go("health", e.checker.Run))
	if db := e.db.Load(); db != nil {
		err = errors.Join(err, base.Go("index", db.Run))
	}
	if err != nil {
		return err
	}
	groups, err := e.askNetworks(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	nets := make([]*network, 0, len(groups))
	end.later("the networks", networksStop, func(limit time.Duration) error { return stopAll(nets, limit) })
	for i, g := range groups {
		prefix := ""
		if i > 0 {
			prefix = networkName(g.id) + "-"
		}
		n, err := e.startNetwork(ctx, g, prefix, results)
		if err != nil {
			return stopped(ctx, fmt.Errorf("network %d: %w", g.id, err))
		}
		nets = append(nets, n)
	}
	e.networks.Store(&nets)
	for _, n := range nets {
		n.awaitStake(ctx)
	}
	if ctx.Err() == nil {
		close(e.ready)
	}
	<-ctx.Done()
	return nil
}

// path is a name in the data folder.
func (e *Engine) path(name string) string { return filepath.Join(e.cfg.DataDir, name) }

// group holds the nodes of one network.
type group struct {
	id    uint32
	nodes []source.Endpoint
}

// askNetworks asks every node which network it is of, until all have answered
// or ctx ends. Nodes may be starting too. The order is that of the nodes.
func (e *Engine) askNetworks(ctx context.Context) ([]*group, error) {
	var groups []*group
	for _, at := range e.cfg.Nodes {
		client, err := source.New(source.Config{Nodes: []source.Endpoint{at}, Logger: e.cfg.Log("source")})
		if err != nil {
			return nil, err
		}
		id, err := e.askNetwork(ctx, at, platform.New(client))
		client.Close()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.id == id })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{id: id})
		}
		if !slices.ContainsFunc(groups[i].nodes, at.Same) {
			groups[i].nodes = append(groups[i].nodes, at)
		}
	}
	return groups, nil
}

func (e *Engine) askNetwork(ctx context.Context, at source.Endpoint, client *platform.Client) (uint32, error) {
	const most = 5 * time.Second
	wait := 100 * time.Millisecond
	for {
		id, err := client.NetworkID(ctx)
		if err == nil {
			e.log.Info("following node", "node", at.String(), "network", id)
			return id, nil
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		e.log.Warn("node does not answer yet", "node", at.String(), "err", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		wait = min(2*wait, most)
	}
}

// Names of networks in paths. Every network but mainnet is a test network.
const (
	mainnetID = 1
	fujiID    = 5
)

// ByName gives the aggregator of the network called mainnet, fuji or testnet.
// Before the nodes have told their networks it gives one that says so.
func (e *Engine) ByName(name string) (Aggregator, bool) {
	switch name {
	case "mainnet", "fuji", "testnet":
	default:
		return nil, false
	}
	return e.find(func(id uint32) int {
		switch {
		case (name == "mainnet") != (id == mainnetID):
			return 0
		case id == fujiID:
			return 2
		}
		return 1
	})
}

// ByID gives the aggregator of the network with that ID.
func (e *Engine) ByID(networkID uint32) (Aggregator, bool) {
	return e.find(func(id uint32) int {
		if id == networkID {
			return 1
		}
		return 0
	})
}

// find gives the network with the highest rank above 0.
func (e *Engine) find(rank func(id uint32) int) (Aggregator, bool) {
	nets := e.networks.Load()
	if nets == nil {
		return starting{}, true
	}
	var best *network
	top := 0
	for _, n := range *nets {
		if r := rank(n.id); r > top {
			best, top = n, r
		}
	}
	if best == nil {
		return nil, false
	}
	return best.agg, true
}

// Aggregator has messages of one network signed.
type Aggregator interface {
	Aggregate(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error)
}

// starting answers while it is not known yet which networks there are.
type starting struct{}

func (starting) Aggregate(context.Context, *aggregator.Request) (*aggregator.Result, error) {
	return nil, &aggregator.Error{
		Kind: aggregator.NodeFailed, Msg: "the server is starting: the node it follows has not answered yet", RetryAfter: time.Second,
	}
}
