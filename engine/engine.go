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
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chains"
	"quorate/engine/facts"
	"quorate/engine/folder"
	"quorate/engine/health"
	"quorate/engine/operation"
	"quorate/engine/source"
	"quorate/engine/store/results"
	"quorate/engine/vm"
	"quorate/engine/webhook"
	"quorate/p2p"
)

// Engine is the running system without its HTTP server. Start it with Run.
type Engine struct {
	cfg         Config
	log         *slog.Logger
	budget      Budget
	answers     *source.Pool // of followed nodes
	passed      *source.Pool // of those that clients wait for
	certificate tls.Certificate
	names       *chains.Registry
	vms         *vm.Loader
	checker     *health.Checker
	ready       chan struct{}
	stopBy      atomic.Pointer[time.Time]
	disk        Disk
	networks    Networks
	memory      *memory
	members     members
	joined      chan struct{} // closed with the first network
	failed      chan error    // room for one: what ends Run
	evms        EVMs
	primaries   primaries
	facts       *facts.Keeper      // nil without a log that is shared
	exports     *operation.Exports // nil without an index
	webhooks    *webhook.Hooks     // likewise
	metadata    metadata
}

// New checks cfg, opens what is kept in the data folder of names and identity,
// and returns an engine that is not running yet.
func New(cfg Config) (*Engine, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	e := &Engine{cfg: cfg, log: cfg.Log("main"), ready: make(chan struct{}), evms: newEVMs(), joined: make(chan struct{}), failed: make(chan error, 1)}
	e.members.list, e.budget = newMembers(cfg.Nodes), cfg.Budget()
	e.networks.complete, e.metadata.evms = e.members.allKnown, &e.evms
	e.disk.cfg, e.disk.budget = &e.cfg, &e.budget
	e.answers, e.passed = source.NewPool(e.budget.Nodes), source.NewPool(e.budget.Passed)
	var err error
	if e.certificate, err = p2p.LoadOrCreateCertificate(filepath.Join(cfg.DataDir, folder.IdentityName)); err != nil {
		return nil, err
	}
	if cfg.Shared != nil {
		e.facts = &facts.Keeper{Log: cfg.Shared, Writer: e.NodeID().String(), Logger: e.log}
	}
	if e.names, err = chains.Open(filepath.Join(cfg.DataDir, folder.AliasesName)); err != nil {
		return nil, err
	}
	plugins := cmp.Or(cfg.PluginDir, filepath.Join(cfg.DataDir, "plugins"))
	if e.vms, err = vm.New(vm.Config{Dir: plugins, Protocols: e.networks.plugins, Logger: cfg.Log("vm"), Metrics: cfg.Metrics}); err != nil {
		return nil, err
	}
	e.checker, err = health.New(health.Config{Frequency: cfg.HealthEvery, Starting: time.Second, Logger: cfg.Log("health"), Metrics: cfg.Metrics})
	if err != nil {
		return nil, err
	}
	e.disk.watch()
	e.cacheMetrics(cfg.Metrics)
	if err := e.registerChecks(); err != nil || cfg.NoIndex {
		return e, err
	}
	return e, errors.Join(e.newExports(), e.newWebhooks())
}

// Health returns the checks and their last results.
func (e *Engine) Health() *health.Checker { return e.checker }

// Networks returns the networks that are followed.
func (e *Engine) Networks() *Networks { return &e.networks }

// Disk returns the data folder.
func (e *Engine) Disk() *Disk { return &e.disk }

// EVMs returns the EVM chains that are served.
func (e *Engine) EVMs() *EVMs { return &e.evms }

// Chains returns the names of the chains that the followed nodes know.
func (e *Engine) Chains() *chains.Registry { return e.names }

// VMs returns the virtual machine plugins.
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
	kept, err := e.disk.open(&end)
	if err != nil {
		return err
	}
	base := actor.NewLayer(ctx, e.log)
	end.later("the base", baseStop, base.StopWithin)
	err = errors.Join(base.Go("results", kept.Run), base.Go("health", e.checker.Run))
	if db := e.disk.index.Load(); db != nil {
		err = errors.Join(err, base.Go("index", db.Run))
	}
	if err != nil {
		return err
	}
	e.memory = &memory{db: kept, room: e.disk.room, log: e.log}
	if e.facts != nil {
		e.facts.Memory = e.memory
	}
	end.later("the archives", archivesStop, e.disk.archives.close)
	end.later("the networks", networksStop, e.networks.stop)
	learning := actor.NewLayer(ctx, e.log)
	end.later("the questions to nodes", baseStop, learning.StopWithin)
	if err := e.startReaders(ctx, kept, &end); err != nil {
		return err
	}
	if err := e.recallNodes(ctx); err != nil {
		return stopped(ctx, err)
	}
	for _, m := range e.members.list {
		if err := learning.Go("node "+m.at.String(), func(ctx context.Context) error { return e.learn(ctx, m) }); err != nil {
			return err
		}
	}
	assume := e.assume
	if e.cfg.nodeless() {
		assume = func(ctx context.Context) error { return learnFacts(ctx, e) }
	}
	if err := learning.Go("remembered networks", assume); err != nil {
		return err
	}
	if err := learning.Go("readiness", func(ctx context.Context) error {
		if e.awaitReady(ctx); ctx.Err() == nil {
			close(e.ready)
		}
		return nil
	}); err != nil {
		return err
	}
	select {
	case err := <-e.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// startReaders starts what reads the index for clients. It ends before what it reads.
func (e *Engine) startReaders(ctx context.Context, kept *results.DB, end *ending) error {
	if e.cfg.NoIndex {
		return nil
	}
	layer := actor.NewLayer(ctx, e.log)
	end.later("exports, webhooks and the metadata of NFTs", baseStop, layer.StopWithin)
	e.exports.KeepIn(kept.Operations())
	e.webhooks.KeepIn(kept.Webhooks())
	err := errors.Join(layer.Go("exports", e.exports.Run), layer.Go("webhooks", e.webhooks.Run))
	if e.cfg.Metadata.On {
		cfg := e.cfg.Metadata
		cfg.Store, cfg.Room, cfg.Logger, cfg.Metrics = kept.Metadata(), e.disk.room, e.cfg.Log("nft"), e.cfg.Metrics
		err = errors.Join(err, e.metadata.start(layer, cfg))
	}
	return err
}
