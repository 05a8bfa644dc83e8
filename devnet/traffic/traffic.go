// Package traffic is the deterministic plan of the interchain messages between the EVM
// chains of the simulated network: which chain sends which message when, and what
// becomes of it. Chains keep to it by their heights alone, none looks at another.
//
// Every fourth block of a chain is a slot. In slot n each chain sends its message with
// nonce n, to the other chains in turn, and what was sent in slot n-1 arrives. What
// becomes of a message follows from its nonce, see [Outcome].
package traffic

import (
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

const (
	stride = 4
	// early is the place between two slots at which blocks that are never accepted
	// send the message of the slot to come.
	early = 1
	// retryAfter is in how many slots after its arrival a message is executed that
	// failed at first.
	retryAfter = 2
	// maxReceipts is how many receipts a message carries at most, as on the real chain.
	maxReceipts = 5
)

// Outcome is what becomes of a message.
type Outcome uint8

// The outcomes.
const (
	Executed   Outcome = iota // at its arrival
	Pending                   // it never arrives, and what receipts it carries neither
	Failed                    // its execution fails, and stays so
	Retried                   // its execution fails, and succeeds later
	FeeAdded                  // its fee is raised in the block that it is sent in
	Resent                    // it is sent once more there
	Empty                     // it carries receipts only: nothing is executed
	outcomes   = 8
	lastPlayed = Empty
)

// OutcomeOf returns what becomes of the messages with a nonce.
func OutcomeOf(nonce uint64) Outcome {
	if o := Outcome(nonce % outcomes); o <= lastPlayed {
		return o
	}
	return Executed
}

// Plan is the traffic between some chains. With fewer than two there is none.
type Plan struct {
	NetworkID uint32
	Chains    []chain.ID
}

// Local is what a chain's part in the plan needs to be told of the chain.
type Local struct {
	Chain  int         // its place in the plan
	Token  evm.Address // in which its messages pay fees
	Sender evm.Address // who sends its transactions
	// Fork is not 0 for blocks that are never accepted: the messages that they send say
	// something else, or are sent too early.
	Fork uint32
}

// Step is what one transaction has the messenger do.
type Step struct {
	Events []icm.Event
	Warp   *warp.Unsigned // what it puts before the validators after its first event; nil for nothing
}

// Steps returns what happens in a block.
func (p *Plan) Steps(l *Local, height uint64) (list []Step) {
	if len(p.Chains) < 2 {
		return nil
	}
	switch slot := height/stride + 1; height % stride {
	case early:
		if l.Fork != 0 {
			list = p.send(list, l, slot)
		}
	case stride - 1:
		list = p.send(list, l, slot)
		for i := range p.Chains {
			if i != l.Chain {
				list = p.receive(list, l, i, slot)
			}
		}
	}
	return list
}

// Destination returns the chain that a chain's message goes to.
func (p *Plan) Destination(source int, nonce uint64) int {
	others := uint64(len(p.Chains) - 1) // not negative
	return (source + 1 + int((nonce-1)%others)) % len(p.Chains)
}

// ID returns a message's ID.
func (p *Plan) ID(source int, nonce uint64) evm.Hash {
	return icm.MessageID(&icm.Messengers[0], &p.Chains[source], &p.Chains[p.Destination(source, nonce)], uint256.NewInt(nonce))
}

// Message returns the message that a chain sends with a nonce.
func (p *Plan) Message(source int, nonce uint64, fork uint32) *icm.Message {
	to := p.Destination(source, nonce)
	m := &icm.Message{
		Nonce: *uint256.NewInt(nonce), From: App(source, nonce), Destination: p.Chains[to], To: App(to, nonce),
		GasLimit: *uint256.NewInt(100_000 + nonce%7*1000), Receipts: p.receipts(source, to, nonce),
	}
	if nonce%3 == 0 {
		m.Relayers = []evm.Address{Relayer(to)}
	}
	if OutcomeOf(nonce) != Empty {
		m.Data = fmt.Appendf(nil, "message %d of chain %d", nonce, source)
		if fork != 0 {
			m.Data = fmt.Appendf(m.Data, ", never accepted: %d", fork)
		}
	}
	return m
}

// receipts returns those of the messages that have come from a chain since the last
// message to it was sent.
func (p *Plan) receipts(source, to int, nonce uint64) (list []icm.Receipt) {
	others := uint64(len(p.Chains) - 1) // not negative
	for n := max(nonce, others+2) - others - 1; n+1 < nonce && len(list) < maxReceipts; n++ {
		if p.Destination(to, n) == source && OutcomeOf(n) != Pending {
			list = append(list, icm.Receipt{Nonce: *uint256.NewInt(n), Relayer: Relayer(source)})
		}
	}
	return list
}

// Warp returns the warp message that carries a chain's message.
func (p *Plan) Warp(source int, nonce uint64, fork uint32) *warp.Unsigned {
	payload := p.Message(source, nonce, fork).Append(nil)
	u, err := warp.New(p.NetworkID, p.Chains[source], warp.AddressedCall{SourceAddress: icm.Messengers[0][:], Payload: payload}.Append(nil))
	if err != nil { // the length is bounded and small
		panic(fmt.Sprintf("traffic: message %d: %v", nonce, err))
	}
	return u
}

// Emits reports whether a warp message is one of the plan.
func (p *Plan) Emits(u *warp.Unsigned) bool {
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil || string(call.SourceAddress) != string(icm.Messengers[0][:]) || len(p.Chains) < 2 {
		return false
	}
	m, err := icm.ParseMessage(call.Payload)
	if err != nil || !m.Nonce.IsUint64() || m.Nonce.IsZero() {
		return false
	}
	for i := range p.Chains {
		if p.Chains[i] == u.SourceChainID {
			return string(p.Warp(i, m.Nonce.Uint64(), 0).Bytes()) == string(u.Bytes())
		}
	}
	return false
}

// Fee returns what a message pays at first.
func Fee(l *Local, nonce uint64) icm.Fee {
	if nonce%5 == 0 {
		return icm.Fee{}
	}
	return icm.Fee{Token: l.Token, Amount: *uint256.NewInt(1000 + nonce)}
}

// paid is what it pays in the end.
func paid(l *Local, nonce uint64) icm.Fee {
	f := Fee(l, nonce)
	if OutcomeOf(nonce) == FeeAdded && !f.Token.IsZero() {
		f.Amount.AddUint64(&f.Amount, 500)
	}
	return f
}

// send sends a chain's message.
func (p *Plan) send(list []Step, l *Local, nonce uint64) []Step {
	m, id := p.Message(l.Chain, nonce, l.Fork), p.ID(l.Chain, nonce)
	sent := Step{
		Events: []icm.Event{{Kind: icm.Sent, ID: id, Messenger: icm.Messengers[0], Peer: m.Destination, Fee: Fee(l, nonce), Message: m}},
		Warp:   p.Warp(l.Chain, nonce, l.Fork),
	}
	list = append(list, sent)
	switch OutcomeOf(nonce) {
	case FeeAdded:
		if fee := paid(l, nonce); !fee.Token.IsZero() {
			list = append(list, Step{Events: []icm.Event{{Kind: icm.FeeAdded, ID: id, Messenger: icm.Messengers[0], Fee: fee}}})
		}
	case Resent:
		list = append(list, sent)
	}
	return list
}

// receive has the messages of another chain arrive, and be executed at last.
func (p *Plan) receive(list []Step, l *Local, source int, slot uint64) []Step {
	if nonce := slot - 1; nonce > 0 && p.Destination(source, nonce) == l.Chain && OutcomeOf(nonce) != Pending {
		list = append(list, Step{Events: p.arrive(l, source, nonce)})
	}
	if nonce := slot - 1 - retryAfter; slot > 1+retryAfter && p.Destination(source, nonce) == l.Chain && OutcomeOf(nonce) == Retried {
		list = append(list, Step{Events: []icm.Event{p.incoming(icm.Executed, source, nonce)}})
	}
	return list
}

// incoming is an event about another chain's message.
func (p *Plan) incoming(k icm.Kind, source int, nonce uint64) icm.Event {
	return icm.Event{Kind: k, ID: p.ID(source, nonce), Messenger: icm.Messengers[0], Peer: p.Chains[source]}
}

// arrive is what the messenger logs of a delivery.
func (p *Plan) arrive(l *Local, source int, nonce uint64) (list []icm.Event) {
	m := p.Message(source, nonce, 0)
	for i := range m.Receipts {
		of := m.Receipts[i].Nonce.Uint64()
		list = append(list, icm.Event{
			Kind: icm.ReceiptReceived, ID: p.ID(l.Chain, of), Messenger: icm.Messengers[0], Peer: p.Chains[source],
			Fee: paid(l, of), Relayer: m.Receipts[i].Relayer,
		})
	}
	in := p.incoming(icm.Received, source, nonce)
	in.Message, in.Relayer, in.Deliverer = m, Relayer(l.Chain), l.Sender
	list = append(list, in)
	switch OutcomeOf(nonce) {
	case Failed, Retried:
		failed := p.incoming(icm.Failed, source, nonce)
		failed.Message = m
		list = append(list, failed)
	case Empty:
	default:
		list = append(list, p.incoming(icm.Executed, source, nonce))
	}
	return list
}

// App returns the contract that sends and receives a chain's messages with a nonce:
// there are three of them.
func App(of int, nonce uint64) evm.Address { return named("app", uint64(of)<<8|nonce%3) } // not negative

// Relayer returns who earns the fees of what is delivered to a chain.
func Relayer(of int) evm.Address { return named("relayer", uint64(of)) } // not negative

func named(what string, i uint64) evm.Address {
	sum := evm.Keccak([]byte("quorate devnet "+what), binary.BigEndian.AppendUint64(nil, i))
	return evm.Address(sum[len(sum)-evm.AddressLen:])
}
