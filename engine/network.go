package engine

import (
	"context"
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
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/metric"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/p2p"
	"quorate/p2p/wire"
)

// network is everything that runs for one Avalanche network.
type network struct {
	id      uint32
	nodes   []source.Endpoint // best first; guarded by mu
	cfg     *Config
	metrics *metric.Set // of this network alone; the ID becomes a label
	source  *source.Client
	node    *platform.Client
	keeper  *valset.Keeper
	peers   *p2p.Network
	agg     *aggregator.Aggregator

	lower, upper layer // source side and peers; aggregator

	// What the engine's networks share, and what tells their chains apart: the
	// first network's have no prefix.
	engine *Engine
	prefix string
	rank   int // among the networks
	ahead  *signAhead
	// forwards are those of configured chains. They do not change.
	forwards map[chain.ID]*forwards
	learned  atomic.Bool   // the node has told all its chains
	toldAll  chan struct{} // closed then
	last     *lastSets

	accepted *accepted

	unresolved map[chain.NodeID]bool // tracked peers whose name has no address; owned by discover

	mu       sync.Mutex           // guards what follows
	facts    networkRecord        // as it is remembered
	chains   map[string]*followed // by the name of a primary network's chain
	known    map[chain.ID]bool    // all chains that the node has told of
	withoutC bool                 // the node has no C-Chain
	shared   []*source.Client     // of chains at the followed nodes
	apart    []*source.Client     // of chains whose API was configured
}

// startNetwork builds and starts one network's parts, lowest first. It asks no
// node anything, and begins with what is known of the network.
func (e *Engine) startNetwork(ctx context.Context, id uint32, nodes []source.Endpoint, known *networkRecord, prefix string, rank int) (_ *network, err error) {
	n := &network{
		id: id, nodes: nodes, cfg: &e.cfg, lower: newLayer(ctx, e.log), upper: newLayer(ctx, e.log),
		metrics: metric.NewSet("network", strconv.FormatUint(uint64(id), 10)),
		engine:  e, prefix: prefix, rank: rank, accepted: newAccepted(), facts: *known, toldAll: make(chan struct{}),
		chains: make(map[string]*followed), known: make(map[chain.ID]bool), forwards: make(map[chain.ID]*forwards),
	}
	n.source, err = source.New(source.Config{Nodes: nodes, Logger: e.cfg.Log("source"), Metrics: n.metrics})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.stop(networksStop))
		}
	}()
	if prefix == "" {
		for i := range e.cfg.EVMChains {
			f, err := n.newForwards(&e.cfg.EVMChains[i])
			if err != nil {
				return nil, err
			}
			n.forwards[e.cfg.EVMChains[i].ID] = f
		}
	}
	n.node = platform.New(n.source)
	if n.peers, err = e.newPeers(n, known.Version); err != nil {
		return nil, err
	}
	n.keeper, err = valset.NewKeeper(valset.Config{
		Source: n.node, Poll: e.cfg.HeightPoll, OnChange: n.peers.SetWanted,
		Tracked: e.cfg.TrackedSubnets, Allowed: allowed(&e.cfg), MaxLookback: e.cfg.MaxHeightLookback,
		Logger: e.cfg.Log("P"), Metrics: n.metrics,
	})
	if err != nil {
		return nil, err
	}
	if n.last, err = openLastSets(e.path(lastSetsFile(id))); err != nil {
		e.log.Warn("results that are kept cannot be served before the node answers", "err", err)
	}
	n.agg, err = aggregator.New(aggregator.Config{
		LastKnown: n.last.get,
		NetworkID: id, Sets: n.keeper, Peers: peers{n.peers}, History: n.accepted, Store: roomyResults{e.results.Load(), e.room}, Notes: roomyNotes{e.results.Load().Notes(), e.room},
		Timing: aggregator.Timing{Window: e.cfg.BufferWindow}, RequestTimeout: e.cfg.RequestTimeout, Workers: e.cfg.Workers,
		Logger: e.cfg.Log("aggregator"), Metrics: n.metrics,
	})
	if err != nil {
		return nil, err
	}
	n.addMetrics()
	n.ahead = newSignAhead(e.cfg.SignAhead, n.agg, n.keeper.EpochHeights, e.cfg.Log("aggregator"), n.metrics)
	n.recallChains(known)
	return n, errors.Join(
		n.lower.Go("peers", n.peers.Run),
		n.lower.Go("validator sets", n.keeper.Run),
		n.upper.Go("aggregator", n.agg.Run),
		n.upper.Go("signing ahead", n.ahead.run),
		n.lower.Go("chains", n.watchChains),
		n.lower.Go("P-Chain height", n.watchPlatform),
	)
}

// allowed returns the subnets that clients may have followed; those of followed
// chains are among them.
func allowed(cfg *Config) []chain.ID {
	if len(cfg.AllowedSubnets) == 0 {
		return nil
	}
	ids := slices.Clone(cfg.AllowedSubnets)
	for i := range cfg.EVMChains {
		ids = append(ids, cfg.EVMChains[i].Subnet)
	}
	return ids
}

// newPeers makes the peer network with our lasting identity and the version that
// peers must be shown to let us in; [network.discover] keeps to the node's.
func (e *Engine) newPeers(n *network, version platform.Version) (*p2p.Network, error) {
	proof := proofOfNothing()
	return p2p.New(p2p.Config{
		NetworkID: n.id, Certificate: e.certificate, ClientVersion: wire.Version(version), IPProof: proof[:],
		Discover: n.discover, DiscoverEvery: e.cfg.PeerPoll,
		Logger: e.cfg.Log("p2p"), Metrics: n.metrics,
	})
}

func (n *network) version(ctx context.Context) (wire.Version, error) {
	v, err := n.node.NodeVersion(ctx)
	return wire.Version(v), err
}

// proofOfNothing is a well-formed BLS signature for the handshake. Peers check
// whose it is only for validators, which we are not.
func proofOfNothing() [bls.SignatureLen]byte {
	return bls.SecretKeyFromSeed([]byte("quorate is not a validator and has no key")).SignProof(nil)
}

// discover returns the addresses of validators that the followed node knows: its
// peers, and its own. It also refreshes those of tracked peers, and keeps to the node's version: peers close the door
// on old ones after an upgrade of the network.
func (n *network) discover(ctx context.Context) ([]p2p.Address, error) {
	n.track(ctx)
	known, err := n.node.Peers(ctx)
	if err != nil {
		return nil, err
	}
	if v, err := n.version(ctx); err == nil {
		n.peers.SetClientVersion(v)
	} else {
		n.cfg.Log("p2p").Debug("node does not tell its version", "network", n.id, "err", err)
	}
	out := make([]p2p.Address, 0, len(known)+1)
	for _, p := range known {
		out = append(out, p2p.Address{NodeID: p.NodeID, Addr: p.PublicIP})
	}
	// Public nodes often do not tell their own address; they can be reached
	// through gossip then.
	self, idErr := n.node.NodeID(ctx)
	addr, ipErr := n.node.NodeIP(ctx)
	if idErr == nil && ipErr == nil {
		out = append(out, p2p.Address{NodeID: self, Addr: addr})
	}
	return out, nil
}

// awaitReady waits until the node has told its chains and enough stake of the
// primary network is connected, or patience or ctx ends.
func (n *network) awaitReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ConnectPatience)
	defer cancel()
	select {
	case <-n.toldAll:
	case <-ctx.Done():
		n.cfg.Log("main").Warn("serving although the node has not told all its chains", "network", n.id)
		return
	}
	n.awaitStake(ctx)
}

// note changes what is known of the network and remembers it.
func (n *network) note(ctx context.Context, change func(known *networkRecord)) {
	n.mu.Lock()
	change(&n.facts)
	raw := n.facts
	raw.Chains = maps.Clone(raw.Chains)
	n.mu.Unlock()
	n.engine.memory.remember(ctx, networkKey(n.id), &raw)
}

// setNodes replaces the nodes that stand in for each other.
func (n *network) setNodes(list []source.Endpoint) {
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
func (n *network) awaitStake(ctx context.Context) {
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
				log.Info("connected to validators", "network", n.id, "height", set.Height,
					"validators", len(set.Validators), "stake", weight, "of", set.TotalWeight)
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log.Warn("serving although little stake is connected", "network", n.id, "wanted", fmt.Sprintf("%d%%", n.cfg.MinConnected))
			return
		}
	}
}

// connected returns the validators that have greeted us. To be connected is not
// enough: a node that turns us away is so for a moment each time.
func (n *network) connected(set *valset.Set) warp.Bits {
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

// stop ends the parts, highest first, within limit, and cuts calls to nodes that
// are still under way.
func (n *network) stop(limit time.Duration) error {
	by := time.Now().Add(limit)
	err := n.upper.stop(limit * 3 / 4)
	err = errors.Join(err, n.lower.stop(time.Until(by)))
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

// stopNetworks ends all networks.
func (e *Engine) stopNetworks(limit time.Duration) error {
	if nets := e.networks.Load(); nets != nil {
		return stopAll(*nets, limit)
	}
	return nil
}

// stopAll stops networks at the same time: none waits for the slowest.
func stopAll(nets []*network, limit time.Duration) error {
	errs := make([]error, len(nets))
	var wg sync.WaitGroup
	for i, n := range nets {
		wg.Go(func() {
			if err := n.stop(limit); err != nil {
				errs[i] = fmt.Errorf("network %d: %w", n.id, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
