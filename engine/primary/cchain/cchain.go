// Package cchain makes the rows of the C-Chain's blocks as the primary network knows
// them, with their proposers and their imports and exports, and reads them. What happens
// in the EVM is in engine/index.
package cchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/atomic"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// version counts the rules of the rows, and reads is the oldest one whose rows can be
// served while they are made again.
const (
	version = 4
	reads   = 1
	burned  = 3 // rows from it on have what was burned
)

// Open returns the rows of a network's C-Chain.
func Open(db *store.DB, network uint32) (*primary.Chain, error) {
	return primary.OpenChain(db, primary.Config{
		ID: primary.RowsID(network, primary.CChain), Version: version, Reads: reads, Burned: burned,
		Machine: func() primary.Machine { return machine{} },
	})
}

// machine keeps nothing: no row depends on those before it but for spent outputs.
type machine struct{}

// Load implements [primary.Machine].
func (machine) Load(*primary.Overlay) error { return nil }

// Apply implements [primary.Machine].
func (machine) Apply(rows *primary.Overlay, b *primary.Block) error {
	c := b.EVM
	info := &primary.BlockInfo{
		Chain: primary.CChain, Height: c.Number, ID: chain.ID(c.Hash), Parent: chain.ID(c.Parent), Time: c.TimeMilli / 1000,
		Type: "StandardBlock", Size: c.Size, Proposer: rows.Proposer(b),
	}
	for i := range c.Atomic {
		tx := &c.Atomic[i]
		info.Txs = append(info.Txs, tx.ID)
		row := &primary.TxRow{Place: primary.Place{Height: c.Number, Index: uint32(i)}, Time: info.Time, Block: info.ID}
		if err := apply(rows, tx, row); err != nil {
			return fmt.Errorf("transaction %s: %w", tx.ID, err)
		}
	}
	rows.PutBlock(info)
	return nil
}

// apply writes the rows of an import or an export. The accounts of the EVM have part in
// it like the owners of outputs: both are 20 bytes.
func apply(rows *primary.Overlay, tx *atomic.Tx, row *primary.TxRow) error {
	raw, err := tx.Bytes()
	if err != nil {
		return err
	}
	if err := rows.Burn(balance(tx), row.Time); err != nil {
		return err
	}
	row.ID, row.Raw = tx.ID, raw
	funds := rows.Funds(row)
	for i := range tx.Accounts {
		funds.Touch(address.Address(tx.Accounts[i].Address))
	}
	if err := funds.Spend(tx.Imported, &tx.Peer); err != nil {
		return err
	}
	if _, err = funds.MakeAll(0, tx.Exported, &tx.Peer); err != nil {
		return err
	}
	rows.PutTx(row)
	return nil
}

// balance returns what a transaction takes and makes.
func balance(tx *atomic.Tx) *primary.Balance {
	b := &primary.Balance{}
	b.TakeAll(tx.Imported)
	b.MakeAll(tx.Exported)
	add := b.Take
	if tx.Kind == atomic.Import {
		add = b.Make
	}
	for i := range tx.Accounts {
		add(tx.Accounts[i].Asset, tx.Accounts[i].Amount)
	}
	return b
}
