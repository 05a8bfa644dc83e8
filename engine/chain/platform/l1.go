package platform

import (
	"crypto/sha256"
	"encoding/binary"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// ConvertSubnetToL1 hands a subnet's validators to a contract, its manager.
type ConvertSubnetToL1 struct {
	utxo.Base
	Subnet         chain.ID
	ManagerChain   chain.ID
	ManagerAddress []byte
	Validators     []L1Validator
	SubnetAuth     utxo.Auth
}

// L1Validator is one of the validators that an L1 starts with.
type L1Validator struct {
	NodeID  []byte // any length but zero; 20 bytes if it is to connect
	Weight  uint64
	Balance uint64 // nAVAX that it can spend on fees
	Signer  Signer
	// RemainingBalanceOwner receives what is left; DeactivationOwner may deactivate.
	RemainingBalanceOwner L1Owner
	DeactivationOwner     L1Owner
}

// L1Owner is the owner of an L1 validator's balance or of its activity.
type L1Owner struct {
	Threshold uint32
	Addresses []address.Address
}

func (o *L1Owner) code(c *codec.Coder) {
	c.Uint32(&o.Threshold)
	utxo.CodeAddresses(c, &o.Addresses)
}

// ConvertedValidationID returns the ID of the validator at index in the conversion
// of a subnet: the SHA-256 of the subnet's ID and the index as 32 bits.
func ConvertedValidationID(subnet chain.ID, index uint32) chain.ID {
	return sha256.Sum256(binary.BigEndian.AppendUint32(subnet[:], index))
}

// RegisterL1Validator adds a validator that an L1's manager asked for.
type RegisterL1Validator struct {
	utxo.Base
	Balance           uint64 // nAVAX that it can spend on fees
	ProofOfPossession [BLSSignatureLen]byte
	// Message is a signed message of the manager with an [L1Registration].
	Message []byte
}

// SetL1ValidatorWeight changes a validator's weight, to zero to remove it.
type SetL1ValidatorWeight struct {
	utxo.Base
	// Message is a signed message of the manager with an [L1Weight].
	Message []byte
}

// IncreaseL1ValidatorBalance adds to what a validator can spend on fees.
type IncreaseL1ValidatorBalance struct {
	utxo.Base
	ValidationID chain.ID
	Balance      uint64 // nAVAX that are added
}

// DisableL1Validator deactivates a validator and returns its balance.
type DisableL1Validator struct {
	utxo.Base
	ValidationID chain.ID
	Auth         utxo.Auth
}

// Kind implements [Body].
func (*ConvertSubnetToL1) Kind() TxKind { return KindConvertSubnetToL1 }

// Kind implements [Body].
func (*RegisterL1Validator) Kind() TxKind { return KindRegisterL1Validator }

// Kind implements [Body].
func (*SetL1ValidatorWeight) Kind() TxKind { return KindSetL1ValidatorWeight }

// Kind implements [Body].
func (*IncreaseL1ValidatorBalance) Kind() TxKind { return KindIncreaseL1ValidatorBalance }

// Kind implements [Body].
func (*DisableL1Validator) Kind() TxKind { return KindDisableL1Validator }

func (v *L1Validator) code(c *codec.Coder) {
	c.Bytes(&v.NodeID)
	c.Uint64(&v.Weight)
	c.Uint64(&v.Balance)
	v.Signer.code(c)
	v.RemainingBalanceOwner.code(c)
	v.DeactivationOwner.code(c)
}

func (t *ConvertSubnetToL1) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.Subnet[:])
	c.Fixed(t.ManagerChain[:])
	c.Bytes(&t.ManagerAddress)
	codec.List(c, &t.Validators, minL1Validator, func(c *codec.Coder, v *L1Validator) { v.code(c) })
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
}

func (t *RegisterL1Validator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Uint64(&t.Balance)
	c.Fixed(t.ProofOfPossession[:])
	c.Bytes(&t.Message)
}

func (t *SetL1ValidatorWeight) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Bytes(&t.Message)
}

func (t *IncreaseL1ValidatorBalance) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.ValidationID[:])
	c.Uint64(&t.Balance)
}

func (t *DisableL1Validator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.ValidationID[:])
	utxo.CodePlatformAuth(c, &t.Auth)
}
