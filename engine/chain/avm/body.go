package avm

import (
	"bytes"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// Base moves funds and does nothing else.
type Base struct{ utxo.Base }

// CreateAsset makes an asset, whose ID is that of the transaction.
type CreateAsset struct {
	utxo.Base
	Name         string
	Symbol       string
	Denomination uint8 // number of decimals
	// States are the outputs that the asset starts with. Their indices as UTXOs
	// follow those of the outputs, through all states in order.
	States []InitialState
}

// InitialState is what an asset starts with in one feature extension: 0 for
// secp256k1fx, 1 for nftfx, 2 for propertyfx.
type InitialState struct {
	Extension uint32
	Outputs   []utxo.State
}

// Operate does something to assets other than moving them. The outputs of its
// operations follow the others in order.
type Operate struct {
	utxo.Base
	Operations []Operation
}

// Operation changes outputs of one asset.
type Operation struct {
	Asset  chain.ID
	Inputs []utxo.Ref // the outputs that it spends
	Kind   utxo.Kind
	// Auth names the owners that sign for what is spent.
	Auth utxo.Auth
	// Group and Payload are those of the NFTs that an NFTMintOperation makes.
	Group   uint32
	Payload []byte
	// Outputs are what the operation makes: the right to mint and what was minted,
	// the NFT of a transfer, or an NFT for each owner. A burn makes none.
	Outputs []utxo.State
}

// Import spends outputs that another chain of the primary network exported.
type Import struct {
	utxo.Base
	SourceChain chain.ID
	Imported    []utxo.Input
}

// Export hands outputs to another chain of the primary network. Their indices as
// UTXOs follow those of the outputs that stay.
type Export struct {
	utxo.Base
	DestinationChain chain.ID
	Exported         []utxo.Output
}

// Kind implements [Body].
func (*Base) Kind() TxKind { return KindBase }

// Kind implements [Body].
func (*CreateAsset) Kind() TxKind { return KindCreateAsset }

// Kind implements [Body].
func (*Operate) Kind() TxKind { return KindOperation }

// Kind implements [Body].
func (*Import) Kind() TxKind { return KindImport }

// Kind implements [Body].
func (*Export) Kind() TxKind { return KindExport }

func (t *Base) code(c *codec.Coder) { utxo.CodeBase(c, &t.Base, false) }

func (t *CreateAsset) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, false)
	c.String(&t.Name)
	c.String(&t.Symbol)
	c.Uint8(&t.Denomination)
	codec.List(c, &t.States, minInitial, func(c *codec.Coder, s *InitialState) {
		c.Uint32(&s.Extension)
		codec.List(c, &s.Outputs, minState, utxo.CodeState)
	})
}

func (t *Operate) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, false)
	codec.List(c, &t.Operations, minOperation, codeOperation)
}

func (t *Import) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, false)
	c.Fixed(t.SourceChain[:])
	utxo.CodeInputs(c, &t.Imported, false)
}

func (t *Export) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, false)
	c.Fixed(t.DestinationChain[:])
	utxo.CodeOutputs(c, &t.Exported, false)
}

// operationOutputs holds, by kind of operation, the outputs that it always has.
var operationOutputs = map[utxo.Kind][]utxo.Kind{
	utxo.MintOperation:        {utxo.MintOutput, utxo.TransferOutput},
	utxo.NFTMintOperation:     nil, // one for each owner
	utxo.NFTTransferOperation: {utxo.NFTTransferOutput},
	utxo.PropertyMintOp:       {utxo.PropertyMintOutput, utxo.PropertyOwnedOutput},
	utxo.PropertyBurnOp:       nil,
}

func codeOperation(c *codec.Coder, o *Operation) {
	c.Fixed(o.Asset[:])
	codec.List(c, &o.Inputs, utxo.MinRef, utxo.CodeRef)
	codec.Type(c, &o.Kind, func(k utxo.Kind) bool { _, ok := operationOutputs[k]; return ok })
	utxo.CodeAuth(c, &o.Auth)
	if c.Err() != nil {
		return
	}
	if o.Kind == utxo.NFTMintOperation {
		codeNFTMint(c, o)
		return
	}
	want := operationOutputs[o.Kind]
	if c.Reading() && len(want) > 0 {
		o.Outputs = make([]utxo.State, len(want))
	}
	if len(o.Outputs) != len(want) {
		c.Fail(fmt.Errorf("%w: operation of type %d with %d outputs", codec.ErrValue, o.Kind, len(o.Outputs)))
		return
	}
	for i := range o.Outputs {
		codeOutputAs(c, &o.Outputs[i], want[i])
	}
}

func codeOutputAs(c *codec.Coder, s *utxo.State, kind utxo.Kind) {
	if !c.Reading() && s.Kind != kind {
		c.Fail(fmt.Errorf("%w: output of type %d instead of %d", codec.ErrValue, s.Kind, kind))
	}
	utxo.CodeStateAs(c, s, kind)
}

// codeNFTMint reads or writes what follows the authorization of an NFTMintOperation:
// what the NFTs stand for, once, and the owners of each.
func codeNFTMint(c *codec.Coder, o *Operation) {
	c.Uint32(&o.Group)
	c.Bytes(&o.Payload)
	codec.List(c, &o.Outputs, minOwners, func(c *codec.Coder, s *utxo.State) {
		if c.Reading() {
			s.Kind, s.Group, s.Payload = utxo.NFTTransferOutput, o.Group, o.Payload
		} else if s.Kind != utxo.NFTTransferOutput || s.Group != o.Group || !bytes.Equal(s.Payload, o.Payload) {
			c.Fail(fmt.Errorf("%w: an NFT that differs from what its operation mints", codec.ErrValue))
		}
		utxo.CodeOwners(c, &s.Owners)
	})
}
