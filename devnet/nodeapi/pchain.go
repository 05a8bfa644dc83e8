package nodeapi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/devnet/primary"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

const pAlias alias = "P"

// platformMethods are those of the P-Chain that are answered from its blocks.
func (p *primaryAPI) platformMethods() map[string]method {
	return map[string]method{
		"getHeight":         call(p.height),
		"getProposedHeight": call(p.height),
		"getBlockByHeight": call(func(args blockArgs) (any, error) {
			return p.byHeight(p.c.First(), p.c.Platform(), futureP, uint64(args.Height), args.Encoding)
		}),
		"getBlock": call(func(args blockIDArgs) (any, error) {
			return p.byID(chain.PlatformChainID, p.c.First(), p.c.Platform(), args)
		}),
		"getTx":                 call(p.platformTx),
		"getTxStatus":           call(p.platformTxStatus),
		"getUTXOs":              call(func(args getUTXOsArgs) (any, error) { return p.getUTXOs(pAlias, args) }),
		"getBalance":            call(p.platformBalance),
		"getRewardUTXOs":        call(p.rewardUTXOs),
		"getStake":              call(p.stake),
		"getTotalStake":         call(p.totalStake),
		"getMinStake":           call(p.minStake),
		"getCurrentSupply":      call(p.supply),
		"getTimestamp":          call(p.timestamp),
		"getStakingAssetID":     call(p.stakingAsset),
		"getCurrentValidators":  call(p.currentValidators),
		"getL1Validator":        call(p.l1Validator),
		"getSubnet":             call(p.subnet),
		"getSubnets":            call(p.subnets),
		"getBlockchains":        call(p.blockchains),
		"getBlockchainStatus":   call(p.blockchainStatus),
		"validates":             call(p.validates),
		"validatedBy":           call(p.validatedBy),
		"getValidatorFeeConfig": call(p.feeConfig),
		"getValidatorFeeState":  call(p.feeState),
	}
}

// read calls f with the P-Chain's state and returns what it returns.
func (p *primaryAPI) read(f func(*primary.State) (any, error)) (reply any, err error) {
	p.c.Read(func(s *primary.State) { reply, err = f(s) })
	return reply, err
}

func (p *primaryAPI) height(none) (any, error) {
	return heightReply{number(len(p.seen(p.c.Platform())))}, nil
}

func (p *primaryAPI) platformTx(args txArgs) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		r := s.Txs[chain.ID(args.TxID)]
		switch {
		case r == nil:
			return nil, fmt.Errorf("couldn't get tx: %w", errNotFound)
		case args.Encoding != encodingJSON:
			return args.Encoding.tx(r)
		}
		j, err := toJSON(r.Tx)
		if err != nil {
			return nil, err
		}
		return txReply{Tx: j, Encoding: encodingJSON}, nil
	})
}

func (p *primaryAPI) platformTxStatus(args txArgs) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		status := "Unknown"
		if r := s.Txs[chain.ID(args.TxID)]; r != nil {
			if status = "Committed"; r.Aborted {
				status = "Aborted"
			}
		}
		return struct {
			Status string `json:"status"`
		}{status}, nil
	})
}

type platformBalance struct {
	Balance             number             `json:"balance"`
	Unlocked            number             `json:"unlocked"`
	LockedStakeable     number             `json:"lockedStakeable"`
	LockedNotStakeable  number             `json:"lockedNotStakeable"`
	Balances            map[chainID]number `json:"balances"`
	Unlockeds           map[chainID]number `json:"unlockeds"`
	LockedStakeables    map[chainID]number `json:"lockedStakeables"`
	LockedNotStakeables map[chainID]number `json:"lockedNotStakeables"`
	UTXOIDs             []utxoRef          `json:"utxoIDs"`
}

func (p *primaryAPI) platformBalance(args utxosArgs) (any, error) {
	addrs, err := p.addresses(pAlias, args.Addresses)
	if err != nil {
		return nil, err
	}
	r := platformBalance{
		Balances: map[chainID]number{}, Unlockeds: map[chainID]number{}, LockedStakeables: map[chainID]number{},
		LockedNotStakeables: map[chainID]number{},
	}
	return p.read(func(s *primary.State) (any, error) {
		for _, u := range s.UTXOs {
			if !slices.ContainsFunc(addrs, func(a address.Address) bool { return slices.Contains(u.Addresses, a) }) {
				continue
			}
			of := r.Unlockeds
			if u.StakeLock > s.Time {
				of = r.LockedStakeables
			}
			of[chainID(u.Asset)] += number(u.Amount)
			r.Balances[chainID(u.Asset)] += number(u.Amount)
			r.UTXOIDs = append(r.UTXOIDs, utxoRef{chainID(u.TxID), u.Index})
		}
		avax := chainID(p.world.AssetID())
		r.Balance, r.Unlocked, r.LockedStakeable = r.Balances[avax], r.Unlockeds[avax], r.LockedStakeables[avax]
		return r, nil
	})
}

func (p *primaryAPI) rewardUTXOs(args txArgs) (any, error) {
	e := args.Encoding.orHex()
	reply := getUTXOsReply{UTXOs: []hexBytes{}, Encoding: e}
	return p.read(func(s *primary.State) (any, error) {
		for _, r := range rewardsBy(s, chain.ID(args.TxID)) {
			if r.TxID != chain.ID(args.TxID) { // of another cycle
				continue
			}
			raw, err := r.Bytes(true)
			if err != nil {
				return nil, err
			}
			reply.UTXOs = append(reply.UTXOs, e.text(raw))
		}
		reply.NumFetched = number(len(reply.UTXOs))
		return reply, nil
	})
}

// rewardsBy returns the rewards of the staker that a transaction added, or of which it
// ended a cycle.
func rewardsBy(s *primary.State, id chain.ID) []primary.Reward {
	if r := s.Txs[id]; r != nil {
		if end, ok := r.Body.(*platform.RewardAutoRenewedValidator); ok {
			id = end.TxID
		}
	}
	if x := s.Stakers[id]; x != nil {
		return x.Rewards
	}
	return nil
}

type stakeArgs struct {
	Addresses      []string `json:"addresses"`
	ValidatorsOnly bool     `json:"validatorsOnly"`
	Encoding       encoding `json:"encoding"`
}

// stake adds up what addresses have staked.
func (p *primaryAPI) stake(args stakeArgs) (any, error) {
	addrs, err := p.addresses(pAlias, args.Addresses)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Staked   number             `json:"staked"`
		Stakeds  map[chainID]number `json:"stakeds"`
		Outputs  []hexBytes         `json:"stakedOutputs"`
		Encoding encoding           `json:"encoding"`
	}
	reply.Stakeds, reply.Outputs, reply.Encoding = map[chainID]number{}, []hexBytes{}, args.Encoding.orHex()
	return p.read(func(s *primary.State) (any, error) {
		for _, x := range slices.Concat(s.CurrentStakers(), s.PendingStakers()) {
			for _, o := range primary.Stake(x.Tx) {
				if args.ValidatorsOnly && x.Delegator || !slices.ContainsFunc(addrs, func(a address.Address) bool { return slices.Contains(o.Addresses, a) }) {
					continue
				}
				reply.Stakeds[chainID(o.Asset)] += number(o.Amount)
				raw, err := outputBytes(o)
				if err != nil {
					return nil, err
				}
				reply.Outputs = append(reply.Outputs, reply.Encoding.text(raw))
			}
		}
		reply.Staked = reply.Stakeds[chainID(p.world.AssetID())]
		return reply, nil
	})
}

// outputBytes returns an output of a transaction as it stands in one, with a version.
func outputBytes(o utxo.Output) ([]byte, error) {
	// A UTXO is the output behind its reference.
	raw, err := (&utxo.UTXO{Output: o}).Bytes(true)
	if err != nil {
		return nil, err
	}
	return append(raw[:2:2], raw[2+utxo.MinRef:]...), nil
}

func (p *primaryAPI) totalStake(args subnetArgs) (any, error) {
	snapshot, err := p.at(proposed, "validators", "")
	if err != nil {
		return nil, err
	}
	sum := number(0)
	for _, m := range snapshot.Sets[chain.ID(args.SubnetID)] {
		sum += number(m.Weight)
	}
	return struct {
		Stake  number `json:"stake"`
		Weight number `json:"weight"`
	}{sum, sum}, nil
}

// transformation returns that of a subnet, or a node's error.
func transformation(s *primary.State, id chain.ID) (*platform.TransformSubnet, error) {
	if subnet := s.Subnets[id]; subnet != nil && subnet.Transform != nil {
		return subnet.Transform.Body.(*platform.TransformSubnet), nil
	}
	return nil, fmt.Errorf("failed fetching subnet transformation for %s: %w", id, errNotFound)
}

func (p *primaryAPI) minStake(args subnetArgs) (any, error) {
	type reply struct {
		Validator number `json:"minValidatorStake"`
		Delegator number `json:"minDelegatorStake"`
	}
	if chain.ID(args.SubnetID) == chain.PrimaryNetworkID {
		return reply{primary.MinValidatorStake, primary.MinDelegatorStake}, nil
	}
	return p.read(func(s *primary.State) (any, error) {
		t, err := transformation(s, chain.ID(args.SubnetID))
		if err != nil {
			return nil, err
		}
		return reply{number(t.MinValidatorStake), number(t.MinDelegatorStake)}, nil
	})
}

func (p *primaryAPI) stakingAsset(args subnetArgs) (any, error) {
	type reply struct {
		AssetID chainID `json:"assetID"`
	}
	if chain.ID(args.SubnetID) == chain.PrimaryNetworkID {
		return reply{chainID(p.world.AssetID())}, nil
	}
	return p.read(func(s *primary.State) (any, error) {
		t, err := transformation(s, chain.ID(args.SubnetID))
		if err != nil {
			return nil, err
		}
		return reply{chainID(t.Asset)}, nil
	})
}

func (p *primaryAPI) supply(args subnetArgs) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		supply, ok := s.Supply[chain.ID(args.SubnetID)]
		if !ok {
			return nil, fmt.Errorf("fetching current supply failed: %w", errNotFound)
		}
		return struct {
			Supply number `json:"supply"`
			Height number `json:"height"`
		}{number(supply), number(s.Height)}, nil
	})
}

func rfc3339(unix uint64) string { return time.Unix(int64(unix), 0).UTC().Format(time.RFC3339) } // after 1970

func (p *primaryAPI) timestamp(none) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		return struct {
			Timestamp string `json:"timestamp"`
		}{rfc3339(s.Time)}, nil
	})
}

func (p *primaryAPI) feeConfig(none) (any, error) {
	return struct {
		Capacity   uint64 `json:"capacity"`
		Target     uint64 `json:"target"`
		MinPrice   uint64 `json:"minPrice"`
		Conversion uint64 `json:"excessConversionConstant"`
	}{20_000, 10_000, 1, 865_617}, nil
}

func (p *primaryAPI) feeState(none) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		return struct {
			Excess    uint64 `json:"excess"`
			Price     uint64 `json:"price"`
			Timestamp string `json:"timestamp"`
		}{0, 1, rfc3339(s.Time)}, nil
	})
}

func (p *primaryAPI) subnet(args subnetArgs) (any, error) {
	id := chain.ID(args.SubnetID)
	if id == chain.PrimaryNetworkID {
		return nil, errors.New("the primary network isn't a subnet")
	}
	return p.read(func(s *primary.State) (any, error) {
		subnet := s.Subnets[id]
		if subnet == nil {
			return nil, errNotFound
		}
		r := subnetReply{
			IsPermissioned: subnet.Transform == nil && subnet.Conversion == nil,
			ControlKeys:    pAlias.texts(subnet.Owner.Addresses), Threshold: number(subnet.Owner.Threshold),
			Locktime: number(subnet.Owner.Locktime), ConversionID: chainID(subnet.ConversionID),
		}
		if subnet.Transform != nil {
			r.Transformation = chainID(subnet.Transform.ID)
		}
		if subnet.Conversion != nil {
			body := subnet.Conversion.Body.(*platform.ConvertSubnetToL1)
			r.ManagerChainID, r.ManagerAddress = chainID(body.ManagerChain), body.ManagerAddress
		}
		return r, nil
	})
}

func (p *primaryAPI) subnets(args subnetsArgs) (any, error) {
	var reply struct {
		Subnets []apiSubnet `json:"subnets"`
	}
	one := func(subnet *primary.Subnet) apiSubnet {
		if subnet.Transform != nil {
			return apiSubnet{ID: chainID(subnet.ID), ControlKeys: []string{}}
		}
		return apiSubnet{
			ID: chainID(subnet.ID), ControlKeys: pAlias.texts(subnet.Owner.Addresses), Threshold: number(subnet.Owner.Threshold),
		}
	}
	network := apiSubnet{ID: chainID(chain.PrimaryNetworkID), ControlKeys: []string{}}
	return p.read(func(s *primary.State) (any, error) {
		if len(args.IDs) == 0 {
			ids := slices.Clone(s.SubnetOrder)
			slices.SortFunc(ids, func(a, b chain.ID) int { return bytes.Compare(a[:], b[:]) })
			for _, id := range ids {
				reply.Subnets = append(reply.Subnets, one(s.Subnets[id]))
			}
			reply.Subnets = append(reply.Subnets, network)
			return reply, nil
		}
		for i, id := range args.IDs {
			switch subnet := s.Subnets[chain.ID(id)]; {
			case slices.Contains(args.IDs[:i], id):
			case id == network.ID:
				reply.Subnets = append(reply.Subnets, network)
			case subnet != nil:
				reply.Subnets = append(reply.Subnets, one(subnet))
			}
		}
		return reply, nil
	})
}

func (p *primaryAPI) blockchains(none) (any, error) {
	return p.read(func(s *primary.State) (any, error) {
		all := make([]apiBlockchain, 0, len(s.Blockchains))
		for _, b := range s.Blockchains {
			all = append(all, apiBlockchain{ID: chainID(b.ID), Name: b.Name, SubnetID: chainID(b.Subnet), VMID: chainID(b.VM)})
		}
		return struct {
			Blockchains []apiBlockchain `json:"blockchains"`
		}{all}, nil
	})
}

// blockchain finds one that the P-Chain made.
func blockchain(s *primary.State, id chain.ID) *primary.Blockchain {
	i := slices.IndexFunc(s.Blockchains, func(b *primary.Blockchain) bool { return b.ID == id })
	if i < 0 {
		return nil
	}
	return s.Blockchains[i]
}

func (p *primaryAPI) blockchainStatus(args statusArgs) (any, error) {
	id, err := chain.ParseID(args.BlockchainID)
	if err != nil {
		return p.getBlockchainStatus(args)
	}
	return p.read(func(s *primary.State) (any, error) {
		if blockchain(s, id) != nil && !p.runs(id) {
			return struct {
				Status string `json:"status"`
			}{"Created"}, nil
		}
		return p.getBlockchainStatus(args)
	})
}

func (p *primaryAPI) validates(args subnetArgs) (any, error) {
	id := chain.ID(args.SubnetID)
	ids := []chainID{}
	return p.read(func(s *primary.State) (any, error) {
		if id != chain.PrimaryNetworkID && s.Subnets[id] == nil {
			return nil, fmt.Errorf("problem retrieving subnet %q: %w", id, errNotFound)
		}
		for _, b := range s.Blockchains {
			if b.Subnet == id {
				ids = append(ids, chainID(b.ID))
			}
		}
		return struct {
			BlockchainIDs []chainID `json:"blockchainIDs"`
		}{ids}, nil
	})
}

func (p *primaryAPI) validatedBy(args blockchainArgs) (any, error) {
	id := chain.ID(args.BlockchainID)
	type reply struct {
		SubnetID chainID `json:"subnetID"`
	}
	if id == chain.PlatformChainID {
		return reply{chainID(chain.PrimaryNetworkID)}, nil
	}
	return p.read(func(s *primary.State) (any, error) {
		if b := blockchain(s, id); b != nil {
			return reply{chainID(b.Subnet)}, nil
		}
		return nil, fmt.Errorf("problem retrieving blockchain %q: %w", id, errNotFound)
	})
}
