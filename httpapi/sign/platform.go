package sign

import (
	"errors"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/attest"
	"quorate/httpapi/door"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/reply"
)

// attestation finds a message of the P-Chain by an ID; it returns nil if there is none.
type attestation func(view attest.View, networkID uint32, id chain.ID) (*aggregator.Request, error)

// platformMessage returns what the P-Chain attests, as it is to be signed: of one of its
// transactions by [attest.ByTx], as the official service does, or by [attest.ByMessage].
func (m *Room) platformMessage(network string, id chain.ID, what attestation) (*aggregator.Request, *door.Failure) {
	missing := door.NotFound("transaction " + id.String() + " does not exist on the P-Chain or is not indexed yet")
	if m.Primary == nil {
		return nil, missing
	}
	of, ok := m.Primary.Primary(network)
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
		req, err = what(view.(primaryapi.PlatformView), of.NetworkID(), id)
	}
	switch {
	case errors.Is(err, attest.ErrNoMessage):
		return nil, door.NotFound("transaction " + id.String() + " " + err.Error())
	case err != nil:
		m.desk.Log.Error("the P-Chain's rows cannot be read", "err", err)
		return nil, door.Internal()
	case req == nil && p.Down() != nil:
		return nil, door.Unavailable("transaction " + id.String() + " is not indexed, and the P-Chain does not go on: " + reply.Standstill(p.Down()))
	case req == nil:
		return nil, missing
	}
	return req, nil
}
