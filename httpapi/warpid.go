package httpapi

import (
	"errors"
	"math"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
	"quorate/engine/primary"
)

// messageWithID returns the request for the message with an ID, of any chain of a network.
func (s *Server) messageWithID(network string, id chain.ID) ([]aggregator.Request, *failure) {
	var unread *failure // why a chain could not be looked through
	for _, ch := range s.cfg.Chains.Chains() {
		info := ch.Info()
		if info.IsTestnet == (network == "mainnet") {
			continue
		}
		msg, made, err := warpMessage(ch, id)
		switch {
		case err != nil:
			s.log.Error("a chain's rows cannot be read", "chain", info.ChainID, "err", err)
			return nil, &failure{status: fasthttp.StatusInternalServerError, message: "internal error"}
		case msg != nil:
			return []aggregator.Request{{Message: msg}}, nil
		case !made:
			unread = &failure{status: fasthttp.StatusServiceUnavailable, retryAfter: defaultRetry,
				message: "the warp messages of chain " + info.ChainID + " are being indexed by their IDs"}
		}
	}
	requests, f := alone(s.platformMessage(network, id, attestedAs))
	if f != nil && unread != nil {
		f = unread
	}
	return requests, f
}

// warpMessage returns a chain's message with an ID, nil if it has none; made is false as long as
// its messages cannot be found by their IDs.
func warpMessage(ch Chain, id chain.ID) (msg []byte, made bool, err error) {
	v, err := ch.View(nil)
	if errors.Is(err, index.ErrEmpty) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer v.Close()
	if !v.HasWarpIDs() {
		return nil, false, nil
	}
	msg, err = v.WarpMessage(id)
	return msg, true, err
}

// attestedAs returns the message with an ID among those that validators sign for the P-Chain
// now: of each L1 the conversion, and of each of its validators the registration, or that it
// has ended, and the weight that was set last. They are few enough to be looked through.
func attestedAs(view PlatformView, networkID uint32, id chain.ID) (req *aggregator.Request, err error) {
	all := primary.Page{Limit: math.MaxInt}
	_, failed := view.L1Validators(&primary.L1Filter{Inactive: true}, all, func(v *primary.L1Validator) bool {
		req, err = attestedOf(view, networkID, id, v)
		return req == nil && err == nil
	})
	if err = errors.Join(failed, err); req != nil || err != nil {
		return req, err
	}
	_, failed = view.Subnets(all, func(s *primary.Subnet) bool {
		var msg *warp.Unsigned
		if msg, err = conversionOf(view, networkID, s); err == nil && msg != nil && msg.ID() == id {
			req = &aggregator.Request{Justification: s.ID[:]}
		}
		return req == nil && err == nil
	})
	return req, errors.Join(failed, err)
}

// attestedOf returns the message with an ID if it is one of an L1's validator.
func attestedOf(view PlatformView, networkID uint32, id chain.ID, v *primary.L1Validator) (*aggregator.Request, error) {
	msg, err := warp.L1ValidatorRegistration(networkID, v.ValidationID, v.RemovedAt == 0)
	switch {
	case err != nil:
		return nil, err
	case msg.ID() == id && v.RemovedAt != 0:
		return removed(view, v.ValidationID)
	case msg.ID() != id && v.RemovedAt == 0 && v.MinNonce > 0:
		if msg, err = warp.L1ValidatorWeight(networkID, v.ValidationID, v.MinNonce-1, v.Weight); err != nil {
			return nil, err
		}
	}
	if msg.ID() != id {
		return nil, nil
	}
	return &aggregator.Request{Message: msg.Bytes()}, nil
}

// conversionOf returns the message of a subnet's conversion, nil if it was not converted.
func conversionOf(view PlatformView, networkID uint32, s *primary.Subnet) (*warp.Unsigned, error) {
	if s.Conversion.IsZero() {
		return nil, nil
	}
	body, err := platformBody(view, s.Conversion)
	if err != nil {
		return nil, err
	}
	t, ok := body.(*platform.ConvertSubnetToL1)
	if !ok {
		return nil, nil // not indexed
	}
	return warp.SubnetToL1Conversion(networkID, t.ConversionID())
}
