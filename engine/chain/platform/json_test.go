package platform

import (
	"encoding/base64"

	"quorate/engine/chain/chaintest"
)

// JSON as avalanchego writes it, from our types. Nothing here but the tests uses it.

type object = chaintest.Object

var form = chaintest.Platform

func jsonBlock(b *Block) object {
	o := object{"id": b.ID.String(), "parentID": b.Parent.String(), "height": b.Height}
	if b.Kind.Banff() {
		o["time"] = b.Time
	}
	switch b.Kind {
	case ApricotStandard, BanffStandard:
		o["txs"] = chaintest.List(b.Txs, jsonTx)
	case BanffProposal:
		o["txs"] = chaintest.List(b.Txs[:len(b.Txs)-1], jsonTx)
		o["tx"] = jsonTx(b.Proposed())
	case ApricotProposal:
		o["tx"] = jsonTx(b.Proposed())
	case ApricotAtomic:
		o["tx"] = jsonTx(&b.Txs[0])
	}
	return o
}

func jsonTx(tx *Tx) object {
	body := jsonBody(tx.Body)
	if base := tx.Body.Funds(); base != nil {
		body = chaintest.With(form.Base(base), body)
	}
	return object{"id": tx.ID.String(), "unsignedTx": body, "credentials": chaintest.List(tx.Credentials, chaintest.Signatures)}
}

func jsonBody(body Body) object {
	switch t := body.(type) {
	case *Base:
		return nil
	case *Import:
		return object{"sourceChain": t.SourceChain.String(), "importedInputs": form.Inputs(t.Imported)}
	case *Export:
		return object{"destinationChain": t.DestinationChain.String(), "exportedOutputs": form.Outputs(t.Exported)}
	case *CreateSubnet:
		return object{"owner": form.Owners(&t.Owner)}
	case *CreateChain:
		return object{
			"subnetID": t.Subnet.String(), "chainName": t.Name, "vmID": t.VM.String(), "fxIDs": chaintest.IDs(t.Extensions),
			"genesisData": base64.StdEncoding.EncodeToString(t.GenesisData), "subnetAuthorization": chaintest.Auth(&t.SubnetAuth),
		}
	case *TransferSubnetOwnership:
		return object{"subnetID": t.Subnet.String(), "subnetAuthorization": chaintest.Auth(&t.SubnetAuth), "newOwner": form.Owners(&t.Owner)}
	case *TransformSubnet:
		return jsonTransform(t)
	case *AdvanceTime:
		return object{"time": t.Time}
	case *RewardValidator:
		return object{"txID": t.TxID.String()}
	case *ConvertSubnetToL1, *RegisterL1Validator, *SetL1ValidatorWeight, *IncreaseL1ValidatorBalance, *DisableL1Validator:
		return jsonL1(body)
	}
	return jsonStake(body)
}

func jsonTransform(t *TransformSubnet) object {
	return object{
		"subnetID": t.Subnet.String(), "assetID": t.Asset.String(), "initialSupply": t.InitialSupply, "maximumSupply": t.MaximumSupply,
		"minConsumptionRate": t.MinConsumptionRate, "maxConsumptionRate": t.MaxConsumptionRate,
		"minValidatorStake": t.MinValidatorStake, "maxValidatorStake": t.MaxValidatorStake,
		"minStakeDuration": t.MinStakeDuration, "maxStakeDuration": t.MaxStakeDuration,
		"minDelegationFee": t.MinDelegationFee, "minDelegatorStake": t.MinDelegatorStake,
		"maxValidatorWeightFactor": t.MaxValidatorWeightFactor, "uptimeRequirement": t.UptimeRequirement,
		"subnetAuthorization": chaintest.Auth(&t.SubnetAuth),
	}
}

func jsonValidator(v *Validator) object {
	return object{"nodeID": v.NodeID.String(), "start": v.Start, "end": v.End, "weight": v.Weight}
}

func jsonSigner(s *Signer) object {
	if s == nil {
		return object{}
	}
	return object{"publicKey": chaintest.Bytes(s.PublicKey[:]), "proofOfPossession": chaintest.Bytes(s.ProofOfPossession[:])}
}

func jsonStake(body Body) object {
	switch t := body.(type) {
	case *AddValidator:
		return object{
			"validator": jsonValidator(&t.Validator), "stake": form.Outputs(t.Stake),
			"rewardsOwner": form.Owners(&t.RewardsOwner), "shares": t.DelegationFee,
		}
	case *AddSubnetValidator:
		return object{
			"validator":           chaintest.With(jsonValidator(&t.Validator), object{"subnetID": t.Subnet.String()}),
			"subnetAuthorization": chaintest.Auth(&t.SubnetAuth),
		}
	case *AddDelegator:
		return object{"validator": jsonValidator(&t.Validator), "stake": form.Outputs(t.Stake), "rewardsOwner": form.Owners(&t.RewardsOwner)}
	case *AddPermissionlessValidator:
		return object{
			"validator": jsonValidator(&t.Validator), "subnetID": t.Subnet.String(), "signer": jsonSigner(t.Signer), "stake": form.Outputs(t.Stake),
			"validationRewardsOwner": form.Owners(&t.ValidatorRewardsOwner), "delegationRewardsOwner": form.Owners(&t.DelegationRewardsOwner),
			"shares": t.DelegationFee,
		}
	case *AddPermissionlessDelegator:
		return object{
			"validator": jsonValidator(&t.Validator), "subnetID": t.Subnet.String(), "stake": form.Outputs(t.Stake), "rewardsOwner": form.Owners(&t.RewardsOwner),
		}
	case *RemoveSubnetValidator:
		return object{"nodeID": t.NodeID.String(), "subnetID": t.Subnet.String(), "subnetAuthorization": chaintest.Auth(&t.SubnetAuth)}
	}
	return jsonRenewed(body)
}

func jsonRenewed(body Body) object {
	switch t := body.(type) {
	case *AddAutoRenewedValidator:
		return object{
			"nodeID": chaintest.Bytes(t.NodeID[:]), "signer": jsonSigner(t.Signer), "stake": form.Outputs(t.Stake),
			"validationRewardsOwner": form.Owners(&t.ValidatorRewardsOwner), "delegationRewardsOwner": form.Owners(&t.DelegationRewardsOwner),
			"validatorAuthority": form.Owners(&t.Authority), "delegationShares": t.DelegationFee, "autoCompoundRewardShares": t.Restaked, "period": t.Period,
		}
	case *SetAutoRenewedValidatorConfig:
		return object{"txID": t.TxID.String(), "auth": chaintest.Auth(&t.Auth), "autoCompoundRewardShares": t.Restaked, "period": t.Period}
	case *RewardAutoRenewedValidator:
		return object{"txID": t.TxID.String(), "timestamp": t.Time}
	}
	return nil
}

func jsonL1(body Body) object {
	switch t := body.(type) {
	case *ConvertSubnetToL1:
		return object{
			"subnetID": t.Subnet.String(), "chainID": t.ManagerChain.String(), "address": chaintest.Bytes(t.ManagerAddress),
			"validators": chaintest.List(t.Validators, jsonL1Validator), "subnetAuthorization": chaintest.Auth(&t.SubnetAuth),
		}
	case *RegisterL1Validator:
		return object{"balance": t.Balance, "proofOfPossession": chaintest.List(t.ProofOfPossession[:], number), "message": chaintest.Bytes(t.Message)}
	case *SetL1ValidatorWeight:
		return object{"message": chaintest.Bytes(t.Message)}
	case *IncreaseL1ValidatorBalance:
		return object{"validationID": t.ValidationID.String(), "balance": t.Balance}
	case *DisableL1Validator:
		return object{"validationID": t.ValidationID.String(), "disableAuthorization": chaintest.Auth(&t.Auth)}
	}
	return nil
}

func jsonL1Validator(v *L1Validator) object {
	return object{
		"nodeID": chaintest.Bytes(v.NodeID), "weight": v.Weight, "balance": v.Balance, "signer": jsonSigner(&v.Signer),
		"remainingBalanceOwner": jsonL1Owner(&v.RemainingBalanceOwner), "deactivationOwner": jsonL1Owner(&v.DeactivationOwner),
	}
}

func jsonL1Owner(o *L1Owner) object {
	return object{"threshold": o.Threshold, "addresses": chaintest.ShortIDs(o.Addresses)}
}

// number is how avalanchego writes a byte of an array: not as a part of a string.
func number(b *byte) int { return int(*b) }

func jsonRegistration(r *L1Registration) object {
	return object{
		"subnetID": r.Subnet.String(), "nodeID": chaintest.Bytes(r.NodeID), "blsPublicKey": chaintest.List(r.PublicKey[:], number), "expiry": r.Expiry,
		"remainingBalanceOwner": jsonL1Owner(&r.RemainingBalanceOwner), "disableOwner": jsonL1Owner(&r.DisableOwner), "weight": r.Weight,
	}
}

func jsonWeight(w *L1Weight) object {
	return object{"validationID": w.ValidationID.String(), "nonce": w.Nonce, "weight": w.Weight}
}
