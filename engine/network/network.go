package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/health"
	"quorate/engine/metric"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/p2p"
	"quorate/p2p/wire"
)

// Network is everything that runs for one Avalanche network.
type Network struct {
	cfg     Config
	metrics *metric.Set // of this network alone; the ID becomes a label
	source  *source.Client
	node    *platform.Client
	ownSets *valset.Own // over node
	keeper  *valset.Keeper
	peers   *p2p.Network
	agg     *aggregator.Aggregator

	lower, upper actor.Layer // source side and peers; aggregator and chains

	ahead *signAhead
	// forwards are those of configured chains. They do not change.
	forwards map[chain.ID]*forwards
	learned  atomic.Bool   // the node has listed all its chains
	toldAll  chan struct{} // closed then
	last     *lastSets

	executed *executed
	told     *told
	// announced is what nodes say of upgrades that this release does not know.
	announced *announcements
	versions  versions

	unresolved map[chain.NodeID]bool // tracked peers whose name has no address; owned by discover

	noting sync.Mutex // held while what is known changes and is remembered

	mu       sync.Mutex        // guards what follows
	nodes    []source.Endpoint // best first
	facts    Record            // as it is remembered
	chains   map[string]*Chain // by the name of a primary network's chain
	attached []*Chain          // those that are indexed, or shall be
	known    map[chain.ID]bool // all chains that the node has listed
	withoutC bool              // the node has no C-Chain
	// noUpgrades: the node does not say when rules changed.
	noUpgrades bool
	shared     []*source.Client // of chains at the followed nodes
	apart      []*source.Client // of chains whose API was configured
}

// Start builds and starts a network's parts, lowest first. It asks no node
// anything, and begins with what is known of the network. Its actors end with
// [Network.Stop], not with ctx.
func Start(ctx context.Context, cfg Config) (_ *Network, err error) {
	n := &Network{
		cfg: cfg, nodes: cfg.Nodes, lower: actor.NewLayer(ctx, cfg.Log("main")), upper: actor.NewLayer(ctx, cfg.Log("main")),
		metrics:  metric.NewSet("network", strconv.FormatUint(uint64(cfg.ID), 10)),
		executed: newExecuted(), facts: cfg.Known, toldAll: make(chan struct{}),
		chains: make(map[string]*Chain), known: make(map[chain.ID]bool), forwards: make(map[chain.ID]*forwards),
	}
	n.source, err = source.New(source.Config{Nodes: cfg.Nodes, None: cfg.Nodeless, Pool: cfg.Answers, Passed: cfg.Passed, Logger: cfg.Log("source"), Metrics: n.metrics})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop(failedStop))
		}
	}()
	for i := range cfg.APIs {
		f, err := n.newForwards(&cfg.APIs[i])
		if err != nil {
			return nil, err
		}
		n.forwards[cfg.APIs[i].ID] = f
	}
	n.node = platform.New(n.source)
	n.told = &told{node: n.node, log: cfg.Log("P")}
	n.announced = &announcements{nodes: n.callers, log: cfg.Log("main").With("network", cfg.ID)}
	if n.peers, err = n.newPeers(); err != nil {
		return nil, err
	}
	n.ownSets = valset.NewOwn(valset.OwnConfig{
		Source: n.node, Trust: cfg.Known.Sets, Logger: cfg.Log("P"), Metrics: n.metrics,
		OnTrust: func(t valset.Trust) { n.Note(ctx, func(known *Record) { known.Sets = t }) },
	})
	n.keeper, err = valset.NewKeeper(valset.Config{
		Source: n.ownSets, Poll: cfg.HeightPoll, OnChange: n.peers.SetWanted,
		Tracked: cfg.TrackedSubnets, Allowed: cfg.allowed(), MaxLookback: cfg.MaxHeightLookback, RequestTimeout: cfg.RequestTimeout,
		Logger: cfg.Log("P"), Metrics: n.metrics,
	})
	if err != nil {
		return nil, err
	}
	if n.last, err = openLastSets(cfg.SetsFile); err != nil {
		cfg.Log("main").Warn("results that are kept cannot be served before the node answers", "err", err)
	}
	n.agg, err = aggregator.New(aggregator.Config{
		LastKnown: n.last.get,
		NetworkID: cfg.ID, Sets: n.keeper, Peers: peers{n.peers}, History: n.executed, Store: cfg.Results, Notes: cfg.Notes,
		KeptBytes: cfg.KeptBytes, PartBytes: cfg.PartBytes,
		Timing: aggregator.Timing{Window: cfg.BufferWindow}, RequestTimeout: cfg.RequestTimeout, Workers: cfg.Workers,
		Logger: cfg.Log("aggregator"), Metrics: n.metrics,
	})
	if err != nil {
		return nil, err
	}
	n.addMetrics()
	n.addRunways()
	n.ahead = newSignAhead(cfg.SignAhead, n.agg, n.keeper.EpochHeights, cfg.Log("aggregator"), n.metrics)
	n.recallChains()
	if cfg.Nodeless {
		n.learned.Store(true)
		close(n.toldAll)
		return n, n.upper.Go("aggregator", n.agg.Run)
	}
	return n, errors.Join(
		n.lower.Go("peers", n.peers.Run),
		n.lower.Go("validator sets", n.keeper.Run),
		n.upper.Go("aggregator", n.agg.Run),
		n.upper.Go("signing ahead", n.ahead.run),
		n.lower.Go("chains", n.watchChains),
		n.lower.Go("P-Chain height", n.watchPlatform),
		n.lower.Go("announced upgrades", n.announced.watch),
		n.lower.Go("L1 balances", (&runwayLog{read: n.Runways, log: cfg.Log("P").With("network", cfg.ID)}).watch),
		cfg.Checker.Register(health.Check{Name: cfg.Prefix + "upgrades", Run: n.announced.check}),
	)
}

// failedStop bounds the stop of a network that could not be started.
const failedStop = 4 * time.Second

// ID returns the network's number.
func (n *Network) ID() uint32 { return n.cfg.ID }

// Aggregator has messages of the network signed.
func (n *Network) Aggregator() *aggregator.Aggregator { return n.agg }

// Metrics returns the network's metrics, which are labelled with its ID.
func (n *Network) Metrics() *metric.Set { return n.metrics }

// OwnSets has validator sets taken from own rows of the P-Chain, where these have them.
func (n *Network) OwnSets(rows valset.Rows) { n.ownSets.SetRows(rows) }

// SetsTrouble says which validator set of own rows is not the node's, or nil.
func (n *Network) SetsTrouble() error { return n.ownSets.Trouble() }

// Activity is that of the network's peers.
func (n *Network) Activity() p2p.Activity { return n.peers.Activity() }

// Learned reports whether a node has listed its chains.
func (n *Network) Learned() bool { return n.learned.Load() }

// Go starts an actor of a chain; it ends before what the chain stands on.
func (n *Network) Go(name string, run func(context.Context) error) error {
	return n.upper.Go(name, run)
}

// newPeers makes the peer network with our lasting identity and the version that
// peers must be shown to let us in, which [Network.show] changes.
func (n *Network) newPeers() (*p2p.Network, error) {
	proof := proofOfNothing()
	u, _ := n.Upgrades()
	n.versions.shown = claim([]platform.Version{n.cfg.Known.Version}, demanded(u, time.Now()), platform.Version{})
	return p2p.New(p2p.Config{
		NetworkID: n.cfg.ID, Certificate: n.cfg.Certificate, ClientVersion: wire.Version(n.versions.shown), IPProof: proof[:],
		Discover: n.discover, DiscoverEvery: n.cfg.PeerPoll,
		Logger: n.cfg.Log("p2p"), Metrics: n.metrics,
	})
}

// proofOfNothing is a well-formed BLS signature for the handshake. Peers check
// whose it is only for validators, which we are not.
func proofOfNothing() [bls.SignatureLen]byte {
	return bls.SecretKeyFromSeed([]byte("quorate is not a validator and has no key")).SignProof(nil)
}

// discover returns the addresses of validators that the followed node knows: its
// peers, and its own. It also refreshes those of tracked peers, notes what versions they
// are of, and has peers shown the version that is right now: they close the door on old
// ones after an upgrade of the network.
func (n *Network) discover(ctx context.Context) ([]p2p.Address, error) {
	n.track(ctx)
	program, err := n.askPrograms(ctx)
	version := ""
	if err == nil {
		version = program.String()
	} else {
		n.cfg.Log("p2p").Debug("nodes do not tell their versions", "network", n.cfg.ID, "err", err)
	}
	defer n.show(ctx)
	known, err := n.node.Peers(ctx)
	if err != nil {
		n.told.expire()
		return nil, err
	}
	out := make([]p2p.Address, 0, len(known)+1)
	for _, p := range known {
		out = append(out, p2p.Address{NodeID: p.NodeID, Addr: p.PublicIP})
	}
	// Public nodes often do not tell their own address; they can be reached
	// through gossip then.
	self, idErr := n.node.NodeID(ctx)
	if idErr != nil {
		version = ""
	}
	n.told.peers(known, self, version)
	addr, ipErr := n.node.NodeIP(ctx)
	if idErr == nil && ipErr == nil {
		out = append(out, p2p.Address{NodeID: self, Addr: addr})
	}
	return out, nil
}

// AwaitReady waits until the node has listed its chains, those that are indexed can be
// asked for, and enough stake of the primary network is connected, or patience or ctx
// ends.
func (n *Network) AwaitReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ConnectPatience)
	defer cancel()
	select {
	case <-n.toldAll:
	case <-ctx.Done():
		n.cfg.Log("main").Warn("serving although the node has not listed all its chains", "network", n.cfg.ID)
		return
	}
	n.awaitServed(ctx)
	if !n.cfg.Nodeless {
		n.awaitStake(ctx)
	}
}

// servePatience bounds the wait for the chains that are indexed.
const servePatience = 3 * time.Second

// awaitServed waits until each EVM chain that is to be indexed is served, or it is known
// why it is not: before, clients are told that there is no such chain, and many of them
// do not ask again. A node of another chain that hangs is not waited for longer than any
// other node.
func (n *Network) awaitServed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, servePatience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !n.allServed() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.cfg.Log("main").Warn("serving although not all chains are", "network", n.cfg.ID)
			return
		}
	}
}

func (n *Network) allServed() bool {
	n.mu.Lock()
	var list []Indexed
	for _, c := range n.attached {
		if c != n.chains["P"] && c != n.chains["X"] { // those are known by their letters at once
			list = append(list, c.indexed)
		}
	}
	n.mu.Unlock()
	return !slices.ContainsFunc(list, func(i Indexed) bool {
		_, served, trouble := i.Check()
		return !served && trouble == nil
	})
}

// Key is what the [Record] of a network is remembered under.
func Key(id uint32) []byte { return binary.BigEndian.AppendUint32([]byte("network/"), id) }

// Note changes what is known of the network and remembers it.
func (n *Network) Note(ctx context.Context, change func(known *Record)) {
	n.noting.Lock() // an older record must not be written over a newer one
	defer n.noting.Unlock()
	n.mu.Lock()
	change(&n.facts)
	raw := n.facts
	raw.Chains = maps.Clone(raw.Chains)
	n.mu.Unlock()
	n.cfg.Memory.Remember(ctx, Key(n.cfg.ID), &raw)
}

// SetNodes replaces the nodes that stand in for each other.
func (n *Network) SetNodes(list []source.Endpoint) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = list
	n.source.SetNodes(list)
	for _, c := range n.shared {
		c.SetNodes(list)
	}
}

// stakeSettle is how long the rest of the stake is waited for once there is
// enough: most validators are reached within one round trip of each other.
const stakeSettle = 300 * time.Millisecond

// awaitStake waits until enough stake of the primary network is connected, or
// patience or ctx ends.
func (n *Network) awaitStake(ctx context.Context) {
	log := n.cfg.Log("main")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var enough time.Time // since when there is
	for {
		set, ok := n.keeper.Current(chain.PrimaryNetworkID)
		if ok {
			weight := set.Weight(n.connected(set))
			met := set.MeetsQuorum(weight, n.cfg.MinConnected)
			if met && enough.IsZero() {
				enough = time.Now()
			}
			if met && (weight == set.TotalWeight || time.Since(enough) > stakeSettle) {
				log.Info("connected to validators", "network", n.cfg.ID, "height", set.Height,
					"validators", len(set.Validators), "stake", weight, "of", set.TotalWeight)
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log.Warn("serving although little stake is connected", "network", n.cfg.ID, "wanted", fmt.Sprintf("%d%%", n.cfg.MinConnected))
			return
		}
	}
}

// connected returns the validators that have greeted us. To be connected is not
// enough: a node that turns us away is so for a moment each time.
func (n *Network) connected(set *valset.Set) warp.Bits {
	signers := warp.NewBits(len(set.Validators))
	for i := range set.Validators {
		for _, id := range set.Validators[i].NodeIDs {
			if n.peers.Status(id).Ready {
				signers.Set(i)
			}
		}
	}
	return signers
}

// Stop ends the parts, highest first, within limit, and cuts calls to nodes that
// are still under way.
func (n *Network) Stop(limit time.Duration) error {
	by := time.Now().Add(limit)
	err := n.upper.StopWithin(limit * 3 / 4)
	err = errors.Join(err, n.lower.StopWithin(time.Until(by)))
	n.source.Close()
	for _, f := range n.forwards {
		f.client.Close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range slices.Concat(n.shared, n.apart) {
		c.Close()
	}
	return err
}
