package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/api"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm/reward"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// The states of a staker.
const (
	active    = "active"
	completed = "completed"
	removed   = "removed"
)

// A Staker is a validation or delegation with an end.
type Staker struct {
	tx                  *Tx
	Subnet              ids.ID
	Node                ids.NodeID
	Status              string
	Start, End, Weight  uint64
	delegator           bool
	validator           *Staker // of a delegator
	proof               *signer.ProofOfPossession
	owner, share        *secp256k1fx.OutputOwners
	fee                 uint32
	gross, net, accrued uint64
	stake               []*Output
	ended               *Tx
}

func (s *Staker) permissioned() bool { return s.owner == nil }

// A Reward is one that was paid.
type Reward struct {
	kind   string
	of     *Staker
	output *Output
	by     *Tx
}

// stake begins a stake; the outputs that are staked have indexes from next on.
func (p *platform) stake(tx *Tx, t txs.StakerTx, next int, raw *txs.Tx) {
	s := &Staker{
		tx: tx, Subnet: t.SubnetID(), Node: t.NodeID(), Status: active, Start: p.now, End: uint64(t.EndTime().Unix()), Weight: t.Weight(),
	}
	if scheduled, ok := t.(txs.ScheduledStaker); ok && tx.height == 0 {
		s.Start = uint64(scheduled.StartTime().Unix())
	}
	p.stakers[tx.ID] = s
	p.stakes = append(p.stakes, s)
	staker, ok := t.(txs.PermissionlessStaker)
	if !ok {
		return
	}
	p.P.makeAll(tx, next, staker.Stake(), func(u *Output) {
		u.Staked = true
		s.stake = append(s.stake, u)
	})
	switch t := t.(type) {
	case txs.ValidatorTx:
		s.owner = t.ValidationRewardsOwner().(*secp256k1fx.OutputOwners)
		s.share = t.DelegationRewardsOwner().(*secp256k1fx.OutputOwners)
		s.fee = t.Shares()
		if add, ok := raw.Unsigned.(*txs.AddPermissionlessValidatorTx); ok {
			s.proof, _ = add.Signer.(*signer.ProofOfPossession)
		}
	case txs.DelegatorTx:
		s.owner, s.delegator = t.RewardsOwner().(*secp256k1fx.OutputOwners), true
		for _, v := range p.stakes {
			if v.Node == s.Node && v.Subnet == s.Subnet && v.Status == active && !v.delegator {
				s.validator, s.fee = v, v.fee
			}
		}
	}
	s.gross = p.rewards.Calculate(time.Duration(s.End-s.Start)*time.Second, s.Weight, p.supply)
	p.supply += s.gross
	s.net = s.gross
	if s.delegator {
		_, s.net = reward.Split(s.gross, s.fee)
	}
}

// reward ends a stake. What was paid is what the node says.
func (p *platform) reward(ctx context.Context, tx *Tx, t *txs.RewardValidatorTx, aborted bool) error {
	s := p.stakers[t.TxID]
	if s == nil || s.Status != active || s.End != p.now {
		return fmt.Errorf("the end of %s, which is not due: %+v", t.TxID, s)
	}
	s.Status, s.ended = completed, tx
	for _, u := range s.stake {
		u.Staked = false
		tx.Emitted = append(tx.Emitted, u)
	}
	raw, err := p.pClient.GetRewardUTXOs(ctx, &api.GetTxArgs{TxID: s.tx.ID})
	if err != nil {
		return err
	}
	var paid uint64
	for _, b := range raw {
		u := new(Output)
		if _, err := txs.Codec.Unmarshal(b, &u.UTXO); err != nil {
			return err
		}
		p.P.make(tx, u)
		paid += amountOf(u)
		kind := "VALIDATOR"
		switch {
		case s.delegator:
			kind = "DELEGATOR"
		case aborted || len(p.paid[s.tx.ID]) > 0:
			kind = "VALIDATOR_FEE"
		}
		p.paid[s.tx.ID] = append(p.paid[s.tx.ID], &Reward{kind, s, u, tx})
		p.paidAll = append(p.paidAll, p.paid[s.tx.ID][len(p.paid[s.tx.ID])-1])
	}
	if aborted {
		p.supply -= s.gross
		if !s.delegator {
			paid -= s.accrued // what its delegators left for it is paid in either case
		}
		s.gross, s.net = 0, 0
	} else if s.delegator {
		s.validator.accrued += s.gross - s.net
	}
	want := s.net
	if !s.delegator && !aborted {
		want += s.accrued
	}
	if paid != want {
		return fmt.Errorf("the end of %s pays %d, not %d", s.tx.ID, paid, want)
	}
	return nil
}

func amountOf(u *Output) uint64 {
	if out, ok := u.Out.(avax.Amounter); ok {
		return out.Amount()
	}
	return 0
}

// delegators returns those of a validator that are active.
func (p *platform) delegators(v *Staker) (count, weight uint64) {
	for _, s := range p.stakes {
		if s.validator == v && s.Status == active {
			count++
			weight += s.Weight
		}
	}
	return count, weight
}

// expected returns the validator's share of what its delegators will get.
func (p *platform) expected(v *Staker) (share uint64) {
	for _, s := range p.stakes {
		if s.validator == v && s.Status == active {
			share += s.gross - s.net
		}
	}
	return share
}

// totals returns the sums over the primary network.
func (p *platform) totals(subnet ids.ID) (validators, staked, delegators, delegated uint64) {
	for _, s := range p.stakes {
		switch {
		case s.Subnet != subnet || s.Status != active:
		case s.delegator:
			delegators++
			delegated += s.Weight
		default:
			validators++
			staked += s.Weight
		}
	}
	return validators, staked, delegators, delegated
}

var primaryNetwork = constants.PrimaryNetworkID

// Rewarded counts what the ends of stakes were paid, by kind, and those that were
// refused.
func (l *Ledger) Rewarded() map[string]int {
	kinds := map[string]int{}
	for _, r := range l.paidAll {
		kinds[r.kind]++
	}
	for _, s := range l.stakes {
		if s.ended != nil && s.gross == 0 && !s.permissioned() {
			kinds["refused"]++
		}
	}
	return kinds
}
