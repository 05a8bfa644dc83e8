package pchain

import (
	"fmt"
	"math/bits"

	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// configure notes how a validator is to renew itself.
func (m *machine) configure(t *platform.SetAutoRenewedValidatorConfig) error {
	s, err := m.staker(t.TxID)
	switch {
	case err != nil:
		return err
	case s != nil && s.Renewal != nil && s.Status == primary.Active:
		s.Renewal.Restaked, s.Renewal.Period = t.Restaked, t.Period
		return m.put(s, s.Status)
	case m.head.Exact:
		return fmt.Errorf("%w: %s is no validator that renews itself", ErrRefused, t.TxID)
	}
	return nil
}

// endCycle ends a cycle of a validator that renews itself. It goes on unless it was to
// stop or the proposal was aborted. What is paid are outputs of the transaction that ends
// the cycle: the one that staked has none but its own.
func (m *machine) endCycle(x *execution, t *platform.RewardAutoRenewedValidator, aborted bool) error {
	if m.head.Exact && t.Time != m.head.Time {
		return fmt.Errorf("%w: a cycle until %d ends at %d", ErrRefused, t.Time, m.head.Time)
	}
	s, err := m.turnOf(t.TxID, true)
	if err != nil || s == nil {
		return err
	}
	pay := payment{x: x, s: s, next: utxo.Ref{TxID: x.tx.ID}}
	if aborted || s.Renewal.Period == 0 {
		return m.end(&pay, aborted)
	}
	return m.renew(&pay)
}

// renew pays what is not restaked of the rewards of a cycle and begins the next one.
func (m *machine) renew(pay *payment) error {
	s, r := pay.s, pay.s.Renewal
	reward, share := uint64(0), uint64(0)
	if m.supplyKnown(s) {
		reward, share = restaked(s, m.cfg.Params.MaxStake)
		if err := pay.pay(primary.ValidatorReward, s.Gross-reward, &s.RewardOwners); err != nil {
			return err
		}
	}
	if err := pay.pay(primary.ValidatorFee, s.accrued-share, &s.DelegationOwners); err != nil {
		return err
	}
	if err := m.putEnds(s, false); err != nil {
		return err
	}
	m.dequeue(queueCurrent, s.turn())
	if err := m.count(s.Subnet, false, s.Weight, fewer); err != nil {
		return err
	}
	if err := m.rewarded(s.asset, reward+share); err != nil {
		return err
	}
	r.Rewards, r.Shares, s.accrued = r.Rewards+reward, r.Shares+share, 0
	s.Weight += reward + share
	s.Start, s.End = s.End, s.End+r.Period
	if err := m.promise(s); err != nil {
		return err
	}
	if err := m.count(s.Subnet, false, s.Weight, 1); err != nil {
		return err
	}
	m.enqueue(queueCurrent, s.turn())
	if err := m.weigh(s, true); err != nil {
		return err
	}
	if err := m.putEnds(s, true); err != nil {
		return err
	}
	return m.put(s, s.Status)
}

// restaked returns what a validator stakes of the rewards of its cycle: its own and its
// share of those of its delegators. If its weight would exceed the most, what room there
// is is divided between them.
func restaked(s *staker, most uint64) (reward, share uint64) {
	reward, _ = rules.Split(s.Gross, s.Renewal.Restaked)
	share, _ = rules.Split(s.accrued, s.Renewal.Restaked)
	room := most - min(s.Weight, most)
	if all := reward + share; all > room {
		high, low := bits.Mul64(reward, room)
		reward, _ = bits.Div64(high, low, all)
		share = room - reward
	}
	return reward, share
}
