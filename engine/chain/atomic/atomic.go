// Package atomic reads and writes the atomic transactions of the C-Chain: imports from
// the P- and the X-Chain and exports to them, which its blocks carry beside those of
// the EVM.
//
// Source: plugin/evm/atomic of coreth, as avalanchego v1.14.2 has it.
package atomic

import (
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/utxo"
)

const version = 0

// Lengths of the shortest encodings.
const (
	minTx     = 4 + 4 + 2*chain.IDLen + 4 + 4 + 4
	minImport = evm.AddressLen + 8 + chain.IDLen
	minExport = minImport + 8
)

// ErrNone means that a block has ExtData that hold no transaction.
var ErrNone = errors.New("a list of no atomic transactions")

// Kind is the type ID of a transaction.
type Kind uint32

// The kinds. The numbers are those of the encoding.
const (
	Import Kind = 0
	Export Kind = 1
)

// String returns avalanchego's name.
func (k Kind) String() string {
	if k == Export {
		return "ExportTx"
	}
	return "ImportTx"
}

// Account is an amount that an import adds to an account of the C-Chain, or an export
// takes from it.
type Account struct {
	Address evm.Address
	Amount  uint64
	Asset   chain.ID
	Nonce   uint64 // of exports
}

// Tx is a signed transaction.
type Tx struct {
	// ID is the SHA-256 of the transaction's bytes. Size is their number.
	ID   chain.ID
	Size int

	Kind      Kind
	NetworkID uint32
	ChainID   chain.ID // the C-Chain
	// Peer is the chain that an import takes from, or an export hands to.
	Peer     chain.ID
	Imported []utxo.Input // of imports
	Accounts []Account
	// Exported are the outputs of an export. Their indices as UTXOs begin at 0.
	Exported    []utxo.Output
	Credentials []utxo.Credential
}

// Parse reads the ExtData of a block, which may be empty. Since the fifth Apricot
// phase it is a list, before a single transaction: no bytes read as both.
func Parse(extData []byte) ([]Tx, error) {
	if len(extData) == 0 {
		return nil, nil
	}
	var txs []Tx
	err := codec.Decode(extData, version, codec.MaxLen, func(c *codec.Coder) { codeList(c, &txs) })
	if err == nil {
		return txs, nil
	}
	var tx Tx
	if codec.Decode(extData, version, codec.MaxLen, func(c *codec.Coder) { codeTx(c, &tx) }) == nil {
		return []Tx{tx}, nil
	}
	return nil, fmt.Errorf("atomic transactions: %w", err)
}

// Bytes returns ExtData with a list of transactions.
func Bytes(txs []Tx) ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeList(c, &txs) })
}

// Bytes returns the transaction as it has its ID, and as ExtData held it before the
// fifth Apricot phase.
func (tx *Tx) Bytes() ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeTx(c, tx) })
}

func codeList(c *codec.Coder, txs *[]Tx) {
	if codec.List(c, txs, minTx, codeTx); len(*txs) == 0 {
		c.Fail(fmt.Errorf("%w: %w", codec.ErrValue, ErrNone))
	}
}

func codeTx(c *codec.Coder, tx *Tx) {
	start := c.Offset()
	codec.Type(c, &tx.Kind, func(k Kind) bool { return k <= Export })
	c.Uint32(&tx.NetworkID)
	c.Fixed(tx.ChainID[:])
	c.Fixed(tx.Peer[:])
	if tx.Kind == Import {
		utxo.CodeInputs(c, &tx.Imported, false)
		codec.List(c, &tx.Accounts, minImport, codeAccount)
	} else {
		codec.List(c, &tx.Accounts, minExport, func(c *codec.Coder, a *Account) {
			codeAccount(c, a)
			c.Uint64(&a.Nonce)
		})
		utxo.CodeOutputs(c, &tx.Exported, false)
	}
	utxo.CodeCredentials(c, &tx.Credentials, false)
	if c.Reading() && c.Err() == nil {
		tx.ID, tx.Size = codec.HashOf(version, c.Since(start))
	}
}

func codeAccount(c *codec.Coder, a *Account) {
	c.Fixed(a.Address[:])
	c.Uint64(&a.Amount)
	c.Fixed(a.Asset[:])
}
