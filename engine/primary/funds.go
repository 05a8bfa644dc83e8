package primary

import (
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

// ErrSpent means that an output is spent which was spent before. Consensus accepts no
// such block.
var ErrSpent = errors.New("the output was spent before")

// Funds writes what one transaction does to outputs, and which addresses have part in it.
type Funds struct {
	rows *Overlay
	tx   *TxRow
}

// Funds returns what writes the outputs of a transaction, and notes in its row those that
// it spends.
func (o *Overlay) Funds(tx *TxRow) Funds { return Funds{rows: o, tx: tx} }

// Touch notes that addresses have part in the transaction.
func (f *Funds) Touch(addresses ...address.Address) {
	for _, a := range addresses {
		f.rows.PutAddressTx(a, f.tx.Place)
	}
}

// Make writes an output of the transaction. If to is not nil, it goes to that chain.
func (f *Funds) Make(index uint32, out *utxo.Output, to *chain.ID) error {
	u := &Output{
		UTXO:  utxo.UTXO{Ref: utxo.Ref{TxID: f.tx.ID, Index: index}, Output: *out},
		Known: true, Place: f.tx.Place, Time: f.tx.Time, MadeBy: f.tx.ID,
	}
	if to != nil {
		u.State, u.Other, u.HasOther = Exported, *to, true
	}
	f.Touch(out.Addresses...)
	return f.rows.PutOutput(u)
}

// MakeAll writes outputs of the transaction whose indexes begin at first, and returns
// the index after them.
func (f *Funds) MakeAll(first uint32, list []utxo.Output, to *chain.ID) (uint32, error) {
	for i := range list {
		if err := f.Make(first, &list[i], to); err != nil {
			return first, err
		}
		first++
	}
	return first, nil
}

// Spend marks the outputs that inputs name as spent. If from is not nil they were
// exported from that chain, and the rows of this one have not seen them. What these rows
// have not seen otherwise is kept as the inputs tell it: not with its owners.
func (f *Funds) Spend(inputs []utxo.Input, from *chain.ID) error {
	for i := range inputs {
		in := &inputs[i]
		known, err := f.SpendRef(in.Ref)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		u := &Output{UTXO: utxo.UTXO{Ref: in.Ref, Output: utxo.Output{Asset: in.Asset, StakeLock: in.StakeLock}}}
		u.Kind, u.Amount = utxo.TransferOutput, in.Amount
		u.Place, u.Time, u.MadeBy = f.tx.Place, f.tx.Time, in.TxID
		if from != nil {
			u.Other, u.HasOther = *from, true
		}
		if err := f.spent(u); err != nil {
			return err
		}
		if err := f.rows.PutOutput(u); err != nil {
			return err
		}
	}
	return nil
}

// SpendRef marks an output as spent, and reports whether the rows have it.
func (f *Funds) SpendRef(ref utxo.Ref) (bool, error) {
	u, found, err := f.rows.Output(ref.ID())
	if err != nil || !found {
		return false, err
	}
	before := u.State
	if before == Spent {
		return true, fmt.Errorf("%w: %s, by %s", ErrSpent, ref.ID(), u.SpentBy)
	}
	if err := f.spent(u); err != nil {
		return true, err
	}
	f.Touch(u.Addresses...)
	return true, f.rows.MoveOutput(u, before)
}

func (f *Funds) spent(u *Output) error { return f.rows.Spend(f.tx, u) }
