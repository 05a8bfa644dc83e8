package platform

import (
	"context"

	"quorate/engine/chain"
)

// EpochOf returns the number of the epoch that a blockchain is in (ACP-181), and
// the P-Chain height at which it checks messages until the next one begins.
// [ErrNoMethod] when the node's version has no epochs, and [ErrNotFound] when it
// does not run the chain. The height is 0 before the first epoch.
func (c *Client) EpochOf(ctx context.Context, blockchain chain.ID) (epoch, height uint64, err error) {
	var r struct {
		Number *number `json:"number"`
		Height *number `json:"pChainHeight"`
	}
	path := "/ext/bc/" + blockchain.String() + "/proposervm"
	if err := classify(c.caller.Call(ctx, path, "proposervm.getCurrentEpoch", nil, &r)); err != nil {
		return 0, 0, err
	}
	if r.Number == nil || r.Height == nil {
		return 0, 0, bad("no epoch")
	}
	return uint64(*r.Number), uint64(*r.Height), nil
}
