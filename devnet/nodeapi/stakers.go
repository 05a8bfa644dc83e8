package nodeapi

import (
	"bytes"
	"fmt"
	"slices"

	"quorate/devnet/primary"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

type apiStaker struct {
	TxID      chainID `json:"txID"`
	StartTime number  `json:"startTime"`
	EndTime   number  `json:"endTime"`
	Weight    number  `json:"weight"`
	NodeID    nodeID  `json:"nodeID"`
}

type apiDelegator struct {
	apiStaker
	RewardOwner     *owner `json:"rewardOwner,omitempty"`
	PotentialReward number `json:"potentialReward"`
}

type apiValidator struct {
	apiStaker
	ValidationRewardOwner  owner   `json:"validationRewardOwner"`
	DelegationRewardOwner  owner   `json:"delegationRewardOwner"`
	PotentialReward        number  `json:"potentialReward"`
	AccruedDelegateeReward number  `json:"accruedDelegateeReward"`
	DelegationFee          percent `json:"delegationFee"`
	// Uptime and Connected are absent on subnets.
	Uptime    *percent `json:"uptime,omitempty"`
	Connected *bool    `json:"connected,omitempty"`
	// Signer is absent when the validator has no key.
	Signer *proofOfPossession `json:"signer,omitempty"`
	*autoRenewed
	DelegatorCount  number `json:"delegatorCount"`
	DelegatorWeight number `json:"delegatorWeight"`
	// Delegators are there when one node was asked for.
	Delegators *[]apiDelegator `json:"delegators,omitempty"`
}

// autoRenewed is what an auto-renewed validator has besides.
type autoRenewed struct {
	ValidatorAuthority       owner  `json:"validatorAuthority"`
	NextPeriod               number `json:"nextPeriod"`
	AutoCompoundRewardShares number `json:"autoCompoundRewardShares"`
}

func stakerOf(x *primary.Staker) apiStaker {
	return apiStaker{chainID(x.TxID), number(x.Start), number(x.End), number(x.Weight), nodeID(x.NodeID)}
}

// currentValidators lists those of the primary network, of a subnet or of an L1.
func (p *primaryAPI) currentValidators(args currentArgs) (any, error) {
	id := chain.ID(args.SubnetID)
	return p.read(func(s *primary.State) (any, error) {
		reply := currentReply{Validators: []any{}}
		if subnet := s.Subnets[id]; subnet != nil && subnet.Conversion != nil {
			for _, v := range l1Validators(s, id) {
				if wanted(args.NodeIDs, v.NodeID) {
					reply.Validators = append(reply.Validators, toL1(s, v))
				}
			}
			return reply, nil
		}
		delegators := make(map[chain.NodeID][]apiDelegator)
		alone := len(args.NodeIDs) == 1
		var validators []*primary.Staker
		for _, x := range s.CurrentStakers() {
			switch {
			case x.Subnet != id || !wanted(args.NodeIDs, x.NodeID):
			case x.Delegator:
				delegators[x.NodeID] = append(delegators[x.NodeID], delegatorOf(x, alone))
			default:
				validators = append(validators, x)
			}
		}
		slices.SortStableFunc(validators, func(a, b *primary.Staker) int { return int(int64(a.End) - int64(b.End)) })
		for _, x := range validators {
			if x.Permissioned {
				reply.Validators = append(reply.Validators, stakerOf(x))
				continue
			}
			reply.Validators = append(reply.Validators, p.validatorOf(x, delegators[x.NodeID], alone))
		}
		return reply, nil
	})
}

func wanted(list []nodeID, id chain.NodeID) bool {
	return len(list) == 0 || slices.Contains(list, nodeID(id))
}

func delegatorOf(x *primary.Staker, alone bool) apiDelegator {
	d := apiDelegator{apiStaker: stakerOf(x), PotentialReward: number(x.Potential)}
	if alone {
		own, _ := primary.RewardOwners(x.Tx)
		o := pAlias.owner(own)
		d.RewardOwner = &o
	}
	return d
}

func (p *primaryAPI) validatorOf(x *primary.Staker, delegators []apiDelegator, alone bool) apiValidator {
	own, fees := primary.RewardOwners(x.Tx)
	v := apiValidator{
		apiStaker: stakerOf(x), ValidationRewardOwner: pAlias.owner(own), DelegationRewardOwner: pAlias.owner(fees),
		PotentialReward: number(x.Potential), AccruedDelegateeReward: number(x.DelegateeReward),
		DelegationFee: percent(float64(x.Fee) / 10_000), DelegatorCount: number(len(delegators)),
	}
	for _, d := range delegators {
		v.DelegatorWeight += d.Weight
	}
	if x.Subnet == chain.PrimaryNetworkID {
		uptime, connected := percent(neverOnline), false
		if node, ok := p.world.Validator(x.NodeID); ok {
			uptime, connected = uptimeOf(node.Index), node.Index == 0 || p.live.Online(node.Index)
		}
		v.Uptime, v.Connected = &uptime, &connected
	}
	if x.Signer != nil {
		v.Signer = &proofOfPossession{PublicKey: x.Signer.PublicKey[:], Proof: x.Signer.ProofOfPossession[:]}
	}
	if r := x.Renewal; r != nil {
		v.autoRenewed = &autoRenewed{pAlias.owner(r.Authority), number(r.Period), number(r.Restaked)}
	}
	if alone {
		if delegators == nil {
			delegators = []apiDelegator{}
		}
		v.Delegators = &delegators
	}
	return v
}

// neverOnline is the uptime of stakers that have no validator in the network.
const neverOnline = 61.25

// uptimeOf returns for which part of its time a validator was online: the answering node
// always, and others all but up to 1.5 per cent of it.
func uptimeOf(index int) percent { return 100 - percent(index%4)/2 }

// l1Validators are those of an L1, in order of their IDs.
func l1Validators(s *primary.State, subnet chain.ID) (list []*primary.L1Validator) {
	for _, v := range s.L1Validators {
		if v.Subnet == subnet && v.Weight > 0 {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *primary.L1Validator) int { return bytes.Compare(a.ValidationID[:], b.ValidationID[:]) })
	return list
}

func toL1(s *primary.State, v *primary.L1Validator) l1Validator {
	o := func(o platform.L1Owner) owner {
		return pAlias.owner(utxo.Owners{Threshold: o.Threshold, Addresses: o.Addresses})
	}
	return l1Validator{
		NodeID: nodeID(v.NodeID), Weight: number(v.Weight), StartTime: number(v.Start), ValidationID: chainID(v.ValidationID),
		PublicKey: v.PublicKey[:], RemainingBalanceOwner: o(v.Remaining), DeactivationOwner: o(v.Deactivation),
		MinNonce: number(v.MinNonce), Balance: number(v.Balance(s.Accrued)),
	}
}

func (p *primaryAPI) l1Validator(args struct {
	ValidationID chainID `json:"validationID"`
}) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		v := s.L1Validators[chain.ID(args.ValidationID)]
		if v == nil || v.Weight == 0 {
			return nil, fmt.Errorf("fetching L1 validator %q failed: %w", chain.ID(args.ValidationID), errNotFound)
		}
		return struct {
			l1Validator
			SubnetID chainID `json:"subnetID"`
			Height   number  `json:"height"`
		}{toL1(s, v), chainID(v.Subnet), number(s.Height)}, nil
	})
}
