package primary

import (
	"container/heap"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// Status is what became of a staker.
type Status uint8

// The statuses.
const (
	Pending    Status = iota // will be current at its start
	Current                  // validates or delegates
	Rewarded                 // ended with its reward
	Unrewarded               // ended without
	Removed                  // of a permissioned subnet: ended or taken out
	Refused                  // the proposal to add it was aborted
)

// Staker is a validator or a delegator of the primary network or of a subnet that is
// no L1.
type Staker struct {
	TxID   chain.ID
	Subnet chain.ID
	NodeID chain.NodeID
	// Delegator: it stakes on a validator. Permissioned: it stakes nothing.
	Delegator, Permissioned bool
	Weight                  uint64
	// Start and End are in Unix seconds; Start is when it became current, or will.
	Start, End uint64
	Status     Status
	// Potential is the reward that it is to have at its end, set at its start.
	Potential uint64
	// Fee is a validator's share of its delegators' rewards, of 1,000,000, and
	// DelegateeReward what of these waits for its end.
	Fee             uint32
	DelegateeReward uint64
	// Signer is a validator's BLS key; nil without one.
	Signer *platform.Signer
	// Renewal is nil of one whose stake ends once.
	Renewal *Renewal
	// Rewards are the outputs that its end made, but for the stake, or the ends of its
	// cycles: these hang on the transactions that ended them.
	Rewards []Reward
	// Tx added it, in the block at Height. EndHeight is of the block that ended it.
	Tx                *platform.Tx
	Height, EndHeight uint64

	priority uint8
}

// Renewal is what an auto-renewed validator has besides. The staker's Weight, Start, End
// and Potential are those of the current cycle.
type Renewal struct {
	// Cycle counts from 1.
	Cycle int
	// Period is the length of the next cycle in seconds; zero: there is none.
	Period uint64
	// Restaked is the part of rewards that is staked too when the cycle ends, of
	// 1,000,000.
	Restaked uint32
	// Authority may change both.
	Authority utxo.Owners
	// Accrued is what was staked so of its own rewards, AccruedFees of its share of its
	// delegators'. The weight includes them.
	Accrued, AccruedFees uint64
}

// Reward is an output that rewards a validator or a delegator.
type Reward struct {
	utxo.UTXO
	// Staked, Start and End are those of the stake or the cycle that it is for.
	Staked, Start, End uint64
	// Fee: a validator's share of its delegators' rewards. Before Cortina each end of
	// a delegation paid its own, and the output is listed with the delegator.
	Fee bool
}

// next is the time at which the chain has to do something about the staker.
func (s *Staker) next() uint64 {
	if s.Status == Pending {
		return s.Start
	}
	return s.End
}

// stakers is a heap in the order in which the chain goes through stakers. Those that
// left otherwise stay in it until they come up.
type stakers struct {
	list   []*Staker
	status Status
}

func (q *stakers) Len() int      { return len(q.list) }
func (q *stakers) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *stakers) Push(x any)    { q.list = append(q.list, x.(*Staker)) }
func (q *stakers) Pop() any {
	n := len(q.list) - 1
	last := q.list[n]
	q.list = q.list[:n]
	return last
}

func (q *stakers) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	at, bt := a.End, b.End
	if q.status == Pending {
		at, bt = a.Start, b.Start
	}
	switch {
	case at != bt:
		return at < bt
	case a.priority != b.priority:
		return a.priority < b.priority
	default:
		return slices.Compare(a.TxID[:], b.TxID[:]) < 0
	}
}

// first returns the staker that comes up next, or nil.
func (q *stakers) first() *Staker {
	for len(q.list) > 0 && q.list[0].Status != q.status {
		heap.Pop(q)
	}
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

// Subnet is a subnet, by now perhaps an L1.
type Subnet struct {
	ID     chain.ID
	Owner  utxo.Owners
	Height uint64 // of the block that made it
	Time   uint64
	// Transform is the transaction that made it permissionless; nil without one.
	Transform *platform.Tx
	// Conversion is the transaction that made it an L1; nil without one.
	Conversion   *platform.Tx
	ConversionID chain.ID
}

// Blockchain is a chain that the P-Chain made.
type Blockchain struct {
	ID     chain.ID
	Height uint64
	Time   uint64
	*platform.CreateChain
}

// L1Validator is a validator of an L1.
type L1Validator struct {
	ValidationID chain.ID
	Subnet       chain.ID
	NodeID       chain.NodeID
	PublicKey    [platform.BLSKeyLen]byte
	Start        uint64
	Weight       uint64 // zero: removed
	MinNonce     uint64
	// EndAccrued is the sum of fees at which the balance is used up; zero while
	// inactive. The balance is what is missing to it.
	EndAccrued uint64
	// Remaining gets what is left of the balance, Deactivation may deactivate.
	Remaining, Deactivation platform.L1Owner
	// TxID created it, in the block at Height.
	TxID   chain.ID
	Height uint64
}

// Balance returns what the validator has left, for the sum of fees so far.
func (v *L1Validator) Balance(accrued uint64) uint64 {
	if v.EndAccrued == 0 {
		return 0
	}
	return v.EndAccrued - accrued
}

// TxRecord is where a transaction of the P-Chain was accepted. Aborted: its proposal
// was.
type TxRecord struct {
	*platform.Tx
	Height  uint64
	Aborted bool
}

// State is the P-Chain's state after some blocks.
type State struct {
	Height uint64
	Time   uint64
	// Supply is that of AVAX under the primary network's ID, and of the asset of each
	// permissionless subnet.
	Supply map[chain.ID]uint64
	coins
	// Stakers are all that ever were, by the transaction that added them; Validators
	// the current and pending ones by subnet and node.
	Stakers    map[chain.ID]*Staker
	Validators map[SubnetNode]*Staker
	Subnets    map[chain.ID]*Subnet
	// SubnetOrder and Blockchains are in the order in which they were made.
	SubnetOrder []chain.ID
	Blockchains []*Blockchain
	// L1Validators are by validation ID, those that were removed too.
	L1Validators map[chain.ID]*L1Validator
	// Accrued is what an L1 validator that was active since Etna would have paid.
	Accrued uint64
	Txs     map[chain.ID]*TxRecord
	// Burned is what was spent and is owned by nobody now: fees.
	Burned uint64
	// Deposited is what validators of L1s got to spend, without what came back.
	Deposited uint64

	forks            Forks
	avax             chain.ID
	pending, current stakers
	delegated        map[SubnetNode]uint64 // weight of pending and current delegators
	sets             sets
}

// SubnetNode is a node's part in a subnet.
type SubnetNode struct {
	Subnet chain.ID
	Node   chain.NodeID
}

func newState(asset chain.ID, forks Forks, g *platform.Genesis) *State {
	s := &State{
		Time: g.Time, Supply: map[chain.ID]uint64{chain.PrimaryNetworkID: g.InitialSupply},
		coins: newCoins(chain.PlatformChainID), Stakers: make(map[chain.ID]*Staker), Validators: make(map[SubnetNode]*Staker),
		Subnets: make(map[chain.ID]*Subnet), L1Validators: make(map[chain.ID]*L1Validator),
		Txs:   make(map[chain.ID]*TxRecord),
		forks: forks, avax: asset, pending: stakers{status: Pending}, current: stakers{status: Current},
		delegated: make(map[SubnetNode]uint64), sets: newSets(),
	}
	for i := range g.UTXOs {
		s.addUTXO(g.UTXOs[i].UTXO)
	}
	for i := range g.Chains {
		tx := &g.Chains[i]
		s.Txs[tx.ID] = &TxRecord{Tx: tx}
		s.addBlockchain(tx)
	}
	for i := range g.Validators {
		tx := &g.Validators[i]
		s.Txs[tx.ID] = &TxRecord{Tx: tx}
		s.begin(s.staker(tx))
	}
	s.sets.commit(0)
	return s
}

// nextChange returns when a staker or an L1 validator next changes by itself.
func (s *State) nextChange() (uint64, bool) {
	at, ok := uint64(0), false
	for _, q := range []*stakers{&s.pending, &s.current} {
		if first := q.first(); first != nil && (!ok || first.next() < at) {
			at, ok = first.next(), true
		}
	}
	for _, v := range s.L1Validators {
		if v.EndAccrued == 0 {
			continue
		}
		if end := s.Time + v.Balance(s.Accrued)/l1Price; !ok || end < at {
			at, ok = end, true
		}
	}
	return at, ok
}
