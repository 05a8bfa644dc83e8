package events

import (
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
)

// Block is a block with all that is known of it. It is shared: do not change it.
type Block struct {
	index.Header
	Txs      []*index.Tx
	Messages []Message
	trail    Trail
}

// Message is a warp message that a transaction sent.
type Message struct {
	Tx       *index.Tx
	LogIndex uint32
	Unsigned []byte
	ID       chain.ID
	// Destination is the blockchain that a message of the Teleporter is for. Other
	// messages name none: Addressed is false.
	Destination chain.ID
	Addressed   bool
}

// Kind is what an event is about.
type Kind uint8

// The kinds of events.
const (
	OfBlock Kind = iota + 1
	OfTx
	OfTransfer
	OfMessage
)

// Event is one thing that happened. Tx is that of transfers and messages too.
type Event struct {
	Kind     Kind
	Number   uint32 // in the block
	Block    *Block
	Tx       *index.Tx
	Transfer *index.Transfer
	Message  *Message
}

// After returns the position behind the event.
func (e *Event) After() Position {
	return Position{Height: e.Block.Number, Passed: e.Number + 1, Trail: e.Block.trail}
}

// After returns the position behind the last event of the block.
func (b *Block) After() Position { return Position{Height: b.Number, Passed: whole, Trail: b.trail} }

func errMissing(height uint64) error { return fmt.Errorf("block %d is missing", height) }

// load reads a block.
func load(v *index.View, height uint64) (*Block, error) {
	h, found, err := v.Block(height)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errMissing(height)
	}
	b := &Block{Header: h}
	if b.trail, err = trailOf(v, &h); err != nil {
		return nil, err
	}
	if err = v.WholeTxs(height, func(tx *index.Tx) { b.Txs = append(b.Txs, tx) }); err != nil {
		return nil, err
	}
	warps, err := v.Warps(height)
	for i := range warps {
		w := &warps[i]
		at := slices.IndexFunc(b.Txs, func(tx *index.Tx) bool { return tx.Index == w.TxIndex })
		if at < 0 {
			return nil, fmt.Errorf("transaction %d of block %d is missing", w.TxIndex, height)
		}
		b.Messages = append(b.Messages, message(b.Txs[at], w))
	}
	return b, err
}

// message reads what is known of a message.
func message(tx *index.Tx, w *index.Warp) Message {
	m := Message{Tx: tx, LogIndex: w.LogIndex, Unsigned: w.Message}
	u, err := warp.Parse(w.Message)
	if err != nil {
		return m
	}
	m.ID = u.ID()
	if call, err := warp.ParseAddressedCall(u.Payload); err == nil {
		if sent, err := icm.ParseMessage(call.Payload); err == nil {
			m.Destination, m.Addressed = sent.Destination, true
		}
	}
	return m
}

// weight is about how much there is to keep of a block.
func (b *Block) weight() int {
	n := 1 + len(b.Txs) + len(b.Messages)
	for _, tx := range b.Txs {
		n += len(tx.Transfers) + len(tx.Calls) + len(tx.Input)/256
	}
	return n
}

// each yields the events of a block from a number on, until take returns false.
func (b *Block) each(from uint32, take func(e *Event) bool) {
	n := uint32(0)
	e := Event{Block: b}
	tell := func(k Kind) bool {
		e.Kind, e.Number = k, n
		n++
		return e.Number < from || take(&e)
	}
	if !tell(OfBlock) {
		return
	}
	messages := b.Messages
	for _, tx := range b.Txs {
		e = Event{Block: b, Tx: tx}
		if !tell(OfTx) {
			return
		}
		for i := range tx.Transfers {
			if e.Transfer = &tx.Transfers[i]; !tell(OfTransfer) {
				return
			}
		}
		for e.Transfer = nil; len(messages) > 0 && messages[0].Tx == tx; messages = messages[1:] {
			if e.Message = &messages[0]; !tell(OfMessage) {
				return
			}
		}
	}
}

// Filter says which events are wanted.
type Filter struct {
	Blocks, Txs, Transfers, Messages bool
	// Addresses are those that transactions and transfers must concern. Transactions
	// need some.
	Addresses map[evm.Address]bool
	// Tokens, if not empty, are those whose transfers are wanted.
	Tokens map[evm.Address]bool
	// Destinations, if not empty, are the blockchains that messages must be for.
	Destinations map[chain.ID]bool
}

// wants reports whether an event is wanted.
func (f *Filter) wants(e *Event) bool {
	switch e.Kind {
	case OfBlock:
		return f.Blocks
	case OfTx:
		return f.Txs && f.concerns(e.Tx)
	case OfTransfer:
		t := e.Transfer
		return f.Transfers && (len(f.Tokens) == 0 || f.Tokens[t.Token]) &&
			(len(f.Addresses) == 0 || f.Addresses[t.From] || f.Addresses[t.To])
	case OfMessage:
		return f.Messages && (len(f.Destinations) == 0 || e.Message.Addressed && f.Destinations[e.Message.Destination])
	}
	return false
}

// concerns reports whether one of the addresses has part in a transaction.
func (f *Filter) concerns(tx *index.Tx) bool {
	to := tx.To
	if tx.Creation {
		to = tx.Contract
	}
	if f.Addresses[tx.From] || f.Addresses[to] {
		return true
	}
	for i := range tx.Transfers {
		if t := &tx.Transfers[i]; f.Addresses[t.From] || f.Addresses[t.To] {
			return true
		}
	}
	for i := range tx.Calls {
		if c := &tx.Calls[i]; f.Addresses[c.From] || f.Addresses[c.To] {
			return true
		}
	}
	return false
}

// next returns the height of the first block at or above from that may have events that
// are wanted.
func (f *Filter) next(v *index.View, from uint64) (height uint64, found bool, err error) {
	if f.Blocks {
		return from, from <= v.Tip().Number, nil
	}
	least := func(h uint64, ok bool) {
		if ok && (!found || h < height) {
			height, found = h, true
		}
	}
	page := index.Page{Limit: 1, Ascending: true, From: from, To: v.Tip().Number + 1}
	if f.Txs || f.Transfers {
		for a := range f.Addresses {
			if _, err = v.AddressTxs(a, page, func(tx *index.Tx) bool {
				least(tx.Block.Number, true)
				return false
			}); err != nil {
				return 0, false, err
			}
		}
	}
	if f.Transfers && len(f.Addresses) == 0 {
		for t := range f.Tokens {
			if _, err = v.TokenTransfers(t, page, func(t *index.AddressedTransfer) bool {
				least(t.Tx.Block.Number, true)
				return false
			}); err != nil {
				return 0, false, err
			}
		}
	}
	if f.Messages {
		h, ok, err := v.NextWarp(from)
		if err != nil {
			return 0, false, err
		}
		least(h, ok)
	}
	return height, found, nil
}
