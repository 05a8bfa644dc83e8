package icm

import (
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/index"
)

var (
	source, destination, liar = chain.ID{1}, chain.ID{2}, chain.ID{3}
	messenger                 = events.Messengers[0]
	content                   = &events.Message{Nonce: *uint256.NewInt(7), Destination: destination, Data: []byte("x")}
	id                        = events.MessageID(&messenger, &source, &destination, &content.Nonce)
)

func event(k events.Kind, height uint64, amount uint64) index.ICMEvent {
	e := index.ICMEvent{ICMPlace: index.ICMPlace{Height: height}}
	e.Kind, e.ID, e.Messenger = k, id, messenger
	e.Fee = events.Fee{Token: evm.Address{9}, Amount: *uint256.NewInt(amount)}
	switch k {
	case events.Sent:
		e.Peer, e.Message = destination, content
	case events.Received:
		e.Peer, e.Message = source, content
	}
	return e
}

func TestJoin(t *testing.T) {
	t.Parallel()
	sent, fee, again, receipt := event(events.Sent, 1, 5), event(events.FeeAdded, 2, 8), event(events.Sent, 3, 8), event(events.ReceiptReceived, 9, 8)
	received, failed, executed := event(events.Received, 4, 0), event(events.Failed, 4, 0), event(events.Executed, 6, 0)
	here := Found{source, []index.ICMEvent{sent, fee, again, receipt}}
	there := Found{destination, []index.ICMEvent{received, failed, executed}}
	lies := Found{liar, []index.ICMEvent{event(events.FeeAdded, 5, 1000), event(events.ReceiptReceived, 5, 1000), event(events.Executed, 5, 0), event(events.Failed, 5, 0)}}
	// What the two chains say in the other's part is no word of theirs.
	here.Events = append(here.Events, event(events.Executed, 2, 0), event(events.Failed, 2, 0))
	there.Events = append(there.Events, event(events.FeeAdded, 7, 1000), event(events.ReceiptReceived, 5, 1000))
	for _, found := range [][]Found{{here, there, lies}, {lies, there, here}, {there, lies, here}} {
		m, ok := Join(id, found)
		if !ok || m.Source != source || m.Destination != destination || m.Messenger != messenger || m.Content != content {
			t.Fatalf("%+v, %v", m, ok)
		}
		if m.Sent.Height != 1 || m.Received.Height != 4 || m.Failed.Height != 4 || m.Executed.Height != 6 || m.Acknowledged.Height != 9 || m.Resent != 1 {
			t.Errorf("%+v", m)
		}
		if m.Fee.Amount.Uint64() != 8 {
			t.Errorf("fee %s", &m.Fee.Amount)
		}
	}
}

// What one of the two chains alone knows.
func TestJoinHalves(t *testing.T) {
	t.Parallel()
	m, ok := Join(id, []Found{{source, []index.ICMEvent{event(events.Sent, 1, 5)}}, {destination, nil}})
	if !ok || m.Sent == nil || m.Received != nil || m.Fee.Amount.Uint64() != 5 {
		t.Errorf("%+v, %v", m, ok)
	}
	m, ok = Join(id, []Found{{destination, []index.ICMEvent{event(events.Executed, 3, 0), event(events.Received, 4, 0)}}})
	if !ok || m.Sent != nil || m.Received == nil || m.Source != source || m.Content != content || !m.Fee.Amount.IsZero() {
		t.Errorf("%+v, %v", m, ok)
	}
	for _, k := range []events.Kind{events.FeeAdded, events.ReceiptReceived, events.Executed, events.Failed} {
		if m, ok := Join(id, []Found{{source, []index.ICMEvent{event(k, 1, 1)}}, {destination, []index.ICMEvent{event(k, 1, 1)}}}); ok {
			t.Errorf("kind %d alone makes a message: %+v", k, m)
		}
	}
	if _, ok := Join(id, nil); ok {
		t.Error("nothing makes a message")
	}
}
