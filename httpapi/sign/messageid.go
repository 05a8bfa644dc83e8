package sign

import (
	"errors"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/httpapi/attest"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
)

// attestedPerUnit is how many validators of L1s that have to be looked at cost a unit. Each
// takes a row of its own and has up to two messages, about 7 µs in all.
const attestedPerUnit = 5

// messageWithID returns the request for the message with an ID, of any chain of a network.
// looked is set to what was looked at for that on the P-Chain.
func (m *Room) messageWithID(network string, id chain.ID, looked *int) ([]aggregator.Request, *door.Failure) {
	var unread *door.Failure // why a chain could not be looked through
	for _, ch := range m.EVM.Chains() {
		info := ch.Info
		if info.IsTestnet == (network == "mainnet") {
			continue
		}
		msg, made, err := warpMessage(ch, id)
		switch {
		case err != nil:
			m.desk.Log.Error("a chain's rows cannot be read", "chain", info.ChainID, "err", err)
			return nil, door.Internal()
		case msg != nil:
			return []aggregator.Request{{Message: msg}}, nil
		case !made:
			unread = door.Unavailable("the warp messages of chain " + info.ChainID + " are being indexed by their IDs")
		}
	}
	requests, f := alone(m.platformMessage(network, id, func(view attest.View, networkID uint32, id chain.ID) (req *aggregator.Request, err error) {
		req, *looked, err = attest.ByMessage(view, networkID, id)
		return req, err
	}))
	if f != nil && unread != nil {
		f = unread
	}
	return requests, f
}

// warpMessage returns a chain's message with an ID, nil if it has none; made is false as long as
// its messages cannot be found by their IDs.
func warpMessage(ch *evmapi.Chain, id chain.ID) (msg []byte, made bool, err error) {
	v, err := ch.At(nil)
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
