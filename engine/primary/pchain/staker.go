package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// priority orders stakers whose turns are at the same time. The numbers are those of
// avalanchego: the first six are of pending stakers, the others of current ones.
type priority uint8

const (
	delegatorApricotPending priority = 1 + iota
	validatorPending
	delegatorPending
	elasticValidatorPending
	elasticDelegatorPending
	permissionedPending
	permissionedCurrent
	elasticDelegatorCurrent
	elasticValidatorCurrent
	delegatorCurrent
	validatorCurrent
)

// pendingPriority returns the priority of a new staker.
func pendingPriority(s *platform.Staking) priority {
	switch onPrimary := s.Subnet == chain.PrimaryNetworkID; {
	case s.RewardsOwner == nil:
		return permissionedPending
	case s.Delegator && s.Apricot:
		return delegatorApricotPending
	case s.Delegator && onPrimary:
		return delegatorPending
	case s.Delegator:
		return elasticDelegatorPending
	case onPrimary:
		return validatorPending
	}
	return elasticValidatorPending
}

// whenCurrent has the priorities that pending stakers get when they become current.
var whenCurrent = [...]priority{
	delegatorApricotPending: delegatorCurrent, validatorPending: validatorCurrent, delegatorPending: delegatorCurrent,
	elasticValidatorPending: elasticValidatorCurrent, elasticDelegatorPending: elasticDelegatorCurrent, permissionedPending: permissionedCurrent,
}

// staker is a validation or delegation of limited time with what the chain needs of it.
type staker struct {
	primary.Staker
	place    primary.Place
	priority priority // while it is pending or current
	// permissioned: it neither stakes nor is rewarded.
	permissioned bool
	// outputs and stakes are how many outputs the transaction has, and stakes after them.
	outputs, stakes uint32
	asset           chain.ID
	// validator is that of a delegator, zero if it is not known.
	validator chain.ID
	// accrued is what a validator gets at its end of the rewards of delegators that have
	// left, expected its share of those of delegators that it has.
	accrued, expected uint64
	// paid is what a validator got of the rewards of delegators when they left: until
	// Cortina its share did not wait for its own end.
	paid uint64
}

// The staker codec, version 4. Version 3 had no renewals, version 2 not what was paid, version
// 1 neither the proof nor the time of a removal, all of which are at the end.
const (
	stakerVersion  = 4
	stakerVersion2 = 2
	stakerVersion1 = 1
)

func (s *staker) encode(b []byte) []byte {
	e := &primary.Encoder{B: b}
	e.U8(stakerVersion)
	e.ID(s.Subnet)
	e.Fixed(s.Node[:])
	e.U8(uint8(s.Status))
	e.U8(uint8(s.priority))
	for _, v := range [...]bool{s.Delegator, s.permissioned, s.Estimated, s.BLSKey != nil, !s.EndTx.IsZero(), !s.validator.IsZero()} {
		e.Bool(v)
	}
	for _, v := range [...]uint64{
		s.Start, s.End, s.Weight, uint64(s.Fee), s.Gross, s.Net, uint64(s.Delegators), s.DelegatedWeight, uint64(s.outputs), uint64(s.stakes), s.accrued, s.expected,
	} {
		e.Uint(v)
	}
	e.Place(s.place)
	e.ID(s.asset)
	if s.BLSKey != nil {
		e.Fixed(s.BLSKey[:])
	}
	if !s.EndTx.IsZero() {
		e.ID(s.EndTx)
	}
	if !s.validator.IsZero() {
		e.ID(s.validator)
	}
	e.Owners(&s.RewardOwners)
	e.Owners(&s.DelegationOwners)
	if s.BLSKey != nil {
		e.Fixed(s.Proof[:])
	}
	e.Uint(s.RemovedAt)
	e.Uint(s.paid)
	e.Bool(s.Renewal != nil)
	if r := s.Renewal; r != nil {
		for _, v := range [...]uint64{r.Since, uint64(r.Restaked), r.Period, r.Rewards, r.Shares} {
			e.Uint(v)
		}
		e.Owners(&r.Authority)
	}
	return e.B
}

func decodeStaker(id chain.ID, b []byte) (*staker, error) {
	d := primary.NewDecoder(b)
	s := &staker{}
	s.TxID = id
	version := d.U8()
	if version < stakerVersion1 || version > stakerVersion {
		return nil, fmt.Errorf("%w: staker %s", primary.ErrRow, id)
	}
	s.Subnet, s.Node = d.ID(), d.Node()
	s.Status, s.priority = primary.StakerStatus(d.U8()), priority(d.U8())
	var key, ended, delegated bool
	for _, v := range [...]*bool{&s.Delegator, &s.permissioned, &s.Estimated, &key, &ended, &delegated} {
		*v = d.Bool()
	}
	s.Start, s.End, s.Weight, s.Fee = d.Uint(), d.Uint(), d.Uint(), d.Uint32()
	s.Gross, s.Net, s.Delegators, s.DelegatedWeight = d.Uint(), d.Uint(), d.Uint32(), d.Uint()
	s.outputs, s.stakes, s.accrued, s.expected = d.Uint32(), d.Uint32(), d.Uint(), d.Uint()
	s.place, s.asset = d.Place(), d.ID()
	if key {
		s.BLSKey = new([platform.BLSKeyLen]byte)
		copy(s.BLSKey[:], d.Fixed(platform.BLSKeyLen))
	}
	if ended {
		s.EndTx = d.ID()
	}
	if delegated {
		s.validator = d.ID()
	}
	s.RewardOwners, s.DelegationOwners = d.Owners(), d.Owners()
	if version > stakerVersion1 {
		if key {
			s.Proof = new([platform.BLSSignatureLen]byte)
			copy(s.Proof[:], d.Fixed(platform.BLSSignatureLen))
		}
		s.RemovedAt = d.Uint()
	}
	if version > stakerVersion2 {
		s.paid = d.Uint()
	}
	if version == stakerVersion && d.Bool() {
		s.Renewal = &primary.Renewal{Since: d.Uint(), Restaked: d.Uint32(), Period: d.Uint(), Rewards: d.Uint(), Shares: d.Uint()}
		s.Renewal.Authority = d.Owners()
	}
	return s, d.End("staker")
}

// staker returns a staker by its transaction, nil if there is none.
func (m *machine) staker(id chain.ID) (*staker, error) {
	b, found, err := m.rows.Get(m.rows.Key(store.PlatformStakers).ID(id))
	if err != nil || !found {
		return nil, err
	}
	return decodeStaker(id, b)
}

// Lists of stakers, rewards and validators of L1s.
const (
	listAll = iota
	listNode
	listAddress
	listSubnet
)

// lists returns in how many kinds of lists a staker is.
func (s *staker) lists() int { return 3 + len(s.RewardOwners.Addresses) }

// listKey appends to the beginning of a key what names one of them.
func (s *staker) listKey(k primary.Key, i int) primary.Key {
	switch i {
	case 0:
		return k.U8(listAll)
	case 1:
		return k.U8(listNode).Bytes(s.Node[:])
	case 2:
		return k.U8(listSubnet).Bytes(s.Subnet[:])
	}
	return k.U8(listAddress).Bytes(s.RewardOwners.Addresses[i-3][:])
}

// What a staker expects at its end: the reward of its own stake, and of a validator its
// share of those of its delegators.
const (
	endOwn = iota
	endShare
)

// putEnds writes where a staker is in lists of what will be rewarded, or removes it if it
// is not active any more.
func (m *machine) putEnds(s *staker, active bool) error {
	if err := m.putEnd(s, active, endOwn, s.RewardOwners.Addresses); err != nil || s.Delegator {
		return err
	}
	return m.putEnd(s, active, endShare, s.DelegationOwners.Addresses)
}

func (m *machine) putEnd(s *staker, active bool, what uint8, owners []address.Address) error {
	order := make(primary.Key, 0, 32).U64(s.End).Place(s.place).U8(what)
	for i := -1; i < len(owners); i++ {
		list := m.rows.Key(store.PlatformStakerEnds)
		if i < 0 {
			list = list.U8(listNode).Bytes(s.Node[:])
		} else {
			list = list.U8(listAddress).Bytes(owners[i][:])
		}
		var err error
		if active {
			err = m.rows.PutLive(list, order, s.TxID[:])
		} else {
			err = m.rows.DeleteLive(list, order)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLive reports whether rows of a list of stakers go or change: see
// [primary.Overlay.PutLive]. Key begins with that of the list.
func isLive(key primary.Key, delegator bool, status primary.StakerStatus) bool {
	switch status {
	case primary.Pending, primary.Active:
		return true
	case primary.AnyStatus:
		return !delegator && key[primary.LeadLen] == listSubnet // has what delegators change
	}
	return false
}

func boolByte(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// put writes a staker in the state before, AnyStatus for a new one.
func (m *machine) put(s *staker, before primary.StakerStatus) error {
	named := s.encode(append(m.value[:0], s.TxID[:]...))
	m.value = named
	m.rows.Put(m.rows.Key(store.PlatformStakers).Bytes(s.TxID[:]), named[chain.IDLen:])
	for i := range s.lists() {
		k := s.listKey(m.rows.Key(store.PlatformStakerLists), i)
		if k[primary.LeadLen] == listSubnet {
			if err := m.list(s, k, primary.AnyStatus, named); err != nil {
				return err
			}
		} else if before == primary.AnyStatus && s.Status != before {
			if err := m.list(s, k, primary.AnyStatus, s.TxID[:]); err != nil {
				return err
			}
		}
		if s.Status == before {
			continue
		}
		if before != primary.AnyStatus {
			if err := m.list(s, k, before, nil); err != nil {
				return err
			}
		}
		if err := m.list(s, k, s.Status, s.TxID[:]); err != nil {
			return err
		}
	}
	if s.Status == before || s.permissioned || s.Status != primary.Active && before != primary.Active {
		return nil
	}
	return m.putEnds(s, s.Status == primary.Active)
}

// list writes a staker's row in a list of a status, or removes it if the value is nil. It
// may write behind k, which begins the key.
func (m *machine) list(s *staker, k primary.Key, status primary.StakerStatus, value []byte) error {
	list, order := k.U8(boolByte(s.Delegator)).U8(uint8(status)), make(primary.Key, 0, 32).U64(s.Since()).Place(s.place)
	switch live := isLive(k, s.Delegator, status); {
	case live && value == nil:
		return m.rows.DeleteLive(list, order)
	case live:
		return m.rows.PutLive(list, order, value)
	case value == nil:
		m.rows.Delete(list.Bytes(order))
	default:
		m.rows.Put(list.Bytes(order), value)
	}
	return nil
}

// validatorOf returns the validator of a node in a queue, nil if there is none.
func (m *machine) validatorOf(subnet chain.ID, node chain.NodeID, queue uint8) (*staker, error) {
	b, found, err := m.rows.Get(m.nodeKey(subnet, node, queue))
	if err != nil || !found {
		return nil, err
	}
	if len(b) != chain.IDLen {
		return nil, fmt.Errorf("%w: validator of a node", primary.ErrRow)
	}
	return m.staker(chain.ID(b))
}

func (m *machine) nodeKey(subnet chain.ID, node chain.NodeID, queue uint8) primary.Key {
	return m.rows.Key(store.PlatformNodes).ID(subnet).Bytes(node[:]).U8(queue)
}

// turn returns the place of a staker in its queue.
func (s *staker) turn() turn {
	if s.Status == primary.Pending {
		return turnOf(s.Start, s.priority, s.TxID)
	}
	return turnOf(s.End, s.priority, s.TxID)
}
