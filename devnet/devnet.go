// Package devnet simulates an Avalanche network in one process: a node API and
// any number of validators that speak the peer protocol on loopback and sign
// the warp messages of a C-Chain and of L1s. To a client it looks like a real
// network; the same doors lead in. Everything but ports and clocks follows from
// a seed. The EVM chains have a history of transactions of all kinds, and grow.
//
// By shares of the stake, validators can be made silent, slow, flapping, or
// lying in every way that [hostile.Kinds] lists; L1s can have inactive and
// underfunded members, and validators shared BLS keys or none.
//
// [New] builds the network, [Devnet.Run] runs it until its context ends.
// Single validators can be stopped, hung and started meanwhile.
package devnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/hostile"
	"quorate/devnet/primary"
	"quorate/devnet/validator"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/metric"
	"quorate/p2p/wire"
)

// socketShare is the share of the stake whose nodes have WebSockets open at Helicon.
const socketShare = 0.3

// ErrNotRunning is returned for what only a running network can do.
var ErrNotRunning = errors.New("the devnet is not running")

// Devnet is a simulated network. Its methods may be called from any goroutine.
type Devnet struct {
	cfg        Config
	log        *slog.Logger
	world      *world.World
	validators []*validator.Validator
	liars      []Liar
	counts     *counts
	chains     map[chain.ID]*evmchain.Chain
	primary    *primary.Chain // nil without blocks
	nodes      []*Node

	ready chan struct{} // closed once everything listens

	growing sync.Mutex // guards grown, and is held for OnGrowth
	grown   Growth

	mu      sync.Mutex // guards what follows
	started bool
	ctx     context.Context // of Run; nil before and after
}

// New builds a network. It opens no port.
func New(cfg Config) (*Devnet, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w, err := world.New(cfg.params())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var blocks *primary.Chain
	if cfg.PrimaryBlocks > 0 {
		blocks, err = primary.Make(primary.Config{World: w, Blocks: cfg.PrimaryBlocks, Helicon: cfg.Helicon})
		if errors.Is(err, primary.ErrHelicon) {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		if err != nil {
			return nil, fmt.Errorf("P-Chain: %w", err)
		}
		w.Follow(blocks)
	}
	codec, err := wire.NewCodec()
	if err != nil {
		return nil, err
	}
	d := &Devnet{cfg: cfg, log: cfg.Logger, world: w, primary: blocks, ready: make(chan struct{})}
	if d.counts, err = newCounts(cfg.Metrics); err != nil {
		return nil, err
	}
	conducts, liars, err := cfg.conducts(w)
	if err != nil {
		return nil, err
	}
	d.liars = liars
	if err := d.addChains(); err != nil {
		return nil, err
	}
	var cChain validator.CChain
	var platform validator.Platform
	if d.primary != nil {
		platform = d.primary
	}
	swapTimes := make(map[int]time.Duration) // of those that are not quick
	if !cfg.Helicon.IsZero() {
		cChain = d.chains[w.CChainID()]
		for _, i := range w.Pick(socketShare)[0] {
			swapTimes[i] = evmrpc.SocketTime
		}
	}
	for i, identity := range w.Validators() {
		v, err := validator.New(validator.Config{
			Platform: platform, CChain: cChain, Helicon: cfg.Helicon, SwapTime: swapTimes[i],
			World: w, Identity: identity, Directory: directory{d}, Codec: codec,
			Listen: cfg.staking(i), Conduct: conducts[i], Latency: cfg.Latency, Jitter: cfg.Jitter,
			SignatureCache: signatureCache(cfg.Validators), Observer: d.counts, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, err
		}
		d.validators = append(d.validators, v)
	}
	if d.primary != nil {
		d.primary.Attach(d.chains[w.CChainID()])
	}
	d.goOn(cfg.Grown)
	d.addNodes()
	d.gauges(cfg.Metrics)
	return d, nil
}

func (d *Devnet) gauges(set *metric.Set) {
	set.GaugeFunc("quorate_devnet_validators_running", "Simulated validators that run.", func() float64 {
		n := 0
		for _, v := range d.validators {
			if v.Running() {
				n++
			}
		}
		return float64(n)
	})
	set.GaugeFunc("quorate_devnet_connections", "Connections to simulated validators.", func() float64 {
		n := 0
		for _, v := range d.validators {
			n += v.Connections()
		}
		return float64(n)
	})
}

// Run opens all ports and serves until ctx ends, which is no error. It returns
// after the last goroutine has ended. A network runs once.
func (d *Devnet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end(cancel)
	for _, v := range d.validators {
		if err := v.Start(ctx); err != nil {
			return err
		}
	}
	for _, n := range d.nodes {
		if err := n.begin(ctx, cancel); err != nil {
			cancel()
			return errors.Join(err, d.endNodes())
		}
	}
	var blocks sync.WaitGroup
	blocks.Go(func() { d.blocks(ctx) })
	blocks.Go(func() { d.grow(ctx) })
	close(d.ready)
	d.log.Info("devnet is ready", "url", d.NodeURL(), "validators", len(d.validators))
	<-ctx.Done()
	for _, c := range d.chains {
		c.End()
	}
	err := d.endNodes()
	blocks.Wait()
	return err
}

// blocks lets the P-Chain grow until ctx ends.
func (d *Devnet) blocks(ctx context.Context) {
	var moves, converts <-chan time.Time // nil: never
	if d.cfg.HeightInterval > 0 {
		tick := time.NewTicker(d.cfg.HeightInterval)
		defer tick.Stop()
		moves = tick.C
	}
	if d.cfg.L1After > 0 {
		timer := time.NewTimer(d.cfg.L1After)
		defer timer.Stop()
		converts = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-moves:
			d.growPrimary()
			d.grew(Growth{Heights: 1})
		case <-converts:
			d.ConvertL1()
		}
	}
}

// ConvertL1 has the P-Chain accept the conversion of the last L1, if that waits for
// [Config.L1After].
func (d *Devnet) ConvertL1() {
	if l1s := d.world.L1s(); len(l1s) > 0 {
		d.world.Convert(l1s[len(l1s)-1])
	}
}

func (d *Devnet) begin(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started {
		return errors.New("a devnet runs only once")
	}
	d.started, d.ctx = true, ctx
	return nil
}

// end refuses further starts, then waits for what runs.
func (d *Devnet) end(cancel context.CancelFunc) {
	d.mu.Lock()
	d.ctx = nil
	d.mu.Unlock()
	cancel()
	for _, v := range d.validators {
		v.Stop()
	}
}

// Ready is closed once the API and all validators listen. It stays open when
// Run fails before.
func (d *Devnet) Ready() <-chan struct{} { return d.ready }

// NodeURL returns the first node API's base URL; empty until [Devnet.Ready].
func (d *Devnet) NodeURL() string { return d.nodes[0].URL() }

// Stop closes validator i's port and connections and waits for their end.
func (d *Devnet) Stop(i int) { d.validators[i].Stop() }

// Start starts validator i again on its old port, or lets it go on after
// [Devnet.Hang]. It fails outside of [Devnet.Run].
func (d *Devnet) Start(i int) error {
	d.mu.Lock()
	defer d.mu.Unlock() // so that end does not miss it
	if d.ctx == nil {
		return ErrNotRunning
	}
	return d.validators[i].Start(d.ctx)
}

// Hang makes validator i accept connections but read and answer nothing.
func (d *Devnet) Hang(i int) { d.validators[i].Hang() }

// Liars returns the validators that lie from the start, pairs one after the other.
// The caller must not change the slice.
func (d *Devnet) Liars() []Liar { return d.liars }

// SetBehaviour changes how validator i replies to requests from now on.
func (d *Devnet) SetBehaviour(i int, b Behaviour) { d.validators[i].SetBehaviour(b) }

// Message returns the C-Chain's warp message i.
func (d *Devnet) Message(i uint64) *warp.Unsigned { return d.world.Message(i) }

// L1Message returns message i of the chain of L1 k, of those in [world.World.L1s].
func (d *Devnet) L1Message(k int, i uint64) *warp.Unsigned {
	return d.world.L1Message(d.world.L1s()[k], i)
}

// RequestCount returns the number of signature requests that validator i got.
func (d *Devnet) RequestCount(i int) uint64 { return d.validators[i].RequestCount() }

// MessageRequests returns the number of requests for one message that all
// validators together got. Only the last [CountedMessages] messages are counted.
func (d *Devnet) MessageRequests(id chain.ID) uint64 { return d.counts.of(id) }

// World returns the network's state.
func (d *Devnet) World() *world.World { return d.world }

// WrongKey is a behaviour for validator i: it signs with a key that is not its own.
func (d *Devnet) WrongKey(i int) Behaviour { return hostile.SignWith(d.world.WrongKey(i)) }

// live tells the node API which validators run.
type live struct{ d *Devnet }

func (l live) Online(i int) bool            { return l.d.validators[i].Running() }
func (l live) Address(i int) netip.AddrPort { return l.d.validators[i].Address() }
