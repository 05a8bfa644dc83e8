package network

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/chain"
	"quorate/engine/source"
	"quorate/engine/source/platform"
)

// maxForwarded bounds an answer that is passed on, in bytes.
const maxForwarded = 64 << 20

// ownDial bounds the opening of a WebSocket at a chain's own API, so that time is
// left for the followed nodes.
const ownDial = 2 * time.Second

// forwards is the API of a configured chain. Chain RPC is asked for there before the
// followed nodes are.
type forwards struct {
	client *source.Client
	base   source.Endpoint // of client
	// whole: the chain's API is laid out as a node's, so that all its paths can be
	// asked for there. Otherwise it has rpc alone, and ws if that was configured.
	whole  bool
	socket source.Endpoint // zero if none was configured
}

// newForwards makes the forwards of a configured chain.
func (n *Network) newForwards(cfg *API) (*forwards, error) {
	f := &forwards{socket: cfg.WS}
	base, ok := cfg.RPC.Sibling("/rpc", "")
	if f.whole = ok && cfg.RPC.IsNodePath(); !f.whole {
		base = cfg.RPC
	}
	f.base = base
	var err error
	f.client, err = source.New(source.Config{Nodes: []source.Endpoint{base}, Pool: n.cfg.Answers, Passed: n.cfg.Passed, Logger: n.cfg.Log("source"), Metrics: n.metrics})
	return f, err
}

// Forward posts body to path below a chain, at a followed node that runs it, and
// returns the node's answer as it is, to be released. The error is that of the source: no node
// answered as it should.
func (n *Network) Forward(ctx context.Context, id chain.ID, path string, body []byte) (a source.Passed, err error) {
	own := n.own(id, path)
	if own != nil {
		a, err = own.client.Forward(ctx, own.path(path), body, maxForwarded)
		if err == nil || ctx.Err() != nil || errors.Is(err, source.ErrMaybeDone) {
			return a, err
		}
	}
	a, next := n.source.Forward(ctx, chainPath(id)+path, body, maxForwarded)
	if next == nil || own == nil {
		return a, next
	}
	return a, source.Graver(err, next)
}

// Info posts body to the info API of a followed node, see [Network.Forward].
func (n *Network) Info(ctx context.Context, body []byte) (source.Passed, error) {
	return n.source.Forward(ctx, platform.InfoPath, body, maxForwarded)
}

// Dial opens the WebSocket at path below a chain, at a followed node that runs it.
func (n *Network) Dial(ctx context.Context, id chain.ID, path string) (*websocket.Conn, error) {
	var failed error
	if own := n.own(id, path); own != nil {
		at := own.socket
		if at.Zero() {
			at = own.base.At(path)
		}
		first, cancel := context.WithTimeout(ctx, ownDial)
		conn, err := source.DialWebSocket(first, at)
		cancel()
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		failed = err
	}
	conn, err := n.source.Dial(ctx, chainPath(id)+path)
	if err != nil && failed != nil {
		err = source.Graver(failed, err)
	}
	return conn, err
}

// Has reports whether the network has a chain, as far as it is known.
func (n *Network) Has(id chain.ID) bool { return n.forwards[id] != nil || n.knows(id) }

// own returns the API of a configured chain if it has path, which is empty or begins
// with a slash; otherwise nil.
func (n *Network) own(id chain.ID, path string) *forwards {
	f := n.forwards[id]
	if f == nil || !f.whole && path != "/rpc" && (path != "/ws" || f.socket.Zero()) {
		return nil
	}
	return f
}

// path returns where path below the chain is at the chain's own API.
func (f *forwards) path(path string) string {
	if f.whole {
		return path
	}
	return "" // its address is that of rpc
}

// chainPath is where a node answers for a chain.
func chainPath(id chain.ID) string { return "/ext/bc/" + id.String() }

// RPCPath is where a node answers for an EVM chain.
func RPCPath(id chain.ID) string { return chainPath(id) + "/rpc" }
