package platform

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"quorate/engine/chain"
)

// Standing is how a validator of the primary network stands with the answering node.
type Standing struct {
	NodeID chain.NodeID
	// Weight is its own stake, Delegated that of its delegators.
	Weight, Delegated uint64
	// Uptime is for which part of its time the node has been connected with it, of
	// 1,000,000, and negative if the node does not know: it has none of a validator
	// whose time begins later than the node's own clock says.
	Uptime int32
	// TxID is the transaction that staked, zero if the node does not say it; Start is when
	// the stake, or the present cycle, began, in Unix seconds, and Reward what it is to
	// earn, in nAVAX.
	TxID          chain.ID
	Start, Reward uint64
}

type standingAnswer struct {
	Validators []struct {
		NodeID    string  `json:"nodeID"`
		Weight    *number `json:"weight"`
		Delegated *number `json:"delegatorWeight"`
		Uptime    *uptime `json:"uptime"`
		TxID      string  `json:"txID"`
		Start     number  `json:"startTime"`
		Reward    number  `json:"potentialReward"`
	} `json:"validators"`
}

// uptime is a percentage that the node writes as a string with four decimals. It is
// negative for what no percentage can be.
type uptime int32

// UnmarshalJSON implements json.Unmarshaler.
func (u *uptime) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(unquote(b)), 64)
	if err != nil {
		return fmt.Errorf("not a percentage: %.40q", b)
	}
	*u = -1
	if v >= 0 && v <= 100 { // NaN is neither
		*u = uptime(math.Round(v * 10_000))
	}
	return nil
}

// Standings returns the validators of the primary network at the last accepted block,
// each once. The call is costly for the node, which looks at all delegators.
func (c *Client) Standings(ctx context.Context) ([]Standing, error) {
	var r standingAnswer
	if err := c.platform(ctx, "getCurrentValidators", nil, &r); err != nil {
		return nil, err
	}
	return r.standings()
}

func (r *standingAnswer) standings() ([]Standing, error) {
	if r.Validators == nil {
		return nil, bad("no validators")
	}
	if len(r.Validators) > MaxMembers {
		return nil, bad("more than %d validators", MaxMembers)
	}
	out := make([]Standing, len(r.Validators))
	seen := make(map[chain.NodeID]bool, len(out))
	for i, v := range r.Validators {
		id, err := chain.ParseNodeID(v.NodeID)
		switch {
		case err != nil:
			return nil, bad("node ID: %w", err)
		case seen[id]:
			return nil, bad("validator %s twice", id)
		case v.Weight == nil || v.Delegated == nil || v.Uptime == nil:
			return nil, bad("validator %s: no stake or no uptime", id)
		}
		seen[id] = true
		out[i] = Standing{NodeID: id, Weight: uint64(*v.Weight), Delegated: uint64(*v.Delegated), Uptime: int32(*v.Uptime),
			Start: uint64(v.Start), Reward: uint64(v.Reward)}
		if v.TxID != "" {
			if out[i].TxID, err = chain.ParseID(v.TxID); err != nil {
				return nil, bad("validator %s: %w", id, err)
			}
		}
	}
	return out, nil
}

// Supply is how much AVAX there is, in nAVAX, with what stakers have been promised, after the
// block at a height, 0 if the node does not say which.
type Supply struct{ Amount, Height uint64 }

// Supply returns the supply after the last accepted block.
func (c *Client) Supply(ctx context.Context) (s Supply, err error) {
	var r struct {
		Supply *number `json:"supply"`
		Height number  `json:"height"`
	}
	if err := c.platform(ctx, "getCurrentSupply", nil, &r); err != nil {
		return s, err
	}
	if r.Supply == nil {
		return s, bad("no supply")
	}
	return Supply{uint64(*r.Supply), uint64(r.Height)}, nil
}
