package devnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"quorate/devnet/evmrpc"
	"quorate/devnet/nodeapi"
	"quorate/engine/chain"
)

// MaxNodes bounds [Config.Nodes].
const MaxNodes = 16

// Node is a node API of the network. All nodes have the same chains; each has
// abilities and faults of its own, and can be stopped and started again.
type Node struct {
	api      *nodeapi.Server
	handlers map[chain.ID]*evmrpc.Handler

	mu     sync.Mutex      // guards what follows
	life   context.Context // of the network
	fail   func()          // ends the network when the node cannot go on
	addr   string          // to listen on: with the port that it got first
	url    string
	cancel context.CancelFunc // of what runs; nil while it is stopped
	ended  chan struct{}      // closed when it has ended
	err    error              // of its end; to be read when ended is closed
}

// addNodes makes the node APIs, once there are chains.
func (d *Devnet) addNodes() {
	for i := range d.cfg.Nodes {
		n := &Node{handlers: make(map[chain.ID]*evmrpc.Handler)}
		version := clientVersion
		if !d.cfg.Helicon.IsZero() {
			version = heliconClientVersion
		}
		for id, c := range d.chains {
			n.handlers[id] = evmrpc.New(c, version)
		}
		port := d.cfg.HTTPPort
		if port != 0 {
			port += uint16(i) // validate has checked the sum
		}
		n.addr = net.JoinHostPort(d.cfg.HTTPHost, strconv.Itoa(int(port)))
		n.api = nodeapi.New(nodeapi.Config{
			World: d.world, Live: live{d}, Index: i, EVM: n.handlers, Primary: d.primary, Helicon: d.cfg.Helicon,
			Drain: d.cfg.Drain, Logger: d.cfg.Logger, Metrics: d.cfg.Metrics,
		})
		d.nodes = append(d.nodes, n)
	}
}

// Nodes returns the number of node APIs.
func (d *Devnet) Nodes() int { return len(d.nodes) }

// Node returns node API i: that of validator i.
func (d *Devnet) Node(i int) *Node { return d.nodes[i] }

// URL returns the base URL; empty until [Devnet.Ready].
func (n *Node) URL() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.url
}

// EVM returns what answers for an EVM chain, to be told how to misbehave, or nil.
func (n *Node) EVM(id chain.ID) *evmrpc.Handler { return n.handlers[id] }

// SetTraits changes what the node can do, for all EVM chains.
func (n *Node) SetTraits(t evmrpc.Traits) {
	for _, h := range n.handlers {
		h.SetTraits(t)
	}
}

// SetFault makes the node misbehave for all EVM chains, or behave again.
func (n *Node) SetFault(f EVMFault) {
	for _, h := range n.handlers {
		h.SetFault(f)
	}
}

// SetPrimaryTraits changes what the node can do, and how it misbehaves, for the P- and
// the X-Chain. Without [Config.PrimaryBlocks] it does nothing.
func (n *Node) SetPrimaryTraits(t nodeapi.PrimaryTraits) { n.api.SetPrimaryTraits(t) }

// begin starts the node for the first time; it ends when ctx does, at the latest.
func (n *Node) begin(ctx context.Context, fail func()) error {
	n.mu.Lock()
	n.life, n.fail = ctx, fail
	n.mu.Unlock()
	return n.Start()
}

// Start lets the node listen again on its old port. It fails outside of
// [Devnet.Run], and does nothing for a node that runs.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life == nil || n.life.Err() != nil {
		return ErrNotRunning
	}
	if n.cancel != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(n.life)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", n.addr)
	if err != nil {
		cancel()
		return fmt.Errorf("node API: %w", err)
	}
	n.addr, n.cancel, n.ended = listener.Addr().String(), cancel, make(chan struct{})
	n.url = "http://" + n.addr
	go func() {
		if n.err = n.api.Serve(ctx, listener); n.err != nil {
			n.fail()
		}
		close(n.ended)
	}()
	return nil
}

// Stop closes the port and all connections once what is being answered is, and
// waits for that.
func (n *Node) Stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	<-n.ended
	n.cancel = nil
	return n.err
}

// endNodes stops all nodes for good.
func (d *Devnet) endNodes() (err error) {
	for _, n := range d.nodes {
		err = errors.Join(err, n.Stop())
	}
	return err
}

// NodeURLs returns the base URLs of all node APIs; empty ones until [Devnet.Ready].
func (d *Devnet) NodeURLs() []string {
	urls := make([]string, len(d.nodes))
	for i, n := range d.nodes {
		urls[i] = n.URL()
	}
	return urls
}
