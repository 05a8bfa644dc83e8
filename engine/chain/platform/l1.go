package platform

import (
	"crypto/sha256"
	"encoding/binary"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
	"quorate/engine/chain/warp"
)

// ConvertSubnetToL1 hands a subnet's validators to a contract, its manager.
type ConvertSubnetToL1 struct {
	onL1
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

// ConversionID returns what the P-Chain attests of the conversion: the SHA-256 of what it says
// of the manager and of the validators.
func (t *ConvertSubnetToL1) ConversionID() chain.ID {
	b := append([]byte{0, 0}, t.Subnet[:]...) // after the codec's version
	b = append(b, t.ManagerChain[:]...)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(t.ManagerAddress))), t.ManagerAddress...) // less than a transaction
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.Validators)))
	for i := range t.Validators {
		v := &t.Validators[i]
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(v.NodeID))), v.NodeID...)
		b = append(b, v.Signer.PublicKey[:]...)
		b = binary.BigEndian.AppendUint64(b, v.Weight)
	}
	return sha256.Sum256(b)
}

// RegisterL1Validator adds a validator that an L1's manager asked for.
type RegisterL1Validator struct {
	onL1
	utxo.Base
	Balance           uint64 // nAVAX that it can spend on fees
	ProofOfPossession [BLSSignatureLen]byte
	// Message is a signed message of the manager with an [L1Registration].
	Message []byte
}

// SetL1ValidatorWeight changes a validator's weight, to zero to remove it.
type SetL1ValidatorWeight struct {
	onL1
	utxo.Base
	// Message is a signed message of the manager with an [L1Weight].
	Message []byte
}

// IncreaseL1ValidatorBalance adds to what a validator can spend on fees.
type IncreaseL1ValidatorBalance struct {
	onL1
	utxo.Base
	ValidationID chain.ID
	Balance      uint64 // nAVAX that are added
}

// DisableL1Validator deactivates a validator and returns its balance.
type DisableL1Validator struct {
	onL1
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

// L1Balance implements [Body].
func (t *ConvertSubnetToL1) L1Balance() (sum uint64, ok bool) {
	for i := range t.Validators {
		sum = chain.AddSaturated(sum, t.Validators[i].Balance)
	}
	return sum, len(t.Validators) > 0
}

// L1Balance implements [Body].
func (t *RegisterL1Validator) L1Balance() (uint64, bool) { return t.Balance, true }

// L1Balance implements [Body].
func (*SetL1ValidatorWeight) L1Balance() (uint64, bool) { return 0, false }

// L1Balance implements [Body].
func (t *IncreaseL1ValidatorBalance) L1Balance() (uint64, bool) { return t.Balance, true }

// L1Balance implements [Body].
func (*DisableL1Validator) L1Balance() (uint64, bool) { return 0, false }

// L1Changes implements [Body].
func (t *ConvertSubnetToL1) L1Changes() []L1Change {
	all := make([]L1Change, len(t.Validators))
	for i := range all {
		all[i] = L1Change{ConvertedValidationID(t.Subnet, uint32(i)), L1Register, t.Validators[i].Balance} // not negative
	}
	return all
}

// L1Changes implements [Body].
func (t *RegisterL1Validator) L1Changes() []L1Change {
	r, err := t.Registration()
	if err != nil {
		return nil
	}
	return []L1Change{{r.ValidationID, L1Register, t.Balance}}
}

// L1Changes implements [Body].
func (t *SetL1ValidatorWeight) L1Changes() []L1Change {
	w, err := t.Weight()
	switch {
	case err != nil:
		return nil
	case w.Weight == 0:
		return []L1Change{{w.ValidationID, L1Remove, 0}}
	}
	return []L1Change{{w.ValidationID, L1Weigh, 0}}
}

// L1Changes implements [Body].
func (t *IncreaseL1ValidatorBalance) L1Changes() []L1Change {
	return []L1Change{{t.ValidationID, L1Fund, t.Balance}}
}

// L1Changes implements [Body].
func (t *DisableL1Validator) L1Changes() []L1Change {
	return []L1Change{{t.ValidationID, L1Disable, 0}}
}

// Registration returns what the manager asks for.
func (t *RegisterL1Validator) Registration() (*L1Registration, error) {
	call, err := managerCall(t.Message)
	if err != nil {
		return nil, err
	}
	return ParseL1Registration(call)
}

// Weight returns what the manager asks for.
func (t *SetL1ValidatorWeight) Weight() (*L1Weight, error) {
	call, err := managerCall(t.Message)
	if err != nil {
		return nil, err
	}
	return ParseL1Weight(call)
}

// managerCall returns what an L1's manager says in a signed message.
func managerCall(message []byte) ([]byte, error) {
	m, err := warp.ParseSigned(message)
	if err != nil {
		return nil, err
	}
	call, err := warp.ParseAddressedCall(m.Payload)
	return call.Payload, err
}

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
