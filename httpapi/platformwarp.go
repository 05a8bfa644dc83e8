package httpapi

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/warp"
	"quorate/engine/primary"
)

// errNoMessage says that the P-Chain attests nothing of a transaction.
var errNoMessage = errors.New("has no warp message: the P-Chain signs what ConvertSubnetToL1Tx, RegisterL1ValidatorTx and SetL1ValidatorWeightTx did")

// attestation finds a message of the P-Chain by an ID; it returns nil if there is none.
type attestation func(view PlatformView, networkID uint32, id chain.ID) (*aggregator.Request, error)

// platformMessage returns what the P-Chain attests, as it is to be signed: of one of its
// transactions by [attested], as the official service does, or by [attestedAs].
func (s *Server) platformMessage(network string, id chain.ID, what attestation) (*aggregator.Request, *failure) {
	missing := &failure{status: fasthttp.StatusNotFound, message: "transaction " + id.String() + " does not exist on the P-Chain or is not indexed yet"}
	if s.cfg.Primary == nil {
		return nil, missing
	}
	of, ok := s.cfg.Primary.Primary(network)
	if !ok {
		return nil, missing
	}
	p, ok := of.Chain(primary.PChain)
	if !ok {
		return nil, missing
	}
	view, err := p.View()
	if errors.Is(err, primary.ErrEmpty) {
		return nil, missing
	}
	var req *aggregator.Request
	if err == nil {
		defer view.Close()
		req, err = what(view.(PlatformView), of.NetworkID(), id)
	}
	switch {
	case errors.Is(err, errNoMessage):
		return nil, &failure{status: fasthttp.StatusNotFound, message: "transaction " + id.String() + " " + err.Error()}
	case err != nil:
		s.log.Error("the P-Chain's rows cannot be read", "err", err)
		return nil, &failure{status: fasthttp.StatusInternalServerError, message: "internal error"}
	case req == nil && p.Down() != nil:
		return nil, &failure{status: fasthttp.StatusServiceUnavailable, retryAfter: defaultRetry,
			message: "transaction " + id.String() + " is not indexed, and the P-Chain does not go on: " + standstill(p.Down())}
	case req == nil:
		return nil, missing
	}
	return req, nil
}

// attested returns the message of a transaction, nil if there is no such transaction.
func attested(view PlatformView, networkID uint32, id chain.ID) (*aggregator.Request, error) {
	body, err := platformBody(view, id)
	if err != nil || body == nil {
		return nil, err
	}
	var msg *warp.Unsigned
	switch t := body.(type) {
	case *platform.ConvertSubnetToL1:
		return &aggregator.Request{Justification: t.Subnet[:]}, nil
	case *platform.RegisterL1Validator:
		r, err := t.Registration()
		if err != nil {
			return nil, err
		}
		msg, err = warp.L1ValidatorRegistration(networkID, r.ValidationID, true)
		if err != nil {
			return nil, err
		}
	case *platform.SetL1ValidatorWeight:
		w, err := t.Weight()
		if err != nil {
			return nil, err
		}
		if w.Weight == 0 {
			return removed(view, w.ValidationID)
		}
		msg, err = warp.L1ValidatorWeight(networkID, w.ValidationID, w.Nonce, w.Weight)
		if err != nil {
			return nil, err
		}
	default:
		return nil, errNoMessage
	}
	return &aggregator.Request{Message: msg.Bytes()}, nil
}

// removed returns the message that a validator of an L1 is registered no more, with the
// reason that validators want to see: what registered it.
func removed(view PlatformView, validation chain.ID) (*aggregator.Request, error) {
	var created chain.ID
	_, err := view.L1Validators(&primary.L1Filter{ValidationID: &validation, Inactive: true}, primary.Page{Limit: 1}, func(v *primary.L1Validator) bool {
		created = v.CreateTx
		return true
	})
	if err != nil {
		return nil, err
	}
	body, err := platformBody(view, created)
	if err != nil {
		return nil, err
	}
	switch t := body.(type) {
	case *platform.RegisterL1Validator:
		r, err := t.Registration()
		if err != nil {
			return nil, err
		}
		payload, err := r.Bytes()
		if err != nil {
			return nil, err
		}
		return &aggregator.Request{Justification: warp.MessageJustification(payload)}, nil
	case *platform.ConvertSubnetToL1:
		for i := range t.Validators {
			if index := uint32(i); platform.ConvertedValidationID(t.Subnet, index) == validation { // few
				return &aggregator.Request{Justification: warp.InitialJustification(t.Subnet, index)}, nil
			}
		}
	}
	return nil, fmt.Errorf("the transaction that registered validation %s is not indexed", validation)
}

// platformBody returns what a transaction does, nil if there is no such transaction.
func platformBody(view PlatformView, id chain.ID) (platform.Body, error) {
	row, found, err := view.Tx(id)
	if err != nil || !found {
		return nil, err
	}
	tx, err := platform.ParseTx(row.Raw)
	if err != nil {
		return nil, err
	}
	return tx.Body, nil
}
