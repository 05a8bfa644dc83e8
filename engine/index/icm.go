package index

import (
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
	store "quorate/engine/store/index"
)

// The rows of interchain messages follow from each block alone, and say what this
// chain's own contract logged. What has become of a message that went to another chain
// is joined when it is read, so that no chain's rewind concerns another's rows.

// The event codec, version 1. uv, u256 are as in the transaction codec, addr has 20
// bytes and id 32:
//
//	u8 1 | u8 kind | addr messenger | id peer | id tx hash | uv block time, Unix ms | u256 gas spent, in wei |
//	Sent:            fee | u8 1 = has warp ID | [id warp message] | message
//	FeeAdded:        fee
//	ReceiptReceived: fee | addr relayer
//	Received:        addr deliverer | addr relayer | message
//
//	fee:     addr token | u256 amount
//	message: u256 nonce | addr from | id destination | addr to | u256 gas limit |
//	         uv relayers | addresses | uv receipts | each: u256 nonce, addr relayer | data, the rest
const icmVersion = 1

// Lists of messages: a byte of their own, then what they are of. There is a row for
// each time that a message was sent or received.
const (
	icmAll     = iota // nothing more
	icmPeer           // | the other chain
	icmAddress        // | who sent it or whom it is for
)

// The list codec, version 1: u8 1 | u8 kind | id message | id peer | addr from | addr to | uv block time, Unix ms
const icmListVersion = 1

// icm appends the rows of an interchain message's event, the log with index i.
func (b *builder) icm(ref *BlockRef, tx *evm.Tx, i int) error {
	if !b.m.only[store.TableICMEvents] && !b.m.only[store.TableICMLists] && !b.m.only[store.TableICMTotals] {
		return nil
	}
	log := &tx.Logs[i]
	e, ok := icm.ParseEvent(log)
	if !ok || e.Message != nil && !e.Proves(&b.m.c.id) {
		return nil
	}
	k := b.start(store.TableICMEvents).word(e.ID).u64(ref.Number).u32(tx.Index).u32(log.Index)
	b.value = appendICM(b.value[:0], ref, tx, &e, carrier(&e, &b.m.c.id, tx.Logs[i+1:]))
	b.put(k, b.value)
	if e.Kind != icm.Sent && e.Kind != icm.Received {
		return nil
	}
	b.value = appendICMRow(b.value[:0], ref, &e)
	list := func(k key) { b.put(k.u64(^ref.Number).u32(^tx.Index).u32(^log.Index), b.value) }
	list(append(b.start(store.TableICMLists), icmAll))
	list(append(b.start(store.TableICMLists), icmPeer).word(e.Peer))
	list(append(b.start(store.TableICMLists), icmAddress).addr(&e.Message.From))
	if e.Message.To != e.Message.From {
		list(append(b.start(store.TableICMLists), icmAddress).addr(&e.Message.To))
	}
	return b.countICM(&e)
}

// carrier returns the ID of the warp message that carries what was sent; zero if the
// log behind it is none of that. The messenger sends it right after it logs the event.
func carrier(e *icm.Event, self *chain.ID, behind []evm.Log) (id chain.ID) {
	if e.Kind != icm.Sent || len(behind) == 0 {
		return id
	}
	raw, ok := WarpMessage(&behind[0])
	if !ok {
		return id
	}
	u, err := warp.Parse(raw)
	if err != nil || u.SourceChainID != *self {
		return id
	}
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil || string(call.SourceAddress) != string(e.Messenger[:]) {
		return id
	}
	m, err := icm.ParseMessage(call.Payload)
	if err != nil || m.Nonce != e.Message.Nonce || m.Destination != e.Message.Destination {
		return id
	}
	return u.ID()
}

func appendICM(dst []byte, ref *BlockRef, tx *evm.Tx, e *icm.Event, carrier chain.ID) []byte {
	dst = append(append(append(dst, icmVersion, byte(e.Kind)), e.Messenger[:]...), e.Peer[:]...)
	dst = binary.AppendUvarint(append(dst, tx.Hash[:]...), ref.TimeMilli)
	spent := new(uint256.Int).Mul(uint256.NewInt(tx.GasUsed), &tx.GasPrice)
	dst = appendU256(dst, spent)
	switch e.Kind {
	case icm.Sent:
		dst = appendICMFee(dst, &e.Fee)
		if carrier.IsZero() {
			dst = append(dst, 0)
		} else {
			dst = append(append(dst, 1), carrier[:]...)
		}
		return appendICMMessage(dst, e.Message)
	case icm.FeeAdded:
		return appendICMFee(dst, &e.Fee)
	case icm.ReceiptReceived:
		return append(appendICMFee(dst, &e.Fee), e.Relayer[:]...)
	case icm.Received:
		return appendICMMessage(append(append(dst, e.Deliverer[:]...), e.Relayer[:]...), e.Message)
	}
	return dst
}

func appendICMFee(dst []byte, f *icm.Fee) []byte {
	return appendU256(append(dst, f.Token[:]...), &f.Amount)
}

func appendICMMessage(dst []byte, m *icm.Message) []byte {
	dst = append(appendU256(dst, &m.Nonce), m.From[:]...)
	dst = append(append(dst, m.Destination[:]...), m.To[:]...)
	dst = binary.AppendUvarint(appendU256(dst, &m.GasLimit), uint64(len(m.Relayers)))
	for i := range m.Relayers {
		dst = append(dst, m.Relayers[i][:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.Receipts)))
	for i := range m.Receipts {
		dst = append(appendU256(dst, &m.Receipts[i].Nonce), m.Receipts[i].Relayer[:]...)
	}
	return append(dst, m.Data...)
}

func appendICMRow(dst []byte, ref *BlockRef, e *icm.Event) []byte {
	dst = append(append(append(dst, icmListVersion, byte(e.Kind)), e.ID[:]...), e.Peer[:]...)
	dst = append(append(dst, e.Message.From[:]...), e.Message.To[:]...)
	return binary.AppendUvarint(dst, ref.TimeMilli)
}

// ICMPlace is where an event stands on its chain.
type ICMPlace struct {
	Height            uint64
	TxIndex, LogIndex uint32
}

// ICMEvent is an event of an interchain message with where it happened.
type ICMEvent struct {
	icm.Event
	ICMPlace
	TxHash    evm.Hash
	TimeMilli uint64
	GasSpent  uint256.Int // by the transaction, in wei
	// Carrier is the ID of the warp message that carries what was sent; zero if there
	// is none.
	Carrier chain.ID
}

func decodeICM(e *ICMEvent, b []byte) error {
	d := decoder{b: b}
	if d.u8() != icmVersion {
		d.fail("version of an interchain message")
	}
	e.Kind = icm.Kind(d.u8())
	d.fixed(e.Messenger[:], e.Peer[:], e.TxHash[:])
	e.TimeMilli = d.uv()
	d.u256(&e.GasSpent)
	switch e.Kind {
	case icm.Sent:
		d.icmFee(&e.Fee)
		if d.u8() == 1 {
			d.fixed(e.Carrier[:])
		}
		e.Message = d.icmMessage()
	case icm.FeeAdded:
		d.icmFee(&e.Fee)
	case icm.ReceiptReceived:
		d.icmFee(&e.Fee)
		d.fixed(e.Relayer[:])
	case icm.Received:
		d.fixed(e.Deliverer[:], e.Relayer[:])
		e.Message = d.icmMessage()
	case icm.Executed, icm.Failed:
	default:
		d.fail("kind of an interchain message's event")
	}
	return d.end("interchain message")
}

// fixed reads bytes of known lengths.
func (d *decoder) fixed(to ...[]byte) {
	for _, b := range to {
		copy(b, d.take(len(b)))
	}
}

func (d *decoder) icmFee(f *icm.Fee) {
	d.fixed(f.Token[:])
	d.u256(&f.Amount)
}

func (d *decoder) icmMessage() *icm.Message {
	m := &icm.Message{}
	d.u256(&m.Nonce)
	d.fixed(m.From[:], m.Destination[:], m.To[:])
	d.u256(&m.GasLimit)
	for range d.count(evm.AddressLen) {
		m.Relayers = append(m.Relayers, evm.Address{})
		d.fixed(m.Relayers[len(m.Relayers)-1][:])
	}
	for range d.count(1 + evm.AddressLen) {
		m.Receipts = append(m.Receipts, icm.Receipt{})
		r := &m.Receipts[len(m.Receipts)-1]
		d.u256(&r.Nonce)
		d.fixed(r.Relayer[:])
	}
	m.Data = append([]byte(nil), d.take(len(d.b))...)
	return m
}

// maxICMEvents bounds the events of one message that are read: a real one has few.
const maxICMEvents = 256

// HasICM reports whether the table of interchain messages is made.
func (v *View) HasICM() bool { return v.at.has(store.TableICMEvents) && v.at.has(store.TableICMLists) }

// ICMEvents returns what the chain logged about the interchain message with an ID, in
// the order of its blocks: the first so many of it, if that is more than any contract
// that keeps to the rules logs.
func (v *View) ICMEvents(id evm.Hash) (list []ICMEvent, err error) {
	prefix := v.at.key(store.TableICMEvents).word(id)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Seek(append(key(nil), prefix...).u64(v.First())); rows.Valid() && len(list) < maxICMEvents; rows.Next() {
		k := rows.Key()[len(prefix):]
		if len(k) != heightLen+4+4 {
			return nil, fmt.Errorf("%w: key of an interchain message", errCodec)
		}
		e := ICMEvent{ICMPlace: ICMPlace{binary.BigEndian.Uint64(k), binary.BigEndian.Uint32(k[heightLen:]), binary.BigEndian.Uint32(k[heightLen+4:])}}
		if e.Height > v.tip.Number {
			break
		}
		e.ID = id
		if err := rows.Value(func(b []byte) error { return decodeICM(&e, b) }); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// ICMRow is a row of a list of interchain messages: one that was sent, or received.
type ICMRow struct {
	ICMPlace
	Kind      icm.Kind // Sent or Received
	ID        evm.Hash
	Peer      chain.ID // the message's other chain
	From, To  evm.Address
	TimeMilli uint64
}

// ICMList says which messages a list has. At most one of its members is set.
type ICMList struct {
	Peer    *chain.ID    // from or to that chain
	Address *evm.Address // sent by the address or for it
}

// ICMRows yields the times that messages were sent or received, the newest first.
func (v *View) ICMRows(of ICMList, p Page, take func(r *ICMRow) (more bool)) ([]byte, error) {
	l := list{prefix: v.at.key(store.TableICMLists), suffix: heightLen + 4 + 4, inverted: true}
	switch {
	case of.Peer != nil:
		l.prefix = append(l.prefix, icmPeer).word(*of.Peer)
	case of.Address != nil:
		l.prefix = append(l.prefix, icmAddress).addr(of.Address)
	default:
		l.prefix = append(l.prefix, icmAll)
	}
	l.take = func(suffix []byte, r *store.Rows) (bool, error) {
		row, err := readICMRow(suffix, r)
		return err == nil && take(&row), err
	}
	return v.read(&l, &p)
}

// ICMInTx returns the first interchain message that a transaction sent or received.
func (v *View) ICMInTx(number uint64, index uint32) (row ICMRow, found bool, err error) {
	prefix := append(v.at.key(store.TableICMLists), icmAll).u64(^number).u32(^index)
	rows, err := v.s.Rows(prefix, true) // log indexes are inverted
	if err != nil {
		return row, false, err
	}
	defer rows.Close()
	if rows.Seek(append(key(nil), prefix...).u32(^uint32(0))); !rows.Valid() {
		return row, false, nil
	}
	row, err = readICMRow(rows.Key()[len(prefix)-heightLen-4:], rows)
	return row, err == nil, err
}

func readICMRow(suffix []byte, r *store.Rows) (row ICMRow, err error) {
	if len(suffix) != heightLen+4+4 {
		return row, fmt.Errorf("%w: key of a list of interchain messages", errCodec)
	}
	row.Height, row.TxIndex = ^binary.BigEndian.Uint64(suffix), ^binary.BigEndian.Uint32(suffix[heightLen:])
	row.LogIndex = ^binary.BigEndian.Uint32(suffix[heightLen+4:])
	return row, r.Value(func(b []byte) error {
		d := decoder{b: b}
		if d.u8() != icmListVersion {
			d.fail("version of a list of interchain messages")
		}
		row.Kind = icm.Kind(d.u8())
		d.fixed(row.ID[:], row.Peer[:], row.From[:], row.To[:])
		row.TimeMilli = d.uv()
		return d.end("row of a list of interchain messages")
	})
}
