// Package icm reads interchain messages (ICM): what the contract TeleporterMessenger
// logs when it sends messages to other chains and receives theirs, and the message
// that it puts into a warp message. It does no I/O.
//
// The glossary: a message goes from a source chain to a destination chain; a
// messenger is a deployment of the contract; a receipt travels back and says who
// delivered a message, and so who has earned its fee.
//
// An ID commits to the messenger, both chains and the nonce ([MessageID]), so an
// event that carries all of them proves itself: [Event.Proves] checks it. Events that
// carry less ([FeeAdded], [Executed], [ReceiptReceived]) count only on the chain that
// the message, as it was sent or received, makes the one that logs them.
package icm

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// Messengers are the deployments that are known, newest first: 1.0.0, 0.2.0 and 0.1.0.
// Each lies at one address on all chains, since that follows from its code. Of the
// older ones events count as far as they have the form of 1.0.0.
var Messengers = [...]evm.Address{
	{0x25, 0x3b, 0x27, 0x84, 0xc7, 0x5e, 0x51, 0x0d, 0xd0, 0xff, 0x1d, 0xa8, 0x44, 0x68, 0x4a, 0x1a, 0xc0, 0xaa, 0x5f, 0xcf},
	{0xf7, 0xcb, 0xd9, 0x5f, 0x13, 0x55, 0xf0, 0xd8, 0xd6, 0x59, 0x86, 0x4b, 0x92, 0xe2, 0xe9, 0xfb, 0xfa, 0xb7, 0x86, 0xf7},
	{0x50, 0xa4, 0x6a, 0xa7, 0xb2, 0xec, 0xbe, 0x2b, 0x1a, 0xbb, 0x7d, 0xf8, 0x65, 0xb9, 0xa8, 0x7f, 0x5e, 0xed, 0x86, 0x35},
}

// IsMessenger reports whether a contract is one of [Messengers].
func IsMessenger(a *evm.Address) bool {
	for i := range Messengers {
		if Messengers[i] == *a {
			return true
		}
	}
	return false
}

// Kind is what an event says of a message. Values are stored: do not change them.
type Kind uint8

// The kinds. The first three and ReceiptReceived are logged on the message's source
// chain, the others on its destination chain.
const (
	// Sent: the message was sent, or sent once more.
	Sent Kind = iota + 1
	// FeeAdded: its fee was raised.
	FeeAdded
	// ReceiptReceived: it is known where it came from that it was delivered.
	ReceiptReceived
	// Received: it was delivered.
	Received
	// Executed: the call that it stands for succeeded, at once or when retried.
	Executed
	// Failed: that call failed when the message was delivered. It can be retried.
	Failed
)

// Outgoing reports whether the event is logged on the message's source chain.
func (k Kind) Outgoing() bool { return k <= ReceiptReceived }

// The events' signatures, by which they are known.
const (
	tupleMessage = "(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes)"
	tupleFee     = "(address,uint256)"
)

// Topics of the events.
var (
	TopicSent            = evm.Keccak([]byte("SendCrossChainMessage(bytes32,bytes32," + tupleMessage + "," + tupleFee + ")"))
	TopicFeeAdded        = evm.Keccak([]byte("AddFeeAmount(bytes32," + tupleFee + ")"))
	TopicReceiptReceived = evm.Keccak([]byte("ReceiptReceived(bytes32,bytes32,address," + tupleFee + ")"))
	TopicReceived        = evm.Keccak([]byte("ReceiveCrossChainMessage(bytes32,bytes32,address,address," + tupleMessage + ")"))
	TopicExecuted        = evm.Keccak([]byte("MessageExecuted(bytes32,bytes32)"))
	TopicFailed          = evm.Keccak([]byte("MessageExecutionFailed(bytes32,bytes32," + tupleMessage + ")"))
)

// Receipt says that a message was delivered, and who has earned its fee.
type Receipt struct {
	Nonce   uint256.Int // of the message that was delivered
	Relayer evm.Address
}

// Fee is what the delivery of a message pays, in an ERC-20 token of its source chain.
type Fee struct {
	Token  evm.Address
	Amount uint256.Int
}

// Message is what a messenger sends.
type Message struct {
	Nonce       uint256.Int
	From        evm.Address // who had it sent
	Destination chain.ID
	To          evm.Address // whom it is for
	GasLimit    uint256.Int
	Relayers    []evm.Address // who may deliver it; none: everybody
	Receipts    []Receipt     // of messages of the destination chain
	Data        []byte
}

// Event is one log of a messenger.
type Event struct {
	Kind      Kind
	ID        evm.Hash // of the message
	Messenger evm.Address
	Peer      chain.ID    // the message's other chain; zero if the event does not say
	Fee       Fee         // Sent, FeeAdded and ReceiptReceived
	Deliverer evm.Address // Received
	Relayer   evm.Address // Received, ReceiptReceived: who has earned the fee
	Message   *Message    // Sent, Received and Failed
}

// MessageID returns the ID of a message.
func MessageID(messenger *evm.Address, source, destination *chain.ID, nonce *uint256.Int) evm.Hash {
	var b [4 * word]byte
	copy(b[word-evm.AddressLen:], messenger[:])
	copy(b[word:], source[:])
	copy(b[2*word:], destination[:])
	nonce.WriteToSlice(b[3*word:])
	return evm.Keccak(b[:])
}

// Proves reports whether the event's ID is that of its message, if it is logged on the
// chain self. Events without a message prove nothing.
func (e *Event) Proves(self *chain.ID) bool {
	if e.Message == nil {
		return false
	}
	source, destination := &e.Peer, self
	if e.Kind.Outgoing() {
		source, destination = self, &e.Peer
	}
	return e.Message.Destination == *destination && e.ID == MessageID(&e.Messenger, source, destination, &e.Message.Nonce)
}

// ParseEvent reads a log; ok is false if it is none of a known messenger's events. The
// message's data alias those of the log.
func ParseEvent(log *evm.Log) (e Event, ok bool) {
	if len(log.Topics) < 2 || !IsMessenger(&log.Address) {
		return e, false
	}
	e.ID, e.Messenger = log.Topics[1], log.Address
	if len(log.Topics) > 2 {
		e.Peer = chain.ID(log.Topics[2])
	}
	d := decoder{b: log.Data}
	topics := 3
	switch log.Topics[0] {
	case TopicSent:
		e.Kind = Sent
		e.Message = d.message(0)
		e.Fee = d.fee(word)
	case TopicFeeAdded:
		e.Kind, topics = FeeAdded, 2
		e.Fee = d.fee(0)
	case TopicReceiptReceived:
		e.Kind, topics = ReceiptReceived, 4
		e.Fee = d.fee(0)
	case TopicReceived:
		e.Kind, topics = Received, 4
		e.Relayer = d.addr(0)
		e.Message = d.message(word)
	case TopicExecuted:
		e.Kind = Executed
	case TopicFailed:
		e.Kind = Failed
		e.Message = d.message(0)
	default:
		return e, false
	}
	if len(log.Topics) != topics || d.bad {
		return Event{}, false
	}
	if topics == 4 {
		who := &e.Deliverer
		if e.Kind == ReceiptReceived {
			who = &e.Relayer
		}
		*who = d.address(log.Topics[3][:])
	}
	return e, !d.bad
}

// ErrMalformed is returned for what is no message of a messenger.
var ErrMalformed = errors.New("icm: malformed message")

// ParseMessage reads what a messenger puts into a warp message. Data alias b.
func ParseMessage(b []byte) (*Message, error) {
	d := decoder{b: b}
	m := d.message(0)
	if d.bad {
		return nil, ErrMalformed
	}
	return m, nil
}

const word = 32

// maxData bounds the bytes of an event: a warp message, which has to carry it, is far
// smaller.
const maxData = 256 << 10

// decoder reads ABI-encoded data. It goes on after an error, with zeros.
type decoder struct {
	b   []byte
	bad bool
}

// at returns the word at an offset.
func (d *decoder) at(off uint64) []byte {
	if n := uint64(len(d.b)); off > n || n-off < word || n > maxData {
		d.bad = true
		return make([]byte, word)
	}
	return d.b[off : off+word]
}

// u64 reads a number that is an offset or a length, which are below len(b).
func (d *decoder) u64(off uint64) uint64 {
	w := d.at(off)
	v := binary.BigEndian.Uint64(w[word-8:])
	if len(bytes.TrimLeft(w[:word-8], "\x00")) > 0 || v > uint64(len(d.b)) {
		d.bad = true
		return 0
	}
	return v
}

func (d *decoder) u256(off uint64) (v uint256.Int) {
	v.SetBytes32(d.at(off))
	return v
}

func (d *decoder) addr(off uint64) evm.Address { return d.address(d.at(off)) }

func (d *decoder) address(w []byte) evm.Address {
	if len(bytes.TrimLeft(w[:word-evm.AddressLen], "\x00")) > 0 {
		d.bad = true
	}
	return evm.Address(w[word-evm.AddressLen:])
}

func (d *decoder) fee(off uint64) Fee { return Fee{d.addr(off), d.u256(off + word)} }

// list returns how many items of a size are in the list whose offset stands at off,
// and where they begin. Offsets count from base.
func (d *decoder) list(base, off, size uint64) (n, begin uint64) {
	at := base + d.u64(off)
	n, begin = d.u64(at), at+word
	if d.bad || begin > uint64(len(d.b)) || n > (uint64(len(d.b))-begin)/size {
		d.bad = true
		return 0, 0
	}
	return n, begin
}

// message reads the message whose offset stands at off.
func (d *decoder) message(off uint64) *Message {
	base := d.u64(off)
	at := func(field uint64) uint64 { return base + field*word }
	m := &Message{
		Nonce: d.u256(at(0)), From: d.addr(at(1)), Destination: chain.ID(d.at(at(2))), To: d.addr(at(3)), GasLimit: d.u256(at(4)),
	}
	n, from := d.list(base, at(5), word)
	for i := range n {
		m.Relayers = append(m.Relayers, d.addr(from+i*word))
	}
	n, from = d.list(base, at(6), 2*word)
	for i := range n {
		m.Receipts = append(m.Receipts, Receipt{d.u256(from + 2*word*i), d.addr(from + 2*word*i + word)})
	}
	n, from = d.list(base, at(7), 1)
	m.Data = d.b[from : from+n : from+n]
	return m
}

// Append appends what a messenger puts into a warp message.
func (m *Message) Append(dst []byte) []byte { return m.appendBody(appendUint(dst, word)) }

// appendBody appends the message itself, which an offset points to.
func (m *Message) appendBody(dst []byte) []byte {
	dst = appendAddress(appendU256(dst, &m.Nonce), &m.From)
	dst = appendAddress(append(dst, m.Destination[:]...), &m.To)
	dst = appendU256(dst, &m.GasLimit)
	relayers := 8 * word
	receipts := relayers + word*(1+len(m.Relayers))
	data := receipts + word*(1+2*len(m.Receipts))
	dst = appendUint(appendUint(appendUint(dst, relayers), receipts), data)
	dst = appendUint(dst, len(m.Relayers))
	for i := range m.Relayers {
		dst = appendAddress(dst, &m.Relayers[i])
	}
	dst = appendUint(dst, len(m.Receipts))
	for i := range m.Receipts {
		dst = appendAddress(appendU256(dst, &m.Receipts[i].Nonce), &m.Receipts[i].Relayer)
	}
	dst = append(appendUint(dst, len(m.Data)), m.Data...)
	return append(dst, make([]byte, (word-len(m.Data)%word)%word)...)
}

// Log returns the log that a messenger writes for the event; its index is not set.
func (e *Event) Log() evm.Log {
	log := evm.Log{Address: e.Messenger, Topics: []evm.Hash{{}, e.ID, evm.Hash(e.Peer)}}
	third := func(a *evm.Address) {
		var h evm.Hash
		copy(h[word-evm.AddressLen:], a[:])
		log.Topics = append(log.Topics, h)
	}
	switch e.Kind {
	case Sent:
		log.Topics[0] = TopicSent
		log.Data = e.Message.appendBody(appendFee(appendUint(nil, 3*word), &e.Fee))
	case FeeAdded:
		log.Topics = []evm.Hash{TopicFeeAdded, e.ID}
		log.Data = appendFee(nil, &e.Fee)
	case ReceiptReceived:
		log.Topics[0] = TopicReceiptReceived
		third(&e.Relayer)
		log.Data = appendFee(nil, &e.Fee)
	case Received:
		log.Topics[0] = TopicReceived
		third(&e.Deliverer)
		log.Data = e.Message.appendBody(appendUint(appendAddress(nil, &e.Relayer), 2*word))
	case Executed:
		log.Topics[0] = TopicExecuted
	case Failed:
		log.Topics[0] = TopicFailed
		log.Data = e.Message.Append(nil)
	}
	return log
}

func appendUint(dst []byte, v int) []byte {
	return binary.BigEndian.AppendUint64(append(dst, make([]byte, word-8)...), uint64(v))
}

func appendU256(dst []byte, v *uint256.Int) []byte {
	b := v.Bytes32()
	return append(dst, b[:]...)
}

func appendAddress(dst []byte, a *evm.Address) []byte {
	return append(append(dst, make([]byte, word-evm.AddressLen)...), a[:]...)
}

func appendFee(dst []byte, f *Fee) []byte { return appendU256(appendAddress(dst, &f.Token), &f.Amount) }
