package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// reward ends the time of a staker: its stake returns, and unless the proposal was
// aborted what it earned is paid.
func (m *machine) reward(x *execution, id chain.ID, aborted bool) error {
	next := m.current.first()
	if m.head.Exact && (next == nil || next.id() != id || next.at() != m.head.Time) {
		return fmt.Errorf("%w: reward of %s, whose turn it is not", ErrRefused, id)
	}
	s, err := m.staker(id)
	if err != nil || s == nil { // of before what is known
		return err
	}
	if s.Status != primary.Active {
		if m.head.Exact {
			return fmt.Errorf("%w: reward of %s, which is not active", ErrRefused, id)
		}
		return nil
	}
	for i := range s.stakes {
		if err := x.returnStake(utxo.Ref{TxID: s.TxID, Index: s.outputs + i}); err != nil {
			return err
		}
	}
	pay := payment{x: x, s: s, index: s.outputs + s.stakes}
	known := m.supplyKnown(s)
	if s.Delegator {
		err = m.rewardDelegator(&pay, aborted, known && !s.validator.IsZero())
	} else {
		err = m.rewardValidator(&pay, aborted, known)
	}
	if err != nil {
		return err
	}
	if err := m.leave(s, primary.Completed, x.tx.ID); err != nil {
		return err
	}
	s.Estimated = !known
	if aborted {
		if err := m.refuse(s); err != nil {
			return err
		}
		s.Gross, s.Net, s.Estimated = 0, 0, false
	}
	return m.put(s, primary.Completed)
}

// supplyKnown reports whether what a staker was promised is known.
func (m *machine) supplyKnown(s *staker) bool {
	return s.Subnet != chain.PrimaryNetworkID || m.head.SupplyKnown && s.Gross > 0 || m.head.Exact
}

func (m *machine) rewardValidator(p *payment, aborted, known bool) error {
	if !aborted && known {
		if err := p.pay(primary.ValidatorReward, p.s.Gross, &p.s.RewardOwners, p.s); err != nil {
			return err
		}
	}
	// What its delegators left for it is paid in either case.
	return p.pay(primary.ValidatorFee, p.s.accrued, &p.s.DelegationOwners, p.s)
}

func (m *machine) rewardDelegator(p *payment, aborted, known bool) error {
	if aborted || !known {
		return nil
	}
	v, err := m.mustStaker(p.s.validator)
	if err != nil {
		return err
	}
	share, own := rules.Split(p.s.Gross, v.Fee)
	p.s.Net, p.s.Fee = own, v.Fee
	if err := p.pay(primary.DelegatorReward, own, &p.s.RewardOwners, p.s); err != nil || share == 0 {
		return err
	}
	if v.Start >= m.cfg.Upgrades.Cortina {
		v.accrued += share
		return m.put(v, v.Status)
	}
	v.paid += share
	if err := m.put(v, v.Status); err != nil {
		return err
	}
	return p.pay(primary.ValidatorFee, share, &v.DelegationOwners, p.s)
}

// payment makes the outputs of a reward, one behind the other.
type payment struct {
	x     *execution
	s     *staker
	index uint32
}

// pay makes an output, unless there is nothing to pay.
func (p *payment) pay(kind primary.RewardKind, amount uint64, to *utxo.Owners, of *staker) error {
	if amount == 0 {
		return nil
	}
	ref := utxo.Ref{TxID: of.TxID, Index: p.index}
	p.index++
	out := utxo.Output{Asset: of.asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: amount, Owners: *to}}
	u := &primary.Output{UTXO: utxo.UTXO{Ref: ref, Output: out}, Reward: true}
	if err := p.x.make(u); err != nil {
		return err
	}
	p.x.row.Made = append(p.x.row.Made, ref.ID())
	if err := p.x.m.rows.Add(p.x.m.rows.Key(store.PlatformRewarded).ID(of.asset), amount); err != nil {
		return err
	}
	p.x.m.putReward(&primary.Reward{
		Kind: kind, Owners: *to, TxID: of.TxID, RewardTx: p.x.tx.ID, Node: of.Node, Subnet: of.Subnet, Staked: of.Weight,
		Start: of.Start, End: of.End, Asset: of.asset, Amount: amount, Ref: ref, Height: p.x.row.Height, Time: p.x.row.Time,
	}, p.x.row.Index)
	return nil
}

// The reward codec, version 1.
const rewardVersion = 1

func (m *machine) putReward(r *primary.Reward, index uint32) {
	e := &primary.Encoder{B: m.value[:0]}
	e.U8(rewardVersion)
	e.U8(uint8(r.Kind))
	for _, id := range [...]chain.ID{r.TxID, r.RewardTx, r.Subnet, r.Asset} {
		e.ID(id)
	}
	e.Fixed(r.Node[:])
	for _, v := range [...]uint64{r.Staked, r.Start, r.End, r.Amount, uint64(r.Ref.Index), r.Height, r.Time} {
		e.Uint(v)
	}
	e.Owners(&r.Owners)
	put := func(k primary.Key) {
		m.rows.Put(k.U64(r.Time).Place(primary.Place{Height: r.Height, Index: index}).U32(r.Ref.Index), e.B)
	}
	put(m.rows.Key(store.PlatformRewards).U8(listNode).Bytes(r.Node[:]))
	for _, a := range r.Owners.Addresses {
		put(m.rows.Key(store.PlatformRewards).U8(listAddress).Bytes(a[:]))
	}
	m.value = e.B
}

func decodeReward(b []byte) (*primary.Reward, error) {
	d := primary.NewDecoder(b)
	r := &primary.Reward{}
	if d.U8() != rewardVersion {
		return nil, fmt.Errorf("%w: reward", primary.ErrRow)
	}
	r.Kind = primary.RewardKind(d.U8())
	for _, id := range []*chain.ID{&r.TxID, &r.RewardTx, &r.Subnet, &r.Asset} {
		*id = d.ID()
	}
	r.Node = d.Node()
	r.Staked, r.Start, r.End, r.Amount = d.Uint(), d.Uint(), d.Uint(), d.Uint()
	r.Ref = utxo.Ref{TxID: r.TxID, Index: d.Uint32()}
	r.Height, r.Time = d.Uint(), d.Uint()
	r.Owners = d.Owners()
	return r, d.End("reward")
}
