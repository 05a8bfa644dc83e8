package evm

import (
	"fmt"

	"github.com/goccy/go-json"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
)

// rereads is how often a block is read that still cannot be checked: a reason that is new
// is believed the second time, see [checker.believe].
const rereads = 2

// Reread reads a block that could not be checked when it came from what the node answered
// then, see [evm.Block.Foreign], with what this release knows, and checks it in full. The
// result has what traces say in b, and is unverified if something is still not
// known. An error means that the block is not the one of that hash. No node is asked.
func (c *Client) Reread(b *evm.Block) (*evm.Block, error) {
	if len(b.Foreign) == 0 {
		return b, nil // not its members are unknown, but the rules by which it was made
	}
	var kept struct{ Block, Receipts json.RawMessage }
	if err := json.Unmarshal(b.Foreign, &kept); err != nil {
		return nil, fmt.Errorf("block %d: what was kept of it: %w", b.Number, err)
	}
	check := newChecker(VerifyFull, metric.NewSet(), c.cfg.Logger, c.cfg.Needs) // it counts for itself: nothing was answered
	for try := 1; ; try++ {
		again, err := decodeBlock(kept.Block, b.Number, c.cfg.AVAXAssetID, check)
		if err == nil {
			err = decodeReceipts(again, kept.Receipts, check)
		}
		switch {
		case err == nil:
		case try < rereads:
			continue
		default:
			return nil, err
		}
		if again.Hash != b.Hash || again.Parent != b.Parent || len(again.Txs) != len(b.Txs) {
			return nil, fmt.Errorf("%w: block %d is %s, and %s in what was kept of it", ErrFalse, b.Number, b.Hash, again.Hash)
		}
		again.Traced, again.Balances = b.Traced, b.Balances
		for i := range again.Txs {
			again.Txs[i].Calls, again.Txs[i].Failure = b.Txs[i].Calls, b.Txs[i].Failure
		}
		return again, nil
	}
}
