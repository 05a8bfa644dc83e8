package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	"quorate/rpc/health"
)

const (
	// evmTimeout bounds a call to a node for blocks or traces: those of large
	// blocks take some seconds.
	evmTimeout = 15 * time.Second
	// evmRetries is how often such a call is sent again; the ingest tries anew on
	// top of that.
	evmRetries = 1
	// downAfter is how long a chain's node may fail before its chain counts as down.
	downAfter = 5 * time.Second
	// maxWaiting is how long a block that was fetched may wait for its commit
	// before the chain's check turns red.
	maxWaiting = time.Minute
	// maxStill is how long nothing may be heard of a chain: its last block is
	// asked for every ten seconds.
	maxStill = 25 * time.Second
	// maxEVMBody bounds an answer in bytes.
	maxEVMBody = 32 << 20
)

// errNotAsked is what is wrong with a chain before its node was asked anything.
var errNotAsked = errors.New("the chain's node was not asked yet")

// wrappedAVAX are the contracts of WAVAX, by EVM chain number: mainnet's and
// fuji's. What is wrapped or unwrapped changes balances without a transfer.
var wrappedAVAX = map[uint64]evm.Address{
	43114: {0xB3, 0x1f, 0x66, 0xAA, 0x3C, 0x1e, 0x78, 0x53, 0x63, 0xF0, 0x87, 0x5A, 0x1B, 0x74, 0xE2, 0x7b, 0x85, 0xFD, 0x66, 0xc7},
	43113: {0xd0, 0x0a, 0xe0, 0x84, 0x03, 0xB9, 0xbb, 0xb9, 0x12, 0x4b, 0xB3, 0x05, 0xC0, 0x90, 0x58, 0xE3, 0x2C, 0x39, 0xA4, 0x8c},
}

// EVM is an EVM chain that is followed and indexed.
type EVM struct {
	id      chain.ID
	subnet  chain.ID
	vm      chain.ID
	number  uint64
	name    string // in health checks, logs and metrics
	details ChainDetails
	network *network

	socket bool

	client *evmsource.Client
	own    *source.Client
	index  *index.Chain
	ingest *ingest.Ingest
}

// ChainDetails is what no node tells of an EVM chain. All may be empty.
type ChainDetails struct {
	Name, Description      string
	ExplorerURL, LogoURI   string
	RPCURL, WSURL          string // as told to clients
	TokenName, TokenSymbol string // of the coin for fees; default the network's
	TokenLogoURI           string
	TokenDescription       string
	TokenDecimals          uint8
	Multicall              string
	Features               []string
	Wrapped                []evm.Address // contracts of the wrapped coin
	Private                bool
}

// EVMConfig names an EVM chain besides the C-Chain. It is followed together with
// the first network that has nodes.
type EVMConfig struct {
	// RPC and WS are the addresses of the chain's API at a node, for example
	// http://HOST:9650/ext/bc/ID/rpc and ws://HOST:9650/ext/bc/ID/ws. RPC is required.
	RPC, WS source.Endpoint
	// ID is the blockchain ID; required. Subnet is the subnet's, VM the virtual machine's.
	ID, Subnet, VM chain.ID
	// Names are further names by which the chain can be asked for.
	Names   []string
	Details ChainDetails
}

// name returns what the chain is called in health checks, logs and metrics.
func (c *EVMConfig) name() string {
	if len(c.Names) > 0 {
		return c.Names[0]
	}
	return c.ID.String()
}

// ID gives the blockchain ID.
func (c *EVM) ID() chain.ID { return c.id }

// Subnet gives the ID of the chain's subnet.
func (c *EVM) Subnet() chain.ID { return c.subnet }

// VM gives the ID of the virtual machine, zero if it is not known.
func (c *EVM) VM() chain.ID { return c.vm }

// Number gives the EVM chain number.
func (c *EVM) Number() uint64 { return c.number }

// NetworkID gives the network of the chain.
func (c *EVM) NetworkID() uint32 { return c.network.id }

// Details gives what was configured about the chain. Do not change it.
func (c *EVM) Details() *ChainDetails { return &c.details }

// Index gives the chain's rows.
func (c *EVM) Index() *index.Chain { return c.index }

// HasSocket reports whether the chain's node has a WebSocket for it, as far as it
// was configured.
func (c *EVM) HasSocket() bool { return c.socket }

// Balance asks the node for a balance in wei, at a height or the last one.
func (c *EVM) Balance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	return c.client.Balance(ctx, a, height)
}

// Down says why the chain's node does not answer, or nil.
func (c *EVM) Down() error {
	s := c.ingest.Status()
	if s.Err != nil && time.Since(s.Since) > downAfter {
		return s.Err
	}
	return nil
}

// Updated tells when a block was indexed last, or when it turned out that there
// is none to index; the zero time if not since the start.
func (c *EVM) Updated() time.Time { return c.ingest.Status().Progress }

// EVMs gives the chains that are followed and indexed, the first network's
// C-Chain first. The order stays; chains may be added.
func (e *Engine) EVMs() []*EVM {
	if list := e.evms.Load(); list != nil {
		return *list
	}
	return nil
}

// addEVM appends to a copy: readers take no lock.
func (e *Engine) addEVM(c *EVM) {
	e.evmMu.Lock()
	defer e.evmMu.Unlock()
	list := append([]*EVM(nil), e.EVMs()...)
	list = append(list, c)
	e.evms.Store(&list)
}

// startC indexes the C-Chain of a network.
func (n *network) startC(ctx context.Context, f *followed) error {
	asset, err := n.node.StakingAssetID(ctx)
	if err != nil {
		return err
	}
	c := &EVM{id: f.id, vm: f.vm, network: n, name: n.prefix + "C", details: n.cfg.CChain}
	if c.own, err = n.evmSource(n.nodes); err != nil {
		return err
	}
	path := rpcPath(f.id)
	ws := n.nodes[0].At(strings.TrimSuffix(path, "rpc") + "ws")
	if err := n.startEVM(ctx, c, evmsource.Config{Node: c.own, Path: path, WS: ws, AVAXAssetID: evm.Hash(asset)}); err != nil {
		c.own.Close()
		return err
	}
	n.mu.Lock()
	f.evm = c
	n.mu.Unlock()
	return nil
}

// announce makes a configured chain known by name and has it checked from the
// start on, also while its node does not answer.
func (n *network) announce(cfg *EVMConfig) error {
	f := &followed{id: cfg.ID, subnet: cfg.Subnet, vm: cfg.VM, trouble: errNotAsked}
	n.keeper.Track(cfg.Subnet)
	n.keeper.FollowEpochs(cfg.ID)
	n.mu.Lock()
	n.further = append(n.further, f)
	n.mu.Unlock()
	return errors.Join(
		n.engine.names.Add(cfg.ID, cfg.Names...),
		n.engine.checker.Register(health.Check{
			Name: cfg.name(), Tags: []string{cfg.Subnet.String()},
			Run: func(ctx context.Context) (any, error) { return n.checkChain(ctx, f) },
		}),
	)
}

// startFurther indexes a configured chain.
func (n *network) startFurther(ctx context.Context, f *followed, cfg *EVMConfig) error {
	c, err := n.openFurther(ctx, cfg)
	n.mu.Lock()
	defer n.mu.Unlock()
	f.evm, f.trouble = c, err
	return err
}

func (n *network) openFurther(ctx context.Context, cfg *EVMConfig) (_ *EVM, err error) {
	c := &EVM{id: cfg.ID, subnet: cfg.Subnet, vm: cfg.VM, network: n, name: cfg.name(), details: cfg.Details}
	if c.own, err = n.evmSource([]source.Endpoint{cfg.RPC}); err != nil {
		return nil, err
	}
	if err := n.startEVM(ctx, c, evmsource.Config{Node: c.own, Name: cfg.ID.String(), WS: cfg.WS}); err != nil {
		c.own.Close()
		return nil, err
	}
	return c, nil
}

// evmSource gives a client for the blocks of a chain: slower calls and smaller
// answers than others. Nodes cut answers off at 25 MB.
func (n *network) evmSource(nodes []source.Endpoint) (*source.Client, error) {
	return source.New(source.Config{Nodes: nodes, Timeout: evmTimeout, MaxBody: maxEVMBody, Logger: n.cfg.Log("source"), Metrics: n.metrics})
}

// startEVM asks the node what the chain is and begins to follow it.
func (n *network) startEVM(ctx context.Context, c *EVM, cfg evmsource.Config) (err error) {
	log := n.cfg.Log("evm")
	set := n.metrics.With("chain", c.name)
	cfg.Logger, cfg.Metrics, cfg.Retries = log, set, evmRetries
	c.socket = !cfg.WS.Zero()
	if c.client, err = evmsource.New(cfg); err != nil {
		return err
	}
	if c.number, err = c.client.ChainID(ctx); err != nil {
		return err
	}
	features, err := c.client.Features(ctx)
	if err != nil {
		return err
	}
	if !features.Trace {
		log.Warn("the node has no debug API: internal transactions and past balances are not indexed", "chain", c.number)
	}
	tokens := newTokenLane(c, log)
	opts := index.Options{Wrapped: slices.Clone(c.details.Wrapped), OnSeen: tokens.seen, Metrics: set}
	if w, ok := wrappedAVAX[c.number]; ok {
		opts.Wrapped = append(opts.Wrapped, w)
	}
	if c.index, err = index.Open(n.engine.db.Load(), c.id, opts); err != nil {
		return err
	}
	c.ingest, err = ingest.New(ingest.Config{
		Name: strconv.FormatUint(c.number, 10), Source: c.client, Sink: roomySink{c.index, n.engine.room},
		Trace: features.Trace, TraceOptional: true,
		OnBlock: func(b *evm.Block) {
			n.accepted.block(b)
			n.ahead.block(b, c.ingest.Target())
		},
		OnProgress: n.cfg.OnProgress, Logger: log, Metrics: set,
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.evms = append(n.evms, c)
	n.mu.Unlock()
	n.engine.addEVM(c)
	set.Gauge("quorate_chain_info", "Always 1; the labels say which chain this is.",
		"blockchain_id", c.id.String(), "subnet", c.subnet.String(), "evm_chain_id", strconv.FormatUint(c.number, 10)).Set(1)
	name := strconv.FormatUint(c.number, 10)
	return errors.Join(
		n.upper.Go("ingest "+name, c.ingest.Run),
		n.upper.Go("tokens "+name, tokens.run),
		n.upper.Go("metrics "+name, func(ctx context.Context) error { return c.catchUp(ctx, log) }),
	)
}

// check is the health of the chain: the last block that is indexed.
func (c *EVM) check() (s ingest.Status, err error) {
	s = c.ingest.Status()
	switch {
	case s.Err != nil:
		err = fmt.Errorf("the chain is not followed for %s: %w", time.Since(s.Since).Round(time.Millisecond), s.Err)
	case !s.Started:
		err = errors.New("no block is indexed yet")
	case time.Since(s.Progress) > maxStill:
		err = fmt.Errorf("nothing was heard of the chain for %s", time.Since(s.Progress).Round(time.Millisecond))
	case s.WaitingFor > maxWaiting:
		err = fmt.Errorf("a block has waited for %s to be indexed", s.WaitingFor.Round(time.Millisecond))
	}
	return s, err
}
