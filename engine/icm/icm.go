// Package icm puts together what several chains know of an interchain message: the
// chain that it was sent from, and the one that it went to. It does no I/O, and keeps
// nothing: each chain has its own rows, and a message is joined when it is asked for.
package icm

import (
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/index"
)

// Found is what one chain has logged about a message, in the order of its blocks.
type Found struct {
	Chain  chain.ID
	Events []index.ICMEvent
}

// Message is what is known of a message.
type Message struct {
	ID                  evm.Hash
	Messenger           evm.Address
	Source, Destination chain.ID
	Content             *events.Message
	// Sent is when it was sent first, nil if the source chain does not know; Received is
	// when it was delivered, Executed when its call succeeded, Failed when that failed,
	// Acknowledged when the source chain got the receipt.
	Sent, Received, Executed, Failed, Acknowledged *index.ICMEvent
	// Resent is how often it was sent again.
	Resent int
	// Fee is what its delivery pays, as far as the source chain tells.
	Fee events.Fee
}

// Join returns the message with an ID; ok is false if no chain has sent or received it.
// The order of the chains means nothing. Only the source chain tells of sending, fees
// and receipts, and only the destination chain of all else: which they are follows
// from the ID, so that no other chain has a say.
func Join(id evm.Hash, found []Found) (m Message, ok bool) {
	m.ID = id
	for i := range found {
		f := &found[i]
		for j := range f.Events {
			if m.name(&f.Chain, &f.Events[j]) {
				break
			}
		}
	}
	if m.Content == nil {
		return m, false
	}
	for i := range found {
		f := &found[i]
		for j := range f.Events {
			m.take(&f.Chain, &f.Events[j])
		}
	}
	if m.Sent != nil {
		m.Content = m.Sent.Message
	}
	return m, true
}

// name takes from an event with a message what kind of message it is, and reports
// whether there was one. The index has proven it to be of this ID.
func (m *Message) name(self *chain.ID, e *index.ICMEvent) bool {
	switch e.Kind {
	case events.Sent:
		m.Source, m.Destination = *self, e.Peer
	case events.Received:
		m.Source, m.Destination = e.Peer, *self
	default:
		return false
	}
	m.Messenger, m.Content = e.Messenger, e.Message
	return true
}

// take takes an event of the chain self.
func (m *Message) take(self *chain.ID, e *index.ICMEvent) {
	at := m.Destination
	if e.Kind.Outgoing() {
		at = m.Source
	}
	if at != *self || e.Messenger != m.Messenger {
		return
	}
	first := func(to **index.ICMEvent) {
		if *to == nil {
			*to = e
		}
	}
	switch e.Kind {
	case events.Sent:
		if m.Sent != nil {
			m.Resent++
		}
		first(&m.Sent)
		m.Fee = e.Fee
	case events.FeeAdded:
		m.Fee = e.Fee
	case events.ReceiptReceived:
		first(&m.Acknowledged)
		m.Fee = e.Fee
	case events.Received:
		first(&m.Received)
	case events.Executed:
		first(&m.Executed)
	case events.Failed:
		first(&m.Failed)
	}
}
