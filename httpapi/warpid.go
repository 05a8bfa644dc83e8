package httpapi

import (
	"errors"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/httpapi/attest"
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
	requests, f := alone(s.platformMessage(network, id, attest.ByMessage))
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
