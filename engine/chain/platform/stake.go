package platform

import (
	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// Validator is a validator's or a delegator's part in a network.
type Validator struct {
	NodeID chain.NodeID
	Start  uint64 // Unix seconds; ignored since Durango: then it is the block's time
	End    uint64 // Unix seconds
	Weight uint64
}

func (v *Validator) code(c *codec.Coder) {
	c.Fixed(v.NodeID[:])
	c.Uint64(&v.Start)
	c.Uint64(&v.End)
	c.Uint64(&v.Weight)
}

// AddValidator adds a validator of the primary network, before Banff.
type AddValidator struct {
	staking
	utxo.Base
	Validator
	// Stake returns at the end. Its indices as UTXOs follow those of the outputs.
	Stake        []utxo.Output
	RewardsOwner utxo.Owners
	// DelegationFee is the share of delegators' rewards that the validator takes,
	// of 1,000,000.
	DelegationFee uint32
}

// AddSubnetValidator adds a validator of a permissioned subnet.
type AddSubnetValidator struct {
	staking
	utxo.Base
	Validator
	Subnet     chain.ID
	SubnetAuth utxo.Auth
}

// AddDelegator adds a delegator of the primary network, before Banff.
type AddDelegator struct {
	staking
	utxo.Base
	Validator
	Stake        []utxo.Output
	RewardsOwner utxo.Owners
}

// AddPermissionlessValidator adds a validator of the primary network or of a
// permissionless subnet.
type AddPermissionlessValidator struct {
	staking
	utxo.Base
	Validator
	Subnet chain.ID
	// Signer is the BLS key; nil on a subnet.
	Signer                 *Signer
	Stake                  []utxo.Output
	ValidatorRewardsOwner  utxo.Owners
	DelegationRewardsOwner utxo.Owners
	DelegationFee          uint32 // of 1,000,000
}

// AddPermissionlessDelegator adds a delegator of the primary network or of a
// permissionless subnet.
type AddPermissionlessDelegator struct {
	staking
	utxo.Base
	Validator
	Subnet       chain.ID
	Stake        []utxo.Output
	RewardsOwner utxo.Owners
}

// RemoveSubnetValidator removes a validator of a permissioned subnet.
type RemoveSubnetValidator struct {
	plain
	utxo.Base
	NodeID     chain.NodeID
	Subnet     chain.ID
	SubnetAuth utxo.Auth
}

// AdvanceTime moves the chain's time, before Banff. It is unsigned.
type AdvanceTime struct {
	unsigned
	noRewards
	Time uint64 // Unix seconds
}

// RewardValidator ends the time of a validator or delegator. It is unsigned; the
// block after it commits, with a reward, or aborts.
type RewardValidator struct {
	unsigned
	// TxID is the transaction that added the validator or delegator.
	TxID chain.ID
}

// Lengths of a BLS key and signature, compressed.
const (
	BLSKeyLen       = 48
	BLSSignatureLen = 96
	signerLen       = BLSKeyLen + BLSSignatureLen
)

// Signer is a BLS key with the proof that its owner has the secret.
type Signer struct {
	PublicKey         [BLSKeyLen]byte
	ProofOfPossession [BLSSignatureLen]byte
}

func (s *Signer) code(c *codec.Coder) {
	c.Fixed(s.PublicKey[:])
	c.Fixed(s.ProofOfPossession[:])
}

// signerKind is the type ID of the two forms of a signer.
type signerKind uint32

const (
	noSigner signerKind = 27
	aSigner  signerKind = 28
)

// codeSigner reads or writes a signer, nil for none, with its type ID.
func codeSigner(c *codec.Coder, s **Signer) {
	kind := noSigner
	if *s != nil {
		kind = aSigner
	}
	codec.Type(c, &kind, func(k signerKind) bool { return k == noSigner || k == aSigner })
	if c.Err() != nil || kind == noSigner {
		return
	}
	if c.Reading() {
		*s = new(Signer)
	}
	(*s).code(c)
}

// Kind implements [Body].
func (*AddValidator) Kind() TxKind { return KindAddValidator }

// Kind implements [Body].
func (*AddSubnetValidator) Kind() TxKind { return KindAddSubnetValidator }

// Kind implements [Body].
func (*AddDelegator) Kind() TxKind { return KindAddDelegator }

// Kind implements [Body].
func (*AddPermissionlessValidator) Kind() TxKind { return KindAddPermissionlessValidator }

// Kind implements [Body].
func (*AddPermissionlessDelegator) Kind() TxKind { return KindAddPermissionlessDelegator }

// Kind implements [Body].
func (*RemoveSubnetValidator) Kind() TxKind { return KindRemoveSubnetValidator }

// Kind implements [Body].
func (*AdvanceTime) Kind() TxKind { return KindAdvanceTime }

// Kind implements [Body].
func (*RewardValidator) Kind() TxKind { return KindRewardValidator }

// Rewards implements [Body].
func (t *RewardValidator) Rewards() (chain.ID, bool) { return t.TxID, true }

// Staking implements [Body].
func (t *AddValidator) Staking() (Staking, bool) {
	return Staking{
		Validator: t.Validator, Apricot: true, Stake: t.Stake,
		RewardsOwner: &t.RewardsOwner, DelegationOwner: &t.RewardsOwner, DelegationFee: t.DelegationFee,
	}, true
}

// Staking implements [Body].
func (t *AddSubnetValidator) Staking() (Staking, bool) {
	return Staking{Validator: t.Validator, Subnet: t.Subnet}, true
}

// Staking implements [Body].
func (t *AddDelegator) Staking() (Staking, bool) {
	return Staking{Validator: t.Validator, Delegator: true, Apricot: true, Stake: t.Stake, RewardsOwner: &t.RewardsOwner}, true
}

// Staking implements [Body].
func (t *AddPermissionlessValidator) Staking() (Staking, bool) {
	return Staking{
		Validator: t.Validator, Subnet: t.Subnet, Signer: t.Signer, Stake: t.Stake,
		RewardsOwner: &t.ValidatorRewardsOwner, DelegationOwner: &t.DelegationRewardsOwner, DelegationFee: t.DelegationFee,
	}, true
}

// Staking implements [Body].
func (t *AddPermissionlessDelegator) Staking() (Staking, bool) {
	return Staking{Validator: t.Validator, Subnet: t.Subnet, Delegator: true, Stake: t.Stake, RewardsOwner: &t.RewardsOwner}, true
}

func (t *AddValidator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	t.Validator.code(c)
	utxo.CodeOutputs(c, &t.Stake, true)
	utxo.CodePlatformOwners(c, &t.RewardsOwner)
	c.Uint32(&t.DelegationFee)
}

func (t *AddSubnetValidator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	t.Validator.code(c)
	c.Fixed(t.Subnet[:])
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
}

func (t *AddDelegator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	t.Validator.code(c)
	utxo.CodeOutputs(c, &t.Stake, true)
	utxo.CodePlatformOwners(c, &t.RewardsOwner)
}

func (t *AddPermissionlessValidator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	t.Validator.code(c)
	c.Fixed(t.Subnet[:])
	codeSigner(c, &t.Signer)
	utxo.CodeOutputs(c, &t.Stake, true)
	utxo.CodePlatformOwners(c, &t.ValidatorRewardsOwner)
	utxo.CodePlatformOwners(c, &t.DelegationRewardsOwner)
	c.Uint32(&t.DelegationFee)
}

func (t *AddPermissionlessDelegator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	t.Validator.code(c)
	c.Fixed(t.Subnet[:])
	utxo.CodeOutputs(c, &t.Stake, true)
	utxo.CodePlatformOwners(c, &t.RewardsOwner)
}

func (t *RemoveSubnetValidator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.NodeID[:])
	c.Fixed(t.Subnet[:])
	utxo.CodePlatformAuth(c, &t.SubnetAuth)
}

func (t *AdvanceTime) code(c *codec.Coder) { c.Uint64(&t.Time) }

func (t *RewardValidator) code(c *codec.Coder) { c.Fixed(t.TxID[:]) }
