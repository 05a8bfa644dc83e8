package primary

import (
	"container/heap"
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// apply executes a transaction that was accepted in a standard block, or whose
// proposal was committed.
func (s *State) apply(tx *platform.Tx) error {
	s.Txs[tx.ID] = &TxRecord{Tx: tx, Height: s.Height}
	if err := s.move(tx, tx.Body.Funds().Outputs); err != nil {
		return fmt.Errorf("%v %s: %w", tx.Body.Kind(), tx.ID, err)
	}
	switch body := tx.Body.(type) {
	case *platform.CreateSubnet:
		s.Subnets[tx.ID] = &Subnet{ID: tx.ID, Owner: body.Owner, Height: s.Height, Time: s.Time}
		s.SubnetOrder = append(s.SubnetOrder, tx.ID)
	case *platform.CreateChain:
		s.addBlockchain(tx)
	case *platform.TransferSubnetOwnership:
		s.Subnets[body.Subnet].Owner = body.Owner
	case *platform.TransformSubnet:
		s.Subnets[body.Subnet].Transform = tx
		s.Supply[body.Subnet] = body.InitialSupply
	case *platform.RemoveSubnetValidator:
		x := s.Validators[SubnetNode{body.Subnet, body.NodeID}]
		if x.Status == Current {
			s.remove(x, Removed)
			break
		}
		x.Status, x.EndHeight = Removed, s.Height
		delete(s.Validators, SubnetNode{body.Subnet, body.NodeID})
	case *platform.AddValidator, *platform.AddDelegator, *platform.AddSubnetValidator,
		*platform.AddPermissionlessValidator, *platform.AddPermissionlessDelegator, *platform.AddAutoRenewedValidator:
		s.addStaker(tx)
	case *platform.SetAutoRenewedValidatorConfig:
		r := s.Stakers[body.TxID].Renewal
		r.Period, r.Restaked = body.Period, body.Restaked
	default:
		return s.applyL1(tx)
	}
	return nil
}

// move spends the inputs and makes the outputs of a transaction.
func (s *State) move(tx *platform.Tx, outputs []utxo.Output) error {
	funds := tx.Body.Funds()
	in, out := uint64(0), uint64(0)
	for _, i := range funds.Inputs {
		u := s.UTXOs[i.Ref]
		if u == nil || u.Amount != i.Amount {
			return fmt.Errorf("input %v is not there", i.Ref)
		}
		delete(s.UTXOs, i.Ref)
		if i.Asset == s.avax {
			in += i.Amount
		}
	}
	for i, o := range outputs {
		s.addUTXO(utxo.UTXO{Ref: utxo.Ref{TxID: tx.ID, Index: uint32(i)}, Output: o}) // few
		if o.Asset == s.avax {
			out += o.Amount
		}
	}
	switch body := tx.Body.(type) {
	case *platform.Import:
		for _, i := range body.Imported {
			if i.Asset == s.avax {
				in += i.Amount
			}
		}
	case *platform.Export:
		for i, o := range body.Exported {
			ref := utxo.Ref{TxID: tx.ID, Index: uint32(len(outputs) + i)} // few
			s.export(body.DestinationChain, utxo.UTXO{Ref: ref, Output: o})
			if o.Asset == s.avax {
				out += o.Amount
			}
		}
	}
	put := locked(tx, s.avax)
	s.Burned += in - out - put
	if Stake(tx) == nil {
		s.Deposited += put
	}
	return nil
}

// locked is what a transaction puts away and neither spends nor returns: stake of
// AVAX and balances of L1 validators.
func locked(tx *platform.Tx, avax chain.ID) (sum uint64) {
	sum, _ = tx.Body.L1Balance()
	for _, out := range Stake(tx) {
		if out.Asset == avax {
			sum += out.Amount
		}
	}
	return sum
}

// abort refuses a proposal to add a staker: the stake is among the outputs.
func (s *State) abort(tx *platform.Tx) error {
	s.Txs[tx.ID] = &TxRecord{Tx: tx, Height: s.Height, Aborted: true}
	x := s.staker(tx)
	x.Status, x.EndHeight = Refused, s.Height
	s.Stakers[tx.ID] = x
	outputs := append(append([]utxo.Output(nil), tx.Body.Funds().Outputs...), Stake(tx)...)
	stake := locked(tx, s.avax)
	s.Burned += stake // move takes it off
	return s.move(tx, outputs)
}

func (s *State) addBlockchain(tx *platform.Tx) {
	body := tx.Body.(*platform.CreateChain)
	s.Blockchains = append(s.Blockchains, &Blockchain{ID: tx.ID, Height: s.Height, Time: s.Time, CreateChain: body})
}

// Stake returns what a transaction stakes.
func Stake(tx *platform.Tx) []utxo.Output {
	s, _ := tx.Body.Staking()
	return s.Stake
}

// RewardOwners returns who gets a staker's own reward, and a validator's fees.
func RewardOwners(tx *platform.Tx) (own, fees utxo.Owners) {
	switch body := tx.Body.(type) {
	case *platform.AddValidator:
		return body.RewardsOwner, body.RewardsOwner
	case *platform.AddDelegator:
		return body.RewardsOwner, utxo.Owners{}
	case *platform.AddPermissionlessValidator:
		return body.ValidatorRewardsOwner, body.DelegationRewardsOwner
	case *platform.AddPermissionlessDelegator:
		return body.RewardsOwner, utxo.Owners{}
	case *platform.AddAutoRenewedValidator:
		return body.ValidatorRewardsOwner, body.DelegationRewardsOwner
	}
	return own, fees
}

// staker returns the staker that a transaction adds, pending.
func (s *State) staker(tx *platform.Tx) *Staker {
	x := &Staker{TxID: tx.ID, Tx: tx, Height: s.Height}
	var part platform.Validator
	switch body := tx.Body.(type) {
	case *platform.AddValidator:
		part, x.Fee, x.priority = body.Validator, body.DelegationFee, pendingValidator
	case *platform.AddDelegator:
		part, x.Delegator, x.priority = body.Validator, true, pendingOldDelegator
	case *platform.AddSubnetValidator:
		part, x.Subnet, x.Permissioned, x.priority = body.Validator, body.Subnet, true, pendingPermissioned
	case *platform.AddPermissionlessValidator:
		part, x.Subnet, x.Fee, x.Signer, x.priority = body.Validator, body.Subnet, body.DelegationFee, body.Signer, pendingValidator
		if x.Subnet != chain.PrimaryNetworkID {
			x.priority = pendingSubnetValidator
		}
	case *platform.AddPermissionlessDelegator:
		part, x.Subnet, x.Delegator, x.priority = body.Validator, body.Subnet, true, pendingDelegator
		if x.Subnet != chain.PrimaryNetworkID {
			x.priority = pendingSubnetDelegator
		}
	case *platform.AddAutoRenewedValidator:
		part.NodeID, part.End, x.Fee, x.Signer = body.NodeID, s.Time+body.Period, body.DelegationFee, body.Signer
		for _, o := range body.Stake {
			part.Weight += o.Amount
		}
		x.Renewal = &Renewal{Cycle: 1, Period: body.Period, Restaked: body.Restaked, Authority: body.Authority}
	}
	x.NodeID, x.Start, x.End, x.Weight = part.NodeID, part.Start, part.End, part.Weight
	return x
}

// addStaker adds a staker: pending until its start before Durango, and then current.
func (s *State) addStaker(tx *platform.Tx) {
	x := s.staker(tx)
	s.Stakers[tx.ID] = x
	if at := (SubnetNode{x.Subnet, x.NodeID}); x.Delegator {
		s.delegated[at] += x.Weight
	} else {
		s.Validators[at] = x
	}
	if s.Time >= s.forks.Durango {
		x.Start = s.Time
		s.begin(x)
		return
	}
	heap.Push(&s.pending, x)
}

// applyL1 executes what concerns L1s.
func (s *State) applyL1(tx *platform.Tx) error {
	switch body := tx.Body.(type) {
	case *platform.ConvertSubnetToL1:
		s.convert(tx, body)
	case *platform.RegisterL1Validator:
		r, err := body.Registration()
		if err != nil {
			return err
		}
		s.addL1Validator(&L1Validator{
			ValidationID: r.ValidationID, Subnet: r.Subnet, NodeID: chain.NodeID(r.NodeID), PublicKey: r.PublicKey,
			Weight: r.Weight, Remaining: r.RemainingBalanceOwner, Deactivation: r.DisableOwner, TxID: tx.ID,
		}, body.Balance)
	case *platform.SetL1ValidatorWeight:
		change, err := body.Weight()
		if err != nil {
			return err
		}
		v := s.L1Validators[change.ValidationID]
		s.leaveL1(v)
		if v.Weight, v.MinNonce = change.Weight, change.Nonce+1; v.Weight == 0 {
			s.refund(tx, v)
			v.EndAccrued = 0
		}
		s.joinL1(v)
	case *platform.IncreaseL1ValidatorBalance:
		v := s.L1Validators[body.ValidationID]
		s.activity(v, max(v.EndAccrued, s.Accrued)+body.Balance)
	case *platform.DisableL1Validator:
		if v := s.L1Validators[body.ValidationID]; v.EndAccrued != 0 {
			s.refund(tx, v)
			s.activity(v, 0)
		}
	}
	return nil
}

// refund returns what is left of an active L1 validator's balance.
func (s *State) refund(tx *platform.Tx, v *L1Validator) {
	if v.EndAccrued == 0 {
		return
	}
	s.Deposited -= v.Balance(s.Accrued)
	s.addUTXO(utxo.UTXO{
		Ref: utxo.Ref{TxID: tx.ID, Index: uint32(len(tx.Body.Funds().Outputs))}, // few
		Output: utxo.Output{Asset: s.avax, State: utxo.State{
			Kind: utxo.TransferOutput, Amount: v.Balance(s.Accrued),
			Owners: utxo.Owners{Threshold: v.Remaining.Threshold, Addresses: v.Remaining.Addresses},
		}},
	})
}

func (s *State) addL1Validator(v *L1Validator, balance uint64) {
	v.Start, v.Height = s.Time, s.Height
	if balance > 0 {
		v.EndAccrued = s.Accrued + balance
	}
	s.L1Validators[v.ValidationID] = v
	s.joinL1(v)
}

func (s *State) convert(tx *platform.Tx, body *platform.ConvertSubnetToL1) {
	subnet := s.Subnets[body.Subnet]
	subnet.Conversion, subnet.ConversionID = tx, conversionID(body)
	for i := range body.Validators {
		v := &body.Validators[i]
		s.addL1Validator(&L1Validator{
			ValidationID: platform.ConvertedValidationID(body.Subnet, uint32(i)), Subnet: body.Subnet, // few
			NodeID: chain.NodeID(v.NodeID), PublicKey: v.Signer.PublicKey, Weight: v.Weight,
			Remaining: v.RemainingBalanceOwner, Deactivation: v.DeactivationOwner, TxID: tx.ID,
		}, v.Balance)
	}
}

// conversionID is the SHA-256 of what the conversion says of the validators.
func conversionID(body *platform.ConvertSubnetToL1) chain.ID {
	var b []byte
	u32 := func(n int) { b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)) }
	bytes := func(v []byte) { u32(len(v)); b = append(b, v...) }
	b = append(b, 0, 0)
	b = append(b, body.Subnet[:]...)
	b = append(b, body.ManagerChain[:]...)
	bytes(body.ManagerAddress)
	u32(len(body.Validators))
	for i := range body.Validators {
		v := &body.Validators[i]
		bytes(v.NodeID)
		b = append(b, v.Signer.PublicKey[:]...)
		u32(int(v.Weight >> 32))
		u32(int(v.Weight & 0xffffffff))
	}
	return sha256.Sum256(b)
}
