package aggregator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

// signers finds the validators that are to sign. For the proposed height of a known
// subnet it asks no node.
//
// The source chain must be known whoever is to sign: validators drop questions
// about chains that they do not know without a word, so a message of an invented
// chain would occupy every one of them for as long as a request may take.
func (a *Aggregator) signers(ctx context.Context, at *attempt) error {
	at.height = at.req.PChainHeight
	if to, ok := destination(at.req, at.msg); ok {
		height, followed := a.sets.EpochHeight(to)
		if !followed && at.req.Destination != nil {
			return &Error{Kind: BadRequest, Msg: fmt.Sprintf("destination blockchain %s is not followed by this server, which "+
				"therefore does not know its epoch; name the P-Chain height at which it checks messages instead", to)}
		}
		at.height = height
	}
	subnet, err := a.sets.SubnetOf(ctx, at.msg.SourceChainID)
	if err != nil {
		return setError(err, "source chain "+at.msg.SourceChainID.String())
	}
	if at.req.SigningSubnetID != nil {
		subnet = *at.req.SigningSubnetID
	}
	set, ok := (*valset.Set)(nil), false
	if at.height == 0 {
		set, ok = a.sets.Current(subnet)
	}
	if !ok {
		if set, err = a.sets.At(ctx, subnet, at.height); err != nil {
			return setError(err, "signing subnet "+subnet.String())
		}
	}
	if empty(set) {
		return &Error{Kind: NotFound, Msg: fmt.Sprintf(
			"signing subnet %s has no validators with a BLS key at height %d", set.SubnetID, set.Height)}
	}
	at.set = set
	return nil
}

// empty reports whether no validator of a set can sign.
func empty(set *valset.Set) bool { return len(set.Validators) == 0 || set.TotalWeight == 0 }

// destination returns the blockchain whose epoch says at which height a message is going
// to be checked; ok is false where that is another height.
func destination(req *Request, msg *warp.Unsigned) (to chain.ID, ok bool) {
	switch {
	case req.AtHeight || req.PChainHeight != 0:
		return to, false
	case req.Destination != nil:
		return *req.Destination, true
	}
	call, err := warp.ParseAddressedCall(msg.Payload)
	if err != nil || len(call.SourceAddress) != evm.AddressLen || !icm.IsMessenger((*evm.Address)(call.SourceAddress)) {
		return to, false
	}
	m, err := icm.ParseMessage(call.Payload)
	if err != nil {
		return to, false
	}
	return m.Destination, true
}

// Validators returns the canonical set of a request's signing subnet at its height, 0
// meaning the proposed one, also a set without keys. Errors are of type *[Error].
func (a *Aggregator) Validators(ctx context.Context, req *Request) (*valset.Set, error) {
	subnet, received := chain.PrimaryNetworkID, req.Received
	if req.SigningSubnetID != nil {
		subnet = *req.SigningSubnetID
	}
	if received.IsZero() {
		received = time.Now()
	}
	deadline := received.Add(a.cfg.RequestTimeout)
	ctx, cancel := context.WithDeadline(valset.For(ctx, req.Client, deadline), deadline)
	defer cancel()
	set, err := a.sets.At(ctx, subnet, req.PChainHeight)
	if err != nil {
		return nil, setError(err, "subnet "+subnet.String())
	}
	return set, nil
}

func setError(err error, what string) *Error {
	e := &Error{Kind: BadRequest, Err: err}
	switch {
	case errors.Is(err, valset.ErrUnknownSubnet), errors.Is(err, valset.ErrUnknownChain):
		e.Kind, e.Msg = NotFound, what+" does not exist"
	case errors.Is(err, valset.ErrNoValidators):
		e.Kind, e.Msg = NotFound, what+" exists, but has no validators at that P-Chain height"
	case errors.Is(err, valset.ErrNotAllowed):
		e.Msg = what + " is not among the subnets that this server serves"
	case errors.Is(err, valset.ErrHeight):
		e.Msg = "the P-Chain has not reached that height yet"
	case errors.Is(err, valset.ErrLookback):
		e.Msg = "the P-Chain's " + err.Error() // with the heights
	case errors.Is(err, valset.ErrSubnets):
		e.Kind, e.Msg, e.RetryAfter = Overloaded, "requests are under way for as many other subnets as are followed at once", 2*time.Second
	case errors.Is(err, valset.ErrBusy):
		e.Kind, e.Msg, e.RetryAfter = Overloaded, "too many questions to the node are waiting", time.Second
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Msg, e.RetryAfter = NodeFailed, "the node did not return the validator set of "+what+" in time", 2*time.Second
	default:
		e.Kind, e.Msg, e.RetryAfter = NodeFailed, "the node returned no validator set of "+what, 2*time.Second
	}
	return e
}
