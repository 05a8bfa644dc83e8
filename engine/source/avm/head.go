// Package avm makes typed calls to the X-Chain of an Avalanche node.
package avm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/source"
)

const path = "/ext/bc/X"

// Caller makes calls; [source.Client] is one.
type Caller interface {
	Call(ctx context.Context, path, method string, params, result any) error
}

// Tip is the last accepted block of a chain.
type Tip struct {
	Height uint64
	// ID is the block's own. Consensus wraps blocks, so a node's log and health
	// report may name the same block by the ID of its wrapping.
	ID chain.ID
}

// Head returns the node's last accepted X-Chain block. A node that does not run
// the chain answers with an error that wraps [source.ErrBadAnswer], one that is
// still starting with one that wraps [source.ErrUnreachable].
func Head(ctx context.Context, caller Caller) (Tip, error) {
	var height struct {
		Height string `json:"height"`
	}
	if err := caller.Call(ctx, path, "avm.getHeight", nil, &height); err != nil {
		return Tip{}, err
	}
	h, err := strconv.ParseUint(height.Height, 10, 64)
	if err != nil {
		return Tip{}, fmt.Errorf("%w: height: %w", source.ErrBadAnswer, err)
	}
	var r struct {
		Block string `json:"block"`
	}
	params := map[string]string{"height": height.Height, "encoding": "hex"}
	if err := caller.Call(ctx, path, "avm.getBlockByHeight", params, &r); err != nil {
		return Tip{}, err
	}
	block, err := source.DecodeHex(r.Block)
	if err != nil {
		return Tip{}, err
	}
	return Tip{Height: h, ID: sha256.Sum256(block)}, nil
}
