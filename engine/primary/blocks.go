package primary

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/proposer"
	store "quorate/engine/store/index"
)

// The block codec, version 1: u8 1 | u8 flags | own ID | parent's ID | time | type | size |
// [header: ID | parent | node | P-Chain height | time] | [supply] |
// [active validators of L1s] | [fees] | IDs of the transactions.
const (
	blockVersion = 1

	blockHeader = 1 << iota >> 1
	blockSupply
	blockActive
	blockFees
)

// PutBlock writes a block's rows but for those of its transactions.
func (o *Overlay) PutBlock(b *BlockInfo) {
	e := &Encoder{B: o.scratch[:0]}
	flags := byte(0)
	if b.Proposer != nil {
		flags |= blockHeader
	}
	for i, v := range []*uint64{b.Supply, b.ActiveL1, b.L1Fees} {
		if v != nil {
			flags |= blockSupply << i
		}
	}
	e.U8(blockVersion)
	e.U8(flags)
	e.ID(b.ID)
	e.ID(b.Parent)
	e.Uint(b.Time)
	e.String(b.Type)
	e.Uint(uint64(b.Size))
	if p := b.Proposer; p != nil {
		e.ID(p.ID)
		e.ID(p.Parent)
		e.Fixed(p.Node[:])
		e.Uint(p.PChainHeight)
		e.Uint(p.Time)
	}
	for _, v := range []*uint64{b.Supply, b.ActiveL1, b.L1Fees} {
		if v != nil {
			e.Uint(*v)
		}
	}
	for _, id := range b.Txs {
		e.ID(id)
	}
	o.Put(o.Key(store.PrimaryBlocks).U64(b.Height), e.B)
	o.scratch = e.B
	height := make(Key, 0, 8).U64(b.Height)
	o.Put(o.Key(store.PrimaryBlockIDs).Short(b.ID), height)
	if p := b.Proposer; p != nil {
		o.Put(o.Key(store.PrimaryBlockIDs).Short(p.ID), height)
		if p.Node != (chain.NodeID{}) {
			o.Put(o.Key(store.PrimaryProposed).Bytes(p.Node[:]).U64(b.Height), nil)
		}
	}
}

// decodeBlock reads a block of a chain.
func decodeBlock(kind Kind, height uint64, row []byte) (*BlockInfo, error) {
	d := NewDecoder(row)
	b := &BlockInfo{Chain: kind, Height: height}
	if d.U8() != blockVersion {
		return nil, fmt.Errorf("%w: block %d", ErrRow, height)
	}
	flags := d.U8()
	b.ID, b.Parent, b.Time = d.ID(), d.ID(), d.Uint()
	b.Type, b.Size = string(d.Bytes()), int(d.Uint32())
	if flags&blockHeader != 0 {
		p := &Proposer{ID: d.ID(), Parent: d.ID(), Node: d.Node()}
		p.PChainHeight, p.Time = d.Uint(), d.Uint()
		b.Proposer = p
	}
	for i, v := range []**uint64{&b.Supply, &b.ActiveL1, &b.L1Fees} {
		if flags&(blockSupply<<i) != 0 {
			n := d.Uint()
			*v = &n
		}
	}
	for n := d.Len() / chain.IDLen; n > 0; n-- {
		b.Txs = append(b.Txs, d.ID())
	}
	return b, d.End(fmt.Sprintf("block %d", height))
}

// blockTime reads the time of a block alone.
func blockTime(height uint64, row []byte) (uint64, error) {
	d := Decoder{b: row}
	ok := d.U8() == blockVersion
	d.Fixed(1 + 2*chain.IDLen) // flags, its own ID, its parent's
	time := d.Uint()
	if !ok || d.bad {
		return 0, fmt.Errorf("%w: block %d", ErrRow, height)
	}
	return time, nil
}

// Proposer returns what is known of the proposer of a block, nil if nothing is. An
// option's header names its parent alone: who proposed it, and when, follows from the
// proposal before it.
func (o *Overlay) Proposer(b *Block) *Proposer {
	h := b.Header
	if h == nil {
		return nil
	}
	return &Proposer{ID: h.ID, Parent: h.Parent, Node: o.node(h), PChainHeight: h.PChainHeight, Time: uint64(max(h.Time, 0))}
}

// mostProposers bounds the certificates whose nodes are known.
const mostProposers = 2048

// node returns who proposed a block. The same nodes do it again and again: to hash their
// certificates each time was seen to be a twentieth of what it takes to make rows.
func (o *Overlay) node(h *proposer.Header) chain.NodeID {
	if len(h.Certificate) == 0 {
		return chain.NodeID{}
	}
	id, known := o.proposers[string(h.Certificate)]
	if !known {
		if o.proposers == nil || len(o.proposers) == mostProposers {
			o.proposers = make(map[string]chain.NodeID)
		}
		id = h.Proposer()
		o.proposers[string(h.Certificate)] = id
	}
	return id
}

// TxRow is a transaction of any chain as its rows have it.
type TxRow struct {
	Place
	ID   chain.ID
	Time uint64 // of the block, Unix seconds
	// Aborted: a proposal that was voted down.
	Aborted bool
	// Raw is the signed transaction as nodes encode it.
	Raw []byte
	// Block is the ID of its block or of its vertex, zero where the row does not have it:
	// that of a genesis may not, and rows of older versions have none.
	Block chain.ID
	// VertexHeight is the height of its vertex.
	VertexHeight uint64
	// InVertex: the place is that of a vertex, one above its index. The X-Chain's view
	// knows it, not the row.
	InVertex bool
	// Made are outputs that the transaction does not have in itself: what the end of a
	// stake returned and rewarded, or what was left of a validator's balance.
	Made []chain.ID

	// consumed are the outputs that it spends as the output codec has them without the
	// spender, each behind its length. complete: the row has all of them.
	consumed []byte
	complete bool
}

// Spend marks an output as spent by a transaction, and notes it in the row: no later
// block changes what a page shows of it.
func (o *Overlay) Spend(t *TxRow, u *Output) error {
	u.State, u.SpentBy, u.SpentAt, u.SpentTime = Spent, t.ID, t.Place, t.Time
	b, err := u.encode(o.scratch[:0], false)
	if err != nil {
		return err
	}
	o.scratch = b
	if t.consumed == nil { // which the row before has left
		t.consumed, o.consumed = o.consumed[:0], nil
	}
	e := Encoder{B: t.consumed}
	e.Bytes(b)
	t.consumed = e.B
	return nil
}

// Consumed returns the outputs that the transaction spends, in the order of its inputs;
// ok is false where the row, which is of an older version, does not have them.
func (t *TxRow) Consumed() (list []*Output, ok bool, err error) {
	if !t.complete {
		return nil, false, nil
	}
	for d := NewDecoder(t.consumed); d.Len() > 0; {
		u, err := decodeOutput(d.Bytes())
		if err != nil {
			return nil, false, err
		}
		u.SpentBy, u.SpentAt, u.SpentTime = t.ID, t.Place, t.Time
		list = append(list, u)
	}
	return list, true, nil
}

// The transaction codec, version 2: u8 2 | u8 1 = aborted | ID | time | IDs of outputs
// behind their number | ID of the block or vertex | height of the vertex | outputs that
// it spends behind their length | transaction. Version 1 had none of what is between the
// IDs and the transaction.
const (
	txVersion  = 2
	txVersion1 = 1
)

// PutTx writes the rows of a transaction but for those of addresses and outputs. The row
// is of no use afterwards.
func (o *Overlay) PutTx(t *TxRow) {
	e := &Encoder{B: o.scratch[:0]}
	e.U8(txVersion)
	e.Bool(t.Aborted)
	e.ID(t.ID)
	e.Uint(t.Time)
	e.Uint(uint64(len(t.Made)))
	for _, id := range t.Made {
		e.ID(id)
	}
	e.ID(t.Block)
	e.Uint(t.VertexHeight)
	e.Bytes(t.consumed)
	e.Fixed(t.Raw)
	o.Put(o.Key(store.PrimaryTxs).Place(t.Place), e.B)
	o.Put(o.Key(store.PrimaryTxIDs).Short(t.ID), make(Key, 0, placeLen).Place(t.Place))
	o.scratch = e.B
	if t.consumed != nil {
		o.consumed, t.consumed = t.consumed, nil
	}
}

// decodeTx reads a row's value, which must not change any more.
func decodeTx(at Place, row []byte) (*TxRow, error) {
	d := NewDecoder(row)
	t := &TxRow{Place: at}
	version := d.U8()
	if version != txVersion && version != txVersion1 {
		return nil, fmt.Errorf("%w: transaction", ErrRow)
	}
	t.Aborted, t.ID, t.Time = d.Bool(), d.ID(), d.Uint()
	for n := d.Count(chain.IDLen); n > 0; n-- {
		t.Made = append(t.Made, d.ID())
	}
	if version == txVersion {
		t.Block, t.VertexHeight, t.consumed, t.complete = d.ID(), d.Uint(), d.Bytes(), true
	}
	t.Raw = d.Rest()
	return t, d.End("transaction")
}

// Tx returns a transaction by its ID.
func (o *Overlay) Tx(id chain.ID) (*TxRow, bool, error) { return txByID(o.Get, o.Space, id) }

// getter reads a row.
type getter func(key Key) (value []byte, found bool, err error)

func txByID(get getter, space Space, id chain.ID) (*TxRow, bool, error) {
	b, found, err := get(space.Key(store.PrimaryTxIDs).Short(id))
	if err != nil || !found {
		return nil, false, err
	}
	if len(b) != placeLen {
		return nil, false, fmt.Errorf("%w: transaction by ID", ErrRow)
	}
	t, found, err := txAt(get, space, PlaceAt(b))
	return t, found && t.ID == id, err
}

func txAt(get getter, space Space, at Place) (*TxRow, bool, error) {
	b, found, err := get(space.Key(store.PrimaryTxs).Place(at))
	if err != nil || !found {
		return nil, false, err
	}
	t, err := decodeTx(at, b)
	return t, err == nil, err
}

// heightOf reads the height that a row of [store.PrimaryBlockIDs] has.
func heightOf(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: block by ID", ErrRow)
	}
	return binary.BigEndian.Uint64(b), nil
}
