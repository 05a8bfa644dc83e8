package platform

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// AddAutoRenewedValidator adds a validator of the primary network that validates in
// cycles, from the time of its block on, until it stops.
type AddAutoRenewedValidator struct {
	staking
	utxo.Base
	NodeID chain.NodeID
	// Signer is the BLS key, which is never missing.
	Signer                 *Signer
	Stake                  []utxo.Output
	ValidatorRewardsOwner  utxo.Owners
	DelegationRewardsOwner utxo.Owners
	// Authority may change how it renews itself.
	Authority     utxo.Owners
	DelegationFee uint32 // of 1,000,000
	// Restaked is the share of its rewards that is staked at the end of a cycle, of
	// 1,000,000. The rest is paid.
	Restaked uint32
	Period   uint64 // of a cycle, in seconds
}

// SetAutoRenewedValidatorConfig changes what an [AddAutoRenewedValidator] set, from the
// end of the present cycle on.
type SetAutoRenewedValidatorConfig struct {
	plain
	utxo.Base
	// TxID is the transaction that added the validator.
	TxID     chain.ID
	Auth     utxo.Auth
	Restaked uint32 // of 1,000,000
	Period   uint64 // seconds; zero: it stops
}

// RewardAutoRenewedValidator ends a cycle. It is unsigned; the block after it commits,
// which begins the next cycle or ends the validation as it was configured, or aborts,
// which ends it.
type RewardAutoRenewedValidator struct {
	unsigned
	// TxID is the transaction that added the validator.
	TxID chain.ID
	// Time is the end of the cycle, Unix seconds.
	Time uint64
}

// Kind implements [Body].
func (*AddAutoRenewedValidator) Kind() TxKind { return KindAddAutoRenewedValidator }

// Kind implements [Body].
func (*SetAutoRenewedValidatorConfig) Kind() TxKind { return KindSetAutoRenewedValidatorConfig }

// Kind implements [Body].
func (*RewardAutoRenewedValidator) Kind() TxKind { return KindRewardAutoRenewedValidator }

// Staking implements [Body].
func (t *AddAutoRenewedValidator) Staking() (Staking, bool) {
	v := Validator{NodeID: t.NodeID}
	for i := range t.Stake {
		v.Weight += t.Stake[i].Amount // the chain keeps it from exceeding 64 bits
	}
	return Staking{
		Validator: v, Signer: t.Signer, Stake: t.Stake, Renewal: t,
		RewardsOwner: &t.ValidatorRewardsOwner, DelegationOwner: &t.DelegationRewardsOwner, DelegationFee: t.DelegationFee,
	}, true
}

// Rewards implements [Body].
func (t *RewardAutoRenewedValidator) Rewards() (chain.ID, bool) { return t.TxID, true }

func (t *AddAutoRenewedValidator) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	codeNodeID(c, &t.NodeID)
	if codeSigner(c, &t.Signer); t.Signer == nil {
		c.Fail(fmt.Errorf("%w: a validator without a key", codec.ErrValue))
	}
	utxo.CodeOutputs(c, &t.Stake, true)
	utxo.CodePlatformOwners(c, &t.ValidatorRewardsOwner)
	utxo.CodePlatformOwners(c, &t.DelegationRewardsOwner)
	utxo.CodePlatformOwners(c, &t.Authority)
	c.Uint32(&t.DelegationFee)
	c.Uint32(&t.Restaked)
	c.Uint64(&t.Period)
}

// codeNodeID codes a node ID behind its length, as no other transaction has one.
func codeNodeID(c *codec.Coder, id *chain.NodeID) {
	b := id[:]
	if c.Bytes(&b); len(b) != len(id) {
		c.Fail(fmt.Errorf("%w: a node ID of %d bytes", codec.ErrValue, len(b)))
	}
	copy(id[:], b)
}

func (t *SetAutoRenewedValidatorConfig) code(c *codec.Coder) {
	utxo.CodeBase(c, &t.Base, true)
	c.Fixed(t.TxID[:])
	utxo.CodePlatformAuth(c, &t.Auth)
	c.Uint32(&t.Restaked)
	c.Uint64(&t.Period)
}

func (t *RewardAutoRenewedValidator) code(c *codec.Coder) {
	c.Fixed(t.TxID[:])
	c.Uint64(&t.Time)
}
