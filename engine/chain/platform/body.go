package platform

import (
	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// Body is what a transaction does: a pointer to one of the types of this package. A type
// has a method for each thing that transactions do; for those that it does not do it embeds
// [plain], or the type below that lacks what it does, so that none can be forgotten.
type Body interface {
	// Kind returns the type ID.
	Kind() TxKind
	// Funds returns what the transaction spends and makes; nil of those that are unsigned.
	Funds() *utxo.Base
	// Crossing returns what it takes from another chain of the primary network, and what it
	// hands to one: outputs whose indices as UTXOs follow those of Funds.
	Crossing() (imported []utxo.Input, exported []utxo.Output)
	// Staking returns the validator or delegator that it adds, if it adds one.
	Staking() (Staking, bool)
	// Rewards returns the transaction whose stake, or a cycle of it, ends and is paid for.
	Rewards() (staked chain.ID, ok bool)
	// L1Balance returns what it sets aside for the fees of validators of L1s, if it does.
	L1Balance() (nAVAX uint64, ok bool)
	// L1Changes returns what it does to validators of L1s.
	L1Changes() []L1Change
	code(*codec.Coder)
}

// Staking is the part of a validator or delegator in a network.
type Staking struct {
	// Validator has no times if the staker renews itself.
	Validator
	Subnet    chain.ID
	Delegator bool
	// Apricot: of before Banff, when such transactions named no subnet.
	Apricot bool
	// Signer is the BLS key, nil if there is none.
	Signer *Signer
	// Stake returns at the end. Its indices as UTXOs follow those of the outputs.
	Stake []utxo.Output
	// RewardsOwner is nil on a permissioned subnet, which neither takes stakes nor pays.
	RewardsOwner *utxo.Owners
	// DelegationOwner receives a validator's part of the rewards of its delegators, which is
	// DelegationFee of 1,000,000; nil of a delegator.
	DelegationOwner *utxo.Owners
	DelegationFee   uint32
	// Renewal says how the staker renews itself, nil if it does not.
	Renewal *AddAutoRenewedValidator
}

// L1Change is what a transaction does to a validator of an L1.
type L1Change struct {
	ValidationID chain.ID
	Does         L1Verb
	Balance      uint64 // nAVAX that are added
}

// L1Verb is what is done to a validator of an L1.
type L1Verb uint8

// What transactions do to validators of L1s.
const (
	L1Register L1Verb = iota
	L1Fund
	L1Weigh
	L1Remove // by a weight of zero
	L1Disable
)

// OutputsOf returns how many outputs a transaction makes itself: their indices are lower
// than those of what is paid to it.
func OutputsOf(b Body) (n int) {
	if base := b.Funds(); base != nil {
		n = len(base.Outputs)
	}
	_, exported := b.Crossing()
	staking, _ := b.Staking()
	return n + len(exported) + len(staking.Stake)
}

// What a type of transactions does not do.
type (
	noCrossing struct{}
	noStaking  struct{}
	noRewards  struct{}
	noL1       struct{}

	// plain is of transactions that do none of it. The others do one thing.
	plain struct {
		noCrossing
		noStaking
		noRewards
		noL1
	}
	crossing struct {
		noStaking
		noRewards
		noL1
	}
	staking struct {
		noCrossing
		noRewards
		noL1
	}
	onL1 struct {
		noCrossing
		noStaking
		noRewards
	}
	// unsigned is of those that the validators propose themselves.
	unsigned struct {
		noCrossing
		noStaking
		noL1
	}
)

// Crossing implements [Body].
func (noCrossing) Crossing() ([]utxo.Input, []utxo.Output) { return nil, nil }

// Staking implements [Body].
func (noStaking) Staking() (s Staking, ok bool) { return s, false }

// Rewards implements [Body].
func (noRewards) Rewards() (id chain.ID, ok bool) { return id, false }

// L1Balance implements [Body].
func (noL1) L1Balance() (uint64, bool) { return 0, false }

// L1Changes implements [Body].
func (noL1) L1Changes() []L1Change { return nil }

// Funds implements [Body].
func (unsigned) Funds() *utxo.Base { return nil }
