package nodeapi

import (
	"fmt"
	"slices"

	"github.com/goccy/go-json"

	"quorate/devnet/world"
	"quorate/engine/chain"
)

type warpValidator struct {
	PublicKey hexBytes `json:"publicKey"`
	Weight    number   `json:"weight"`
	NodeIDs   []nodeID `json:"nodeIDs"`
}

type warpSet struct {
	Validators  []warpValidator `json:"validators"`
	TotalWeight number          `json:"totalWeight"`
}

type setMember struct {
	PublicKey hexBytes `json:"publicKey"`
	Weight    number   `json:"weight"`
}

type owner struct {
	Locktime  number   `json:"locktime"`
	Threshold number   `json:"threshold"`
	Addresses []string `json:"addresses"`
}

type primaryValidator struct {
	TxID                   chainID `json:"txID"`
	StartTime              number  `json:"startTime"`
	EndTime                number  `json:"endTime"`
	Weight                 number  `json:"weight"`
	NodeID                 nodeID  `json:"nodeID"`
	ValidationRewardOwner  owner   `json:"validationRewardOwner"`
	DelegationRewardOwner  owner   `json:"delegationRewardOwner"`
	PotentialReward        number  `json:"potentialReward"`
	AccruedDelegateeReward number  `json:"accruedDelegateeReward"`
	DelegationFee          percent `json:"delegationFee"`
	Uptime                 percent `json:"uptime"`
	Connected              bool    `json:"connected"`
	// Signer is absent when the validator has no key.
	Signer          *proofOfPossession `json:"signer,omitempty"`
	DelegatorCount  number             `json:"delegatorCount"`
	DelegatorWeight number             `json:"delegatorWeight"`
	Delegators      *[]none            `json:"delegators,omitempty"`
}

type l1Validator struct {
	NodeID                nodeID   `json:"nodeID"`
	Weight                number   `json:"weight"`
	StartTime             number   `json:"startTime"`
	ValidationID          chainID  `json:"validationID"`
	PublicKey             hexBytes `json:"publicKey"`
	RemainingBalanceOwner owner    `json:"remainingBalanceOwner"`
	DeactivationOwner     owner    `json:"deactivationOwner"`
	MinNonce              number   `json:"minNonce"`
	Balance               number   `json:"balance"`
}

type currentArgs struct {
	SubnetID chainID  `json:"subnetID"`
	NodeIDs  []nodeID `json:"nodeIDs"`
}

type currentReply struct {
	Validators []any `json:"validators"`
}

// getAllValidatorsAt returns the sets in canonical order. Every poller asks for
// the same few heights, so the encoded answers are kept.
func (s *Server) getAllValidatorsAt(args setArgs) (any, error) {
	snapshot, err := s.at(args.Height, "validator sets", "")
	if err != nil {
		return nil, err
	}
	s.setsMu.Lock()
	defer s.setsMu.Unlock()
	if kept, ok := s.sets[snapshot.Height]; ok {
		return json.RawMessage(kept), nil
	}
	sets := make(map[chainID]warpSet, len(snapshot.Sets))
	for subnet, members := range snapshot.Sets {
		sets[chainID(subnet)] = canonical(members)
	}
	body, err := json.Marshal(struct {
		ValidatorSets map[chainID]warpSet `json:"validatorSets"`
	}{sets})
	if err != nil {
		return nil, fmt.Errorf("encoding validator sets: %w", err)
	}
	if len(s.sets) >= maxCachedSets {
		clear(s.sets)
	}
	s.sets[snapshot.Height] = body
	return json.RawMessage(body), nil
}

// canonical returns a set in canonical order as its members are: nodes that share
// a key are one entry, and what has no key counts in the total only.
func canonical(members []world.Member) warpSet {
	set := warpSet{Validators: make([]warpValidator, 0, len(members))}
	for i, m := range members {
		set.TotalWeight += number(m.Weight)
		if m.NoKey {
			continue
		}
		if i > 0 && members[i-1].PublicKey == m.PublicKey {
			last := &set.Validators[len(set.Validators)-1]
			last.Weight += number(m.Weight)
			last.NodeIDs = append(last.NodeIDs, nodeID(m.NodeID))
			continue
		}
		set.Validators = append(set.Validators, warpValidator{
			PublicKey: m.PublicKey[:], Weight: number(m.Weight), NodeIDs: []nodeID{nodeID(m.NodeID)},
		})
	}
	return set
}

func (s *Server) getValidatorsAt(args setArgs) (any, error) {
	subnet := chain.ID(args.SubnetID)
	snapshot, err := s.at(args.Height, "validator set", " with SubnetID = "+subnet.String())
	if err != nil {
		return nil, err
	}
	members := snapshot.Sets[subnet]
	reply := make(map[nodeID]setMember, len(members))
	for _, m := range members {
		v := setMember{Weight: number(m.Weight)}
		if !m.NoKey {
			v.PublicKey = m.PublicKey[:]
		}
		reply[nodeID(m.NodeID)] = v
	}
	return reply, nil
}

func (s *Server) getCurrentValidators(args currentArgs) (any, error) {
	wanted := func(id chain.NodeID) bool {
		return len(args.NodeIDs) == 0 || slices.Contains(args.NodeIDs, nodeID(id))
	}
	reply := currentReply{Validators: []any{}}
	if l, ok := s.world.L1(chain.ID(args.SubnetID)); ok {
		if !s.world.Converted(l) {
			return reply, nil
		}
		for _, m := range l.Members {
			if wanted(m.NodeID) {
				reply.Validators = append(reply.Validators, s.toL1Validator(m))
			}
		}
		return reply, nil
	}
	snapshot, err := s.at(proposed, "validators", "")
	if err != nil {
		return nil, err
	}
	members := slices.Clone(snapshot.Sets[chain.ID(args.SubnetID)])
	slices.SortFunc(members, func(a, b world.Member) int { return a.Index - b.Index })
	for _, m := range members {
		if wanted(m.NodeID) {
			reply.Validators = append(reply.Validators, s.toPrimary(m, len(args.NodeIDs) == 1))
		}
	}
	return reply, nil
}

// toPrimary describes a validator; delegators, of which there are none, are
// listed only when it is the only one asked for.
func (s *Server) toPrimary(m world.Member, alone bool) primaryValidator {
	rewards := owner{Threshold: 1, Addresses: []string{m.RewardAddress}}
	v := primaryValidator{
		TxID: chainID(m.TxID), StartTime: number(s.world.GenesisTime().Unix()), // a fixed time
		EndTime: number(s.world.StakeEnd().Unix()), // a fixed time
		Weight:  number(m.Weight), NodeID: nodeID(m.NodeID),
		ValidationRewardOwner: rewards, DelegationRewardOwner: rewards, DelegationFee: 2,
		Connected: m.Index == 0 || s.live.Online(m.Index), Uptime: uptimeOf(m.Index),
	}
	if !m.NoKey {
		proof := proofOf(m.Validator)
		v.Signer = &proof
	}
	if alone {
		v.Delegators = &[]none{}
	}
	return v
}

func (s *Server) toL1Validator(m world.L1Validator) l1Validator {
	funds := owner{Threshold: 1, Addresses: []string{m.RewardAddress}}
	return l1Validator{
		NodeID: nodeID(m.NodeID), Weight: number(m.L1Weight), StartTime: number(s.world.GenesisTime().Unix()), // a fixed time
		ValidationID: chainID(m.ValidationID), PublicKey: m.PublicKey[:],
		RemainingBalanceOwner: funds, DeactivationOwner: funds,
		MinNonce: number(m.MinNonce), Balance: number(m.Balance),
	}
}

func (s *Server) getL1Validator(args struct {
	ValidationID chainID `json:"validationID"`
}) (any, error) {
	id := chain.ID(args.ValidationID)
	for _, l := range s.world.L1s() {
		for _, m := range l.Members {
			if m.ValidationID == id && s.world.Converted(l) {
				return struct {
					l1Validator
					SubnetID chainID `json:"subnetID"`
					Height   number  `json:"height"`
				}{s.toL1Validator(m), chainID(l.SubnetID), number(s.world.Height())}, nil
			}
		}
	}
	return nil, fmt.Errorf("fetching L1 validator %q failed: %w", id, errNotFound)
}
