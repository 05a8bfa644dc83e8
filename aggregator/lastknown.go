package aggregator

import (
	"context"
	"errors"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// lastKnown answers from what is kept when the node gave no validator set, as
// after a restart while it is down: a result of the last set that was known, if
// that has the quorum. It is checked against that set as always. Nobody is asked
// to sign: a set that may be old is good for what was signed under it alone.
func (a *Aggregator) lastKnown(ctx context.Context, req *Request, height uint64, msg *warp.Unsigned, cause error) (*Result, error) {
	var failure *Error
	if a.cfg.LastKnown == nil || height != 0 || !errors.As(cause, &failure) || failure.Kind != NodeFailed {
		return nil, cause
	}
	var subnet chain.ID
	if req.SigningSubnetID != nil {
		subnet = *req.SigningSubnetID
	} else if id, err := a.sets.SubnetOf(ctx, msg.SourceChainID); err == nil {
		subnet = id
	} else {
		return nil, cause
	}
	set, ok := a.cfg.LastKnown(subnet)
	if !ok {
		return nil, cause
	}
	k := a.any(ctx, req.wish(), msg, set)
	if k == nil {
		return nil, cause
	}
	a.count.loaded.Inc()
	a.journal.repeated(time.Now(), req.wish(), k, FromDisk, msg, set)
	return k.resultAt(set.Height), nil
}

// LastKnown returns the last set that was known of a subnet, in an earlier run too.
type LastKnown func(subnet chain.ID) (*valset.Set, bool)
