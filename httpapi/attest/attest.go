// Package attest finds what the validators of the primary network sign on behalf of the
// P-Chain: by the transaction that it is about, or by the ID of the message.
package attest

import (
	"errors"
	"fmt"
	"math"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/warp"
	"quorate/engine/primary"
)

// ErrNoMessage says that the P-Chain attests nothing of a transaction.
var ErrNoMessage = errors.New("has no warp message: the P-Chain signs what ConvertSubnetToL1Tx, RegisterL1ValidatorTx and SetL1ValidatorWeightTx did")

// View reads the P-Chain.
type View interface {
	Tx(id chain.ID) (*primary.TxRow, bool, error)
	Subnets(p primary.Page, take func(*primary.Subnet) bool) (primary.Position, error)
	L1Validators(f *primary.L1Filter, p primary.Page, take func(*primary.L1Validator) bool) (primary.Position, error)
}

// ByTx returns the message of a transaction, nil if there is no such transaction.
func ByTx(view View, networkID uint32, id chain.ID) (*aggregator.Request, error) {
	body, err := bodyOf(view, id)
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
		return nil, ErrNoMessage
	}
	return &aggregator.Request{Message: msg.Bytes()}, nil
}

// removed returns the message that a validator of an L1 is registered no more, with the
// reason that validators want to see: what registered it.
func removed(view View, validation chain.ID) (*aggregator.Request, error) {
	var created chain.ID
	_, err := view.L1Validators(&primary.L1Filter{ValidationID: &validation, Inactive: true}, primary.Page{Limit: 1}, func(v *primary.L1Validator) bool {
		created = v.CreateTx
		return true
	})
	if err != nil {
		return nil, err
	}
	body, err := bodyOf(view, created)
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

// bodyOf returns what a transaction does, nil if there is no such transaction.
func bodyOf(view View, id chain.ID) (platform.Body, error) {
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

// conversion is how many rows of validators the conversion of a subnet counts for: its
// transaction is parsed.
const conversion = 5

// ByMessage returns the message with an ID among those that validators sign now: of each L1
// the conversion, and of each of its validators the registration, or that it has ended, and
// the weight that was set last. They are few enough to be looked through; looked is how many
// there were.
func ByMessage(view View, networkID uint32, id chain.ID) (req *aggregator.Request, looked int, err error) {
	all := primary.Page{Limit: math.MaxInt}
	_, failed := view.L1Validators(&primary.L1Filter{Inactive: true}, all, func(v *primary.L1Validator) bool {
		looked++
		req, err = ofValidator(view, networkID, id, v)
		return req == nil && err == nil
	})
	if err = errors.Join(failed, err); req != nil || err != nil {
		return req, looked, err
	}
	_, failed = view.Subnets(all, func(s *primary.Subnet) bool {
		looked += conversion
		var msg *warp.Unsigned
		if msg, err = conversionOf(view, networkID, s); err == nil && msg != nil && msg.ID() == id {
			req = &aggregator.Request{Justification: s.ID[:]}
		}
		return req == nil && err == nil
	})
	return req, looked, errors.Join(failed, err)
}

// ofValidator returns the message with an ID if it is one of an L1's validator.
func ofValidator(view View, networkID uint32, id chain.ID, v *primary.L1Validator) (*aggregator.Request, error) {
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
func conversionOf(view View, networkID uint32, s *primary.Subnet) (*warp.Unsigned, error) {
	if s.Conversion.IsZero() {
		return nil, nil
	}
	body, err := bodyOf(view, s.Conversion)
	if err != nil {
		return nil, err
	}
	t, ok := body.(*platform.ConvertSubnetToL1)
	if !ok {
		return nil, nil // not indexed
	}
	return warp.SubnetToL1Conversion(networkID, t.ConversionID())
}
