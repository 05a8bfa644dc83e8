package network

import (
	"errors"
	"time"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p"
	"quorate/p2p/wire"
)

// peers lets the aggregator put its questions to the peer network.
type peers struct{ net *p2p.Network }

// Status implements [aggregator.Peers].
func (p peers) Status(id chain.NodeID) aggregator.PeerStatus {
	st := p.net.Status(id)
	return aggregator.PeerStatus{Connected: st.Connected, AwayFor: st.AwayFor, Latency: st.Latency, Waiting: st.Waiting, Missed: st.Missed}
}

// Open implements [aggregator.Peers]: the question is an ACP-118 signature
// request to the VM of the message's source chain.
func (p peers) Open(msg *warp.Unsigned, justification []byte, ttl time.Duration, deliver func(aggregator.Answer)) (aggregator.Question, error) {
	body := wire.AppendSignatureRequest(nil, msg.Bytes(), justification)
	r, err := p.net.Open(msg.SourceChainID, body, ttl, func(a p2p.Answer) { deliver(translate(a)) })
	if err != nil {
		return nil, err
	}
	return question{r}, nil
}

type question struct{ *p2p.Request }

// Ask implements [aggregator.Question].
func (q question) Ask(id chain.NodeID) error {
	err := q.Request.Ask(id)
	if errors.Is(err, p2p.ErrBusy) {
		return aggregator.ErrBusy
	}
	return err
}

func translate(a p2p.Answer) aggregator.Answer {
	out := aggregator.Answer{From: a.From, Code: a.Code}
	switch {
	case a.Err == nil && len(a.Bytes) == 0:
		out.Refused = true
	case a.Err == nil:
		sig, err := wire.ParseSignatureResponse(a.Bytes)
		if err != nil {
			return out // no signature in it: counted as invalid
		}
		out.Signature = sig
		out.Refused = len(sig) == 0
	case errors.Is(a.Err, p2p.ErrRefused):
		out.Refused = true
	default:
		out.Lost = true
	}
	return out
}
