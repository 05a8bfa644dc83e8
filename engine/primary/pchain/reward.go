package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// reward ends the time of a staker that does not renew itself.
func (m *machine) reward(x *execution, id chain.ID, aborted bool) error {
	s, err := m.turnOf(id, false)
	if err != nil || s == nil {
		return err
	}
	return m.end(&payment{x: x, s: s, next: utxo.Ref{TxID: s.TxID, Index: s.outputs + s.stakes}}, aborted)
}

// turnOf returns the active staker whose turn it is, nil if it is not known.
func (m *machine) turnOf(id chain.ID, renewed bool) (*staker, error) {
	next := m.current.first()
	if m.head.Exact && (next == nil || next.id() != id || next.at() != m.head.Time) {
		return nil, fmt.Errorf("%w: reward of %s, whose turn it is not", ErrRefused, id)
	}
	s, err := m.staker(id)
	if err != nil || s == nil { // of before what is known
		return nil, err
	}
	if s.Status == primary.Active && renewed == (s.Renewal != nil) {
		return s, nil
	}
	if m.head.Exact {
		return nil, fmt.Errorf("%w: reward of %s, which is not active, or has another kind of end", ErrRefused, id)
	}
	return nil, nil
}

// end ends the time of a staker: its stake returns, and unless the proposal was aborted
// what it earned is paid.
func (m *machine) end(pay *payment, aborted bool) (err error) {
	x, s := pay.x, pay.s
	for i := range s.stakes {
		if err := x.returnStake(utxo.Ref{TxID: s.TxID, Index: s.outputs + i}); err != nil {
			return err
		}
	}
	known := m.supplyKnown(s)
	if s.Delegator {
		err = m.rewardDelegator(pay, aborted, known && !s.validator.IsZero())
	} else {
		err = rewardValidator(pay, aborted, known)
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

// rewardValidator pays a validator that leaves. What its delegators left for it is paid in
// either case, and so is what it staked of the rewards of cycles before.
func rewardValidator(p *payment, aborted, known bool) error {
	reward, share := uint64(0), p.s.accrued
	if !aborted && known {
		reward = p.s.Gross
	}
	if r := p.s.Renewal; r != nil {
		reward, share = reward+r.Rewards, share+r.Shares
		if err := p.x.m.rewarded(p.s.asset, -(r.Rewards + r.Shares)); err != nil { // they were when they were staked
			return err
		}
	}
	if err := p.pay(primary.ValidatorReward, reward, &p.s.RewardOwners); err != nil {
		return err
	}
	return p.pay(primary.ValidatorFee, share, &p.s.DelegationOwners)
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
	if err := p.pay(primary.DelegatorReward, own, &p.s.RewardOwners); err != nil || share == 0 {
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
	return p.pay(primary.ValidatorFee, share, &v.DelegationOwners)
}

// payment makes the outputs of a reward, one behind the other.
type payment struct {
	x    *execution
	s    *staker
	next utxo.Ref
}

// pay makes an output, unless there is nothing to pay.
func (p *payment) pay(kind primary.RewardKind, amount uint64, to *utxo.Owners) error {
	if amount == 0 {
		return nil
	}
	of, ref := p.s, p.next
	p.next.Index++
	out := utxo.Output{Asset: of.asset, State: utxo.State{Kind: utxo.TransferOutput, Amount: amount, Owners: *to}}
	u := &primary.Output{UTXO: utxo.UTXO{Ref: ref, Output: out}, Reward: true}
	if err := p.x.make(u); err != nil {
		return err
	}
	p.x.row.Made = append(p.x.row.Made, ref.ID())
	if err := p.x.m.rewarded(of.asset, amount); err != nil {
		return err
	}
	p.x.m.putReward(&primary.Reward{
		Kind: kind, Owners: *to, TxID: of.TxID, RewardTx: p.x.tx.ID, Node: of.Node, Subnet: of.Subnet, Staked: of.Weight,
		Start: of.Start, End: of.End, Asset: of.asset, Amount: amount, Ref: ref, Height: p.x.row.Height, Time: p.x.row.Time,
	}, p.x.row.Index)
	return nil
}

// rewarded counts what was paid or staked as a reward, in the arithmetic of 64 bits.
func (m *machine) rewarded(asset chain.ID, amount uint64) error {
	return m.rows.Add(m.rows.Key(store.PlatformRewarded).ID(asset), amount)
}

// The reward codec, version 2: the output is one of the transaction that paid if the last
// byte is 1, otherwise, as all are of version 1, of the one that staked.
const (
	rewardVersion  = 2
	rewardVersion1 = 1
)

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
	e.Bool(r.Ref.TxID == r.RewardTx)
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
	version := d.U8()
	if version != rewardVersion && version != rewardVersion1 {
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
	if version == rewardVersion && d.Bool() {
		r.Ref.TxID = r.RewardTx
	}
	return r, d.End("reward")
}
