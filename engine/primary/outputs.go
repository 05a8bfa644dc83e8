package primary

import (
	"bytes"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
	store "quorate/engine/store/index"
)

// OutputState says where an output is.
type OutputState uint8

// The states of an output.
const (
	Unspent  OutputState = iota
	Staked               // not an output before the stake ends
	Spent                // on the chain whose rows these are
	Exported             // to another chain, which knows whether it was spent there
)

// Output is an output of a transaction, with what became of it.
type Output struct {
	utxo.UTXO
	// Raw is the UTXO as nodes encode it, where it was read from a row: in the form of the
	// P-Chain if it is an amount. It is part of the row's value.
	Raw   []byte
	State OutputState
	// Reward: made when a stake ended, for its reward. Known is false where the chain's
	// rows have seen no more than how it was spent: who had it is not known then.
	Reward, Known bool
	// Place and Time are those of the transaction that made it, MadeBy its ID: that of
	// UTXO but for what the end of a stake returned, or rewarded. Where it is not Known
	// they are those of the transaction that spent it.
	Place  Place
	Time   uint64
	MadeBy chain.ID
	// Other is the chain that it was exported to or imported from; zero for neither.
	Other    chain.ID
	HasOther bool
	// SpentBy, SpentAt and SpentTime are those of the transaction that spent it.
	SpentBy   chain.ID
	SpentAt   Place
	SpentTime uint64

	id chain.ID // of the UTXO, zero where it was not needed yet
}

// The output codec, version 1: u8 1 | u8 state | u8 flags | place | time | [ID of the
// transaction that made it] | [other chain] | [spender's ID | place | time] | UTXO as
// nodes encode it.
const (
	outputVersion = 1

	outputReward = 1 << iota >> 1
	outputKnown
	outputMadeBy
	outputOther
	outputSpent
	outputPlatform
)

// encode appends an output; spender says whether with who spent it.
func (u *Output) encode(b []byte, spender bool) ([]byte, error) {
	e := &Encoder{B: b}
	// Outputs of amounts have the P-Chain's form, which has locks, the others the X-Chain's.
	platform := u.Kind == utxo.TransferOutput
	flags := byte(0)
	for _, f := range [...]struct {
		bit byte
		set bool
	}{
		{outputReward, u.Reward}, {outputKnown, u.Known}, {outputMadeBy, u.MadeBy != u.TxID}, {outputOther, u.HasOther},
		{outputSpent, spender && !u.SpentBy.IsZero()}, {outputPlatform, platform},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	e.U8(outputVersion)
	e.U8(byte(u.State))
	e.U8(flags)
	e.Place(u.Place)
	e.Uint(u.Time)
	if flags&outputMadeBy != 0 {
		e.ID(u.MadeBy)
	}
	if flags&outputOther != 0 {
		e.ID(u.Other)
	}
	if flags&outputSpent != 0 {
		e.ID(u.SpentBy)
		e.Place(u.SpentAt)
		e.Uint(u.SpentTime)
	}
	if u.Raw != nil {
		e.Fixed(u.Raw)
		return e.B, nil
	}
	b, err := u.UTXO.Append(e.B, platform)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", u.Ref.ID(), err)
	}
	return b, nil
}

// decodeOutput reads a row's value, which must not change any more.
func decodeOutput(b []byte) (*Output, error) {
	u := new(Output)
	return u, u.decode(b)
}

// decode is decodeOutput into u, which must be zero.
func (u *Output) decode(b []byte) error {
	d := NewDecoder(b)
	if d.U8() != outputVersion {
		return fmt.Errorf("%w: output", ErrRow)
	}
	u.State = OutputState(d.U8())
	flags := d.U8()
	u.Reward, u.Known, u.HasOther = flags&outputReward != 0, flags&outputKnown != 0, flags&outputOther != 0
	u.Place, u.Time = d.Place(), d.Uint()
	madeBy := flags&outputMadeBy != 0
	if madeBy {
		u.MadeBy = d.ID()
	}
	if u.HasOther {
		u.Other = d.ID()
	}
	if flags&outputSpent != 0 {
		u.SpentBy, u.SpentAt, u.SpentTime = d.ID(), d.Place(), d.Uint()
	}
	u.Raw = d.Rest()
	if err := u.UTXO.Decode(u.Raw, flags&outputPlatform != 0); err != nil {
		return fmt.Errorf("%w: output: %w", ErrRow, err)
	}
	if !madeBy {
		u.MadeBy = u.TxID
	}
	return d.End("output")
}

// Output returns an output by its ID, which is good until the next call.
func (o *Overlay) Output(id chain.ID) (*Output, bool, error) {
	b, found, err := o.Get(o.Key(store.PrimaryUTXOs).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	o.read = Output{id: id}
	err = o.read.decode(b)
	return &o.read, err == nil, err
}

// PutOutput writes an output that is new.
func (o *Overlay) PutOutput(u *Output) error { return o.putOutput(u, nil) }

// MoveOutput writes an output that was in another state before.
func (o *Overlay) MoveOutput(u *Output, before OutputState) error { return o.putOutput(u, &before) }

func (o *Overlay) putOutput(u *Output, before *OutputState) error {
	if u.id.IsZero() {
		u.id = u.Ref.ID()
	}
	b, err := u.encode(o.scratch[:0], true)
	if err != nil {
		return err
	}
	o.scratch = b
	b = o.group.copy(b)
	o.putOwn(o.Key(store.PrimaryUTXOs).ID(u.id), b)
	if u.State == Spent && u.Known && u.Place.Height > 0 { // made by a transaction that stands there
		o.putOwn(o.Key(store.PrimarySpent).Place(u.Place).U32(u.Index).Bytes(u.TxID[:4]), b)
	}
	if err := o.lock(u, before); err != nil {
		return err
	}
	order := make(Key, 0, placeLen+4).Place(u.Place).U32(u.Index)
	for i := range u.Addresses {
		a := &u.Addresses[i]
		if before != nil {
			if err := o.list(a, *before, order, nil); err != nil {
				return err
			}
		}
		if err := o.list(a, u.State, order, u.id[:]); err != nil {
			return err
		}
	}
	return nil
}

// list writes or removes a row of the list of an address' outputs in a state. Those that
// are spent or exported stay so.
func (o *Overlay) list(a *address.Address, state OutputState, order Key, id []byte) error {
	list := appendAddressOutputs(o.Key(store.PrimaryAddressUTXOs), a, state)
	switch {
	case !state.here() && id == nil:
		o.Delete(list.Bytes(order))
	case !state.here():
		o.Put(list.Bytes(order), id)
	case id == nil:
		return o.DeleteLive(list, order)
	default:
		return o.PutLive(list, order, id)
	}
	return nil
}

func addressOutputs(s Space, a *address.Address, state OutputState) Key {
	return appendAddressOutputs(s.Key(store.PrimaryAddressUTXOs), a, state)
}

func appendAddressOutputs(k Key, a *address.Address, state OutputState) Key {
	return k.Bytes(a[:]).U8(byte(state))
}

// addressTx is an address and the place of a transaction.
type addressTx struct {
	address address.Address
	at      Place
	noted   bool
}

// PutAddressTx notes that an address has part in a transaction.
func (o *Overlay) PutAddressTx(a address.Address, at Place) {
	t := addressTx{a, at, true}
	if t == o.touched {
		return
	}
	o.touched = t
	o.Put(o.Key(store.PrimaryAddressTxs).Bytes(a[:]).Place(at), nil)
}

// UnspentOf returns the unspent outputs that the rows of another chain have, in the
// order of their IDs.
func (o *Overlay) UnspentOf(s Space) (list []*Output, err error) {
	err = o.Scan(s.Key(store.PrimaryUTXOs), func(_, value []byte) (bool, error) {
		u, err := decodeOutput(bytes.Clone(value))
		if err == nil && u.State == Unspent {
			list = append(list, u)
		}
		return err == nil, err
	})
	return list, err
}

// UnspentOutput returns the first unspent output, in the order of their IDs, that a
// transaction above a height made.
func (v *View) UnspentOutput(above uint64) (u *Output, found bool, err error) {
	prefix := v.Key(store.PrimaryUTXOs)
	it, err := v.snap.Rows(prefix, false)
	if err != nil {
		return nil, false, err
	}
	defer it.Close()
	for it.Seek(prefix); it.Valid(); it.Next() {
		if err := it.Value(func(b []byte) (err error) {
			u, err = decodeOutput(bytes.Clone(b))
			return err
		}); err != nil {
			return nil, false, err
		}
		if u.State == Unspent && u.Known && u.Place.Height > above {
			return u, true, nil
		}
	}
	return nil, false, nil
}
