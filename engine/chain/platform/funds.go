package platform

import (
	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// Base moves funds and does nothing else.
type Base struct {
	plain
	utxo.Base
}

// Import spends outputs that another chain of the primary network exported.
type Import struct {
	crossing
	utxo.Base
	SourceChain chain.ID
	Imported    []utxo.Input
}

// Export hands outputs to another chain of the primary network. Their indices as
// UTXOs follow those of the outputs that stay.
type Export struct {
	crossing
	utxo.Base
	DestinationChain chain.ID
	Exported         []utxo.Output
}

// CreateSubnet makes a subnet, whose ID is that of the transaction.
type CreateSubnet struct {
	plain
	utxo.Base
	Owner utxo.Owners
}

// CreateChain makes a chain, whose ID is that of the transaction.
type CreateChain struct {
	plain
	utxo.Base
	Subnet      chain.ID
	Name        string
	VM          chain.ID
	Extensions  []chain.ID
	GenesisData []byte
	SubnetAuth  utxo.Auth
}

// TransferSubnetOwnership changes who may manage a subnet.
type TransferSubnetOwnership struct {
	plain
	utxo.Base
	Subnet     chain.ID
	SubnetAuth utxo.Auth
	Owner      utxo.Owners
}

// TransformSubnet makes a subnet permissionless, with an asset of its own to stake.
type TransformSubnet struct {
	plain
	utxo.Base
	Subnet                   chain.ID
	Asset                    chain.ID
	InitialSupply            uint64
	MaximumSupply            uint64
	MinConsumptionRate       uint64 // of 1,000,000
	MaxConsumptionRate       uint64 // of 1,000,000
	MinValidatorStake        uint64
	MaxValidatorStake        uint64
	MinStakeDuration         uint32 // seconds
	MaxStakeDuration         uint32 // seconds
	MinDelegationFee         uint32 // of 1,000,000
	MinDelegatorStake        uint64
	MaxValidatorWeightFactor uint8
	UptimeRequirement        uint32 // of 1,000,000
	SubnetAuth               utxo.Auth
}

// Kind implements [Body].
func (*Base) Kind() TxKind { return KindBase }

// Kind implements [Body].
func (*Import) Kind() TxKind { return KindImport }

// Kind implements [Body].
func (*Export) Kind() TxKind { return KindExport }

// Kind implements [Body].
func (*CreateSubnet) Kind() TxKind { return KindCreateSubnet }

// Kind implements [Body].
func (*CreateChain) Kind() TxKind { return KindCreateChain }

// Kind implements [Body].
func (*TransferSubnetOwnership) Kind() TxKind { return KindTransferSubnetOwnership }

// Kind implements [Body].
func (*TransformSubnet) Kind() TxKind { return KindTransformSubnet }

// Crossing implements [Body].
func (t *Import) Crossing() ([]utxo.Input, []utxo.Output) { return t.Imported, nil }

// Crossing implements [Body].
func (t *Export) Crossing() ([]utxo.Input, []utxo.Output) { return nil, t.Exported }

func (t *Base) code(c *codec.Coder) { utxo.CodeBase(c, &t.Base, true) }

func (t *Import) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.SourceChain[:])
	utxo.CodeInputs(c, &t.Imported, true)
}

func (t *Export) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.DestinationChain[:])
	utxo.CodeOutputs(c, &t.Exported, true)
}

func (t *CreateSubnet) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	utxo.CodePlatformOwners(c, &t.Owner)
}

func (t *CreateChain) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.Subnet[:])
	c.String(&t.Name)
	c.Fixed(t.VM[:])
	utxo.CodeIDs(c, &t.Extensions)
	c.Bytes(&t.GenesisData)
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
}

func (t *TransferSubnetOwnership) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.Subnet[:])
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
	utxo.CodePlatformOwners(c, &t.Owner)
}

func (t *TransformSubnet) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.Subnet[:])
	c.Fixed(t.Asset[:])
	c.Uint64(&t.InitialSupply)
	c.Uint64(&t.MaximumSupply)
	c.Uint64(&t.MinConsumptionRate)
	c.Uint64(&t.MaxConsumptionRate)
	c.Uint64(&t.MinValidatorStake)
	c.Uint64(&t.MaxValidatorStake)
	c.Uint32(&t.MinStakeDuration)
	c.Uint32(&t.MaxStakeDuration)
	c.Uint32(&t.MinDelegationFee)
	c.Uint64(&t.MinDelegatorStake)
	c.Uint8(&t.MaxValidatorWeightFactor)
	c.Uint32(&t.UptimeRequirement)
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
}
