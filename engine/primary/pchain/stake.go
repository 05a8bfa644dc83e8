package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// stakeOf returns the staker that a transaction adds, nil if it adds none, and its stake.
func stakeOf(tx *platform.Tx) (*staker, []utxo.Output) {
	t, ok := tx.Body.Staking()
	if !ok {
		return nil, nil
	}
	s := &staker{priority: pendingPriority(&t), permissioned: t.RewardsOwner == nil}
	s.TxID, s.Node, s.Start, s.End, s.Weight, s.Subnet = tx.ID, t.NodeID, t.Start, t.End, t.Weight, t.Subnet
	s.Delegator, s.Fee = t.Delegator, t.DelegationFee
	if t.Signer != nil {
		s.BLSKey, s.Proof = &t.Signer.PublicKey, &t.Signer.ProofOfPossession
	}
	if t.RewardsOwner != nil {
		s.RewardOwners = *t.RewardsOwner
	}
	if t.DelegationOwner != nil {
		s.DelegationOwners = *t.DelegationOwner
	}
	if r := t.Renewal; r != nil {
		s.Renewal = &primary.Renewal{Authority: r.Authority, Restaked: r.Restaked, Period: r.Period}
	}
	s.outputs, s.stakes = uint32(len(tx.Body.Funds().Outputs)), uint32(len(t.Stake))
	if len(t.Stake) > 0 {
		s.asset = t.Stake[0].Asset
	}
	return s, t.Stake
}

// addStaker has a staker wait for its time or, since Durango, begin at once.
func (m *machine) addStaker(s *staker, place primary.Place) error {
	s.place = place
	if s.Subnet == chain.PrimaryNetworkID && m.head.AVAX.IsZero() {
		m.head.AVAX = s.asset
	}
	if s.Renewal != nil {
		s.Renewal.Since, s.End = m.head.Time, m.head.Time+s.Renewal.Period
	}
	if m.head.Exact && s.End <= max(s.Start, m.head.Time) && m.head.Time < m.cfg.Upgrades.Durango || m.head.Exact && s.End <= m.head.Time {
		return fmt.Errorf("%w: staker until %d", ErrRefused, s.End)
	}
	if m.head.TimeKnown && m.head.Time >= m.cfg.Upgrades.Durango {
		s.Start = m.head.Time
		s.priority = whenCurrent[s.priority]
		return m.begin(s, primary.AnyStatus)
	}
	s.Status = primary.Pending
	if !s.Delegator {
		m.rows.Put(m.nodeKey(s.Subnet, s.Node, queuePending), s.TxID[:])
	} else if err := m.delegate(s); err != nil {
		return err
	}
	m.enqueue(queuePending, s.turn())
	return m.put(s, primary.AnyStatus)
}

// delegate looks for the validator of a delegator: the current one, or the one that
// will be.
func (m *machine) delegate(s *staker) error {
	v, err := m.validatorOf(s.Subnet, s.Node, queueCurrent)
	if err == nil && v == nil {
		v, err = m.validatorOf(s.Subnet, s.Node, queuePending)
	}
	switch {
	case err != nil:
		return err
	case v != nil:
		s.validator, s.Fee = v.TxID, v.Fee
	case m.head.Exact:
		return fmt.Errorf("%w: %s delegates to %s, which is no validator", ErrRefused, s.TxID, s.Node)
	default:
		s.validator, s.Estimated = chain.ID{}, true
	}
	return nil
}

// begin makes a staker current.
func (m *machine) begin(s *staker, before primary.StakerStatus) error {
	s.Status = primary.Active
	if s.Delegator {
		if err := m.delegate(s); err != nil {
			return err
		}
	}
	if !s.permissioned {
		if err := m.promise(s); err != nil {
			return err
		}
	}
	if s.Delegator {
		if err := m.delegated(s, true); err != nil {
			return err
		}
	} else {
		m.rows.Put(m.nodeKey(s.Subnet, s.Node, queueCurrent), s.TxID[:])
		if err := m.weigh(s, true); err != nil {
			return err
		}
	}
	m.enqueue(queueCurrent, s.turn())
	if err := m.put(s, before); err != nil {
		return err
	}
	return m.count(s.Subnet, s.Delegator, s.Weight, 1)
}

// promise computes what a staker will be rewarded and adds it to the supply.
func (m *machine) promise(s *staker) error {
	s.Estimated = true
	seconds := s.End - min(s.Start, s.End)
	if s.Subnet == chain.PrimaryNetworkID {
		if m.head.SupplyKnown {
			s.Gross = m.cfg.rewards(s.Start).Reward(seconds, s.Weight, m.head.Supply)
			m.head.Supply += s.Gross
		}
	} else {
		sub, err := m.subnet(s.Subnet)
		if err != nil {
			return err
		}
		switch {
		case sub != nil && sub.elastic:
			r := rules.Rewards{MinRate: sub.minRate, MaxRate: sub.maxRate, SupplyCap: sub.cap, Period: m.cfg.Params.Rewards.Period}
			s.Gross = r.Reward(seconds, s.Weight, sub.supply)
			sub.supply += s.Gross
			m.putSubnet(sub)
		case m.head.Exact:
			return fmt.Errorf("%w: stake of %s on subnet %s, which has none", ErrRefused, s.TxID, s.Subnet)
		}
	}
	s.Net = s.Gross
	if s.Delegator {
		_, s.Net = rules.Split(s.Gross, s.Fee)
	}
	return nil
}

// refuse takes what was promised off the supply.
func (m *machine) refuse(s *staker) error {
	if s.Subnet == chain.PrimaryNetworkID {
		m.head.Supply -= min(s.Gross, m.head.Supply)
		return nil
	}
	sub, err := m.subnet(s.Subnet)
	if err == nil && sub != nil && sub.elastic {
		sub.supply -= min(s.Gross, sub.supply)
		m.putSubnet(sub)
	}
	return err
}

// delegated counts a delegator of its validator, or no longer: its totals stay as they
// were at the end of the last one if ended only then.
func (m *machine) delegated(s *staker, begins bool) error {
	if s.validator.IsZero() {
		return nil
	}
	v, err := m.staker(s.validator)
	if err != nil || v == nil {
		return err
	}
	share, _ := rules.Split(s.Gross, v.Fee)
	if begins {
		v.Delegators++
		v.DelegatedWeight += s.Weight
		v.expected += share
	} else {
		v.Delegators -= min(1, v.Delegators)
		v.DelegatedWeight -= min(s.Weight, v.DelegatedWeight)
		v.expected -= min(share, v.expected)
	}
	if err := m.put(v, v.Status); err != nil || v.Status != primary.Active {
		return err // it is weighed when it begins
	}
	return m.weigh(v, true)
}

// leave takes a current staker away.
func (m *machine) leave(s *staker, status primary.StakerStatus, by chain.ID) error {
	m.dequeue(queueCurrent, s.turn())
	if err := m.count(s.Subnet, s.Delegator, s.Weight, fewer); err != nil {
		return err
	}
	if s.Delegator {
		if err := m.delegated(s, false); err != nil {
			return err
		}
	} else {
		m.rows.Delete(m.nodeKey(s.Subnet, s.Node, queueCurrent))
		if err := m.weigh(s, false); err != nil {
			return err
		}
	}
	s.Status, s.EndTx = status, by
	return m.put(s, primary.Active)
}

// advance moves the chain's time: who waits for it becomes current, validators of
// permissioned subnets leave at their end, and those of L1s pay.
func (m *machine) advance(to uint64) error {
	if m.head.TimeKnown && to < m.head.Time {
		return fmt.Errorf("%w: time goes back from %d to %d", ErrRefused, m.head.Time, to)
	}
	if m.head.Exact {
		for _, q := range []*queue{&m.pending, &m.current} {
			if t := q.first(); t != nil && t.at() < to {
				return fmt.Errorf("%w: time %d passes over the turn of %s at %d", ErrRefused, to, t.id(), t.at())
			}
		}
	}
	var leaving []turn // before others come
	for _, t := range m.current.list {
		if t.at() > to || t.priority() != permissionedCurrent {
			break
		}
		leaving = append(leaving, t)
	}
	for t := m.pending.first(); t != nil && t.at() <= to; t = m.pending.first() {
		s, err := m.mustStaker(t.id())
		if err != nil {
			return err
		}
		m.dequeue(queuePending, *t)
		if !s.Delegator {
			m.rows.Delete(m.nodeKey(s.Subnet, s.Node, queuePending))
		}
		s.priority = whenCurrent[s.priority]
		if err := m.begin(s, primary.Pending); err != nil {
			return err
		}
	}
	for _, t := range leaving {
		s, err := m.mustStaker(t.id())
		if err == nil {
			err = m.leave(s, primary.Completed, chain.ID{})
		}
		if err != nil {
			return err
		}
	}
	if to >= m.cfg.Upgrades.Etna && m.head.TimeKnown {
		if err := m.charge(to - m.head.Time); err != nil {
			return err
		}
	}
	m.head.Time, m.head.TimeKnown = to, true
	return nil
}

// mustStaker returns a staker that a queue names.
func (m *machine) mustStaker(id chain.ID) (*staker, error) {
	s, err := m.staker(id)
	if err == nil && s == nil {
		err = fmt.Errorf("%w: staker %s is missing", primary.ErrRow, id)
	}
	return s, err
}

// removeValidator executes a [platform.RemoveSubnetValidator].
func (m *machine) removeValidator(t *platform.RemoveSubnetValidator, by chain.ID) error {
	s, err := m.validatorOf(t.Subnet, t.NodeID, queueCurrent)
	if err != nil {
		return err
	}
	if s != nil {
		s.RemovedAt = m.time
		return m.leave(s, primary.Removed, by)
	}
	s, err = m.validatorOf(t.Subnet, t.NodeID, queuePending)
	switch {
	case err != nil:
		return err
	case s != nil:
		m.dequeue(queuePending, s.turn())
		m.rows.Delete(m.nodeKey(s.Subnet, s.Node, queuePending))
		s.Status, s.EndTx, s.RemovedAt = primary.Removed, by, m.time
		return m.put(s, primary.Pending)
	case m.head.Exact:
		return fmt.Errorf("%w: %s is no validator of %s", ErrRefused, t.NodeID, t.Subnet)
	}
	return nil
}
