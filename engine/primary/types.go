package primary

import (
	"errors"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// Kind is one of the chains of the primary network.
type Kind uint8

// The chains of the primary network.
const (
	PChain Kind = 1 + iota
	XChain
	CChain
	// XVertices are the X-Chain's vertices from before its linearisation, which are
	// followed like a chain of their own: a vertex' place in it is its index in the
	// Index API, the order in which a node accepted them.
	XVertices
)

// String returns the alias, as in p-chain.
func (k Kind) String() string {
	switch k {
	case PChain:
		return "p-chain"
	case XChain:
		return "x-chain"
	case CChain:
		return "c-chain"
	case XVertices:
		return "x-chain vertices"
	}
	return "unknown"
}

// Position is where a page of a list ends. It is opaque to all but the list that
// returned it, has at most 80 bytes, and stays good while blocks arrive. Empty is the
// begin of the list.
type Position []byte

// ErrPosition means that a [Page] goes on from what is no position of its list.
var ErrPosition = errors.New("primary: not a position of this list")

// Page says what part of a list is wanted.
type Page struct {
	After Position // the page before ended there
	Limit int
	Asc   bool // oldest first
}

// TimeRange bounds a list by time in Unix seconds: From <= time < To; zero values leave
// that side open.
type TimeRange struct{ From, To uint64 }

// Subnet is a subnet as it is after the last indexed block.
type Subnet struct {
	ID     chain.ID
	Height uint64 // of the block that created it
	Time   uint64 // of that block, Unix seconds
	// Owners are those who may change it now.
	Owners utxo.Owners
	// Conversion is the transaction that made it an L1, zero if none did, with the
	// manager's chain and address.
	Conversion     chain.ID
	ManagerChain   chain.ID
	ManagerAddress []byte
	Blockchains    []Blockchain // in the order of their creation
}

// Blockchain is a chain that a transaction of the P-Chain, or its genesis, created.
type Blockchain struct {
	ID, Subnet, VM chain.ID
	Name           string
	Height         uint64 // of the block that created it
	Time           uint64 // of that block, Unix seconds
	Genesis        []byte
}

// StakerStatus is where a validation or delegation of limited time stands.
type StakerStatus uint8

// The states of a staker.
const (
	AnyStatus StakerStatus = iota
	Pending
	Active
	Completed
	Removed // a permissioned validator that was removed before its end
)

// Staker is a validation or delegation with a begin and an end: of the primary
// network, of a permissioned subnet or of an elastic one.
type Staker struct {
	TxID      chain.ID
	Subnet    chain.ID
	Node      chain.NodeID
	Delegator bool
	Status    StakerStatus
	Start     uint64 // Unix seconds; from Durango on the time of the block
	End       uint64
	Weight    uint64 // nAVAX of the primary network
	// BLSKey is nil for those without one.
	BLSKey *[platform.BLSKeyLen]byte
	// Proof is that of the key's possession. It is nil without a key, and in rows of an
	// older version.
	Proof *[platform.BLSSignatureLen]byte
	// RemovedAt is when it was Removed, Unix seconds; zero otherwise, and in rows of an
	// older version.
	RemovedAt uint64
	// RewardOwners get the reward; DelegationOwners the validator's share of those of
	// its delegators.
	RewardOwners, DelegationOwners utxo.Owners
	// Fee is the share of delegators' rewards that the validator takes, of 1,000,000;
	// for a delegator that of its validator.
	Fee uint32
	// Gross is what the stake earns: what the chain has set, or while it is pending what
	// it would be at the present supply. It is zero where it was refused at the end.
	Gross uint64
	// Net is what is left for the delegator of Gross when the validator took its share;
	// for a validator it is Gross.
	Net uint64
	// Estimated reports that Gross and Net are not final.
	Estimated bool
	// EndTx is the transaction that ended it, zero before.
	EndTx chain.ID
	// Delegators and DelegatedWeight are those of a validator now, at its end afterwards.
	Delegators      uint32
	DelegatedWeight uint64
	// Share is what a validator has of the rewards of its delegators: at its end what it
	// got, before that what it would get.
	Share uint64
	// Renewal is that of a validator that renews itself, nil of others. Its Start, End,
	// Gross and Share are those of its present cycle, or of its last.
	Renewal *Renewal
}

// Renewal is how a validator renews itself at the end of a cycle.
type Renewal struct {
	Since     uint64 // start of its first cycle, Unix seconds
	Authority utxo.Owners
	Restaked  uint32 // share of its rewards that is staked, of 1,000,000
	Period    uint64 // of the next cycle, seconds; zero: it stops
	// Rewards and Shares are what it has staked so far of its own rewards and of its share
	// of those of its delegators. They are in its weight, and are paid when it leaves.
	Rewards, Shares uint64
}

// StakerFilter bounds a list of stakers. Empty members do not.
type StakerFilter struct {
	Subnet  *chain.ID // nil: all
	Nodes   []chain.NodeID
	Owners  []address.Address // any of the reward's owners
	Status  StakerStatus
	AnyKind bool // validators and delegators
	// Delegators chooses delegators, otherwise validators, unless AnyKind.
	Delegators bool
	// During chooses those who stake, or are to stake, at some time in it; Rewarded those
	// whose rewards have owners.
	During   TimeRange
	Rewarded bool
	// Chooses reports whether a staker is to be listed, nil: all.
	Chooses func(*Staker) bool
}

// Limits of the primary network: a validator has at most so much stake, and with its
// delegators at most so many times its own.
const (
	maxStake       = 3_000_000e9 // nAVAX
	maxDelegations = 5
)

// Capacity returns how much can still be delegated to a validator of the primary network,
// in nAVAX; false of others, and of those that are no longer validators.
func (s *Staker) Capacity() (uint64, bool) {
	if s.Delegator || s.Subnet != chain.PrimaryNetworkID || s.Status != Active && s.Status != Pending {
		return 0, false
	}
	most, taken := uint64(maxStake), s.Weight+s.DelegatedWeight
	if s.Weight < most/maxDelegations {
		most = maxDelegations * s.Weight
	}
	return most - min(most, taken), true
}

// Since returns when a staker began, Unix seconds: of one that renews itself its first
// cycle.
func (s *Staker) Since() uint64 {
	if s.Renewal != nil {
		return s.Renewal.Since
	}
	return s.Start
}

// Stakes reports whether a staker is one of those that the filter's times, rewards and
// Chooses choose.
func (f *StakerFilter) Stakes(s *Staker) bool {
	end := s.End
	if s.Status == Removed && s.RemovedAt > 0 {
		end = min(end, s.RemovedAt)
	}
	return end > f.During.From && (f.During.To == 0 || s.Since() < f.During.To) && (!f.Rewarded || len(s.RewardOwners.Addresses) > 0) &&
		(f.Chooses == nil || f.Chooses(s))
}

// BlockFilter bounds a list of blocks: by time, and to those that a node proposed.
type BlockFilter struct {
	TimeRange
	Proposer *chain.NodeID // nil: all
}

// L1Filter bounds a list of L1 validators. Empty members do not.
type L1Filter struct {
	ValidationID *chain.ID
	Node         *chain.NodeID
	Subnet       *chain.ID
	Inactive     bool // also those that are not active
}

// RewardKind says what for a reward was paid.
type RewardKind uint8

// The kinds of rewards.
const (
	ValidatorReward RewardKind = iota
	DelegatorReward
	ValidatorFee // the validator's share of those of its delegators
)

// Reward is a reward that was paid, or in a list of pending ones is expected.
type Reward struct {
	Kind       RewardKind
	Owners     utxo.Owners
	TxID       chain.ID // the transaction that staked
	RewardTx   chain.ID // the transaction that paid; zero while pending
	Node       chain.NodeID
	Subnet     chain.ID
	Staked     uint64
	Start, End uint64
	Asset      chain.ID
	Amount     uint64
	// Ref is the output that was made; its ID is that of the UTXO.
	Ref    utxo.Ref
	Height uint64 // of the block that paid
	Time   uint64
}

// RewardFilter bounds a list of rewards: those of any of the addresses or nodes.
type RewardFilter struct {
	Addresses []address.Address
	Nodes     []chain.NodeID
}

// Proposer is the proposer's header around a block.
type Proposer struct {
	ID, Parent   chain.ID
	Node         chain.NodeID // zero: nobody signed
	PChainHeight uint64
	Time         uint64 // Unix seconds; zero: an option, whose header has no height either
}

// BlockInfo is a block of a chain of the primary network.
type BlockInfo struct {
	Chain      Kind
	Height     uint64
	ID, Parent chain.ID
	Time       uint64 // Unix seconds
	Type       string // avalanchego's name of the kind
	Txs        []chain.ID
	Size       int
	// Proposer is nil where the node that told the block does not keep headers.
	Proposer *Proposer
	// Supply, ActiveL1 and L1Fees are those of the P-Chain after the block; nil where
	// they are not known. L1Fees are all that one validator would have paid so far.
	Supply, ActiveL1, L1Fees *uint64
}

// Vertex is a vertex of the X-Chain from before its linearisation.
type Vertex struct {
	ID      chain.ID
	Parents []chain.ID
	Height  uint64
	Index   uint64 // its place in the order of acceptance
	Time    uint64 // Unix seconds at which the node that told it accepted it
	Txs     []chain.ID
	Size    int
}

// L1Validator is a validator of an L1, which pays by the second.
type L1Validator struct {
	ValidationID   chain.ID
	Subnet         chain.ID
	Node           chain.NodeID
	BLSKey         [platform.BLSKeyLen]byte
	Weight         uint64
	MinNonce       uint64
	Balance        uint64 // nAVAX that are left
	Active         bool
	Start          uint64 // Unix seconds
	CreateTx       chain.ID
	BalanceOwner   utxo.Owners // gets what is left
	DisableOwner   utxo.Owners // may disable it
	RemovedAt      uint64      // Unix seconds, zero while it validates
	DeactivatedAt  uint64      // Unix seconds, zero while it is active
	CreationHeight uint64
}

// Totals are sums over the stakers of the primary network that are active.
type Totals struct {
	Validators, Delegators int
	Staked, Delegated      uint64 // nAVAX
	// Supply is that of AVAX, nil where it is not known.
	Supply *uint64
}
