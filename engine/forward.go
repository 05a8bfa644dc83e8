package engine

import (
	"context"
	"errors"

	"quorate/engine/chain"
)

// maxForwarded bounds an answer that is passed on, in bytes.
const maxForwarded = 64 << 20

// ErrNoChain is given for chains that no followed node has told of.
var ErrNoChain = errors.New("no followed node has this chain")

// Forward passes the body of a JSON-RPC request to the API of a chain, at a node
// that is followed, and gives the node's answer as it is. The error is
// [ErrNoChain] or that of the source: the node did not answer as it should.
func (e *Engine) Forward(ctx context.Context, id chain.ID, body []byte) (status int, contentType string, answer []byte, err error) {
	nets := e.networks.Load()
	if nets == nil {
		return 0, "", nil, errStarting
	}
	for _, n := range *nets {
		if n.knows(id) {
			return n.source.Forward(ctx, rpcPath(id), body, maxForwarded)
		}
	}
	return 0, "", nil, ErrNoChain
}

// rpcPath is where a node answers for an EVM chain.
func rpcPath(id chain.ID) string { return "/ext/bc/" + id.String() + "/rpc" }
