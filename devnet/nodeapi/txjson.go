package nodeapi

import (
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// The JSON of transactions, as the node writes its own types: numbers are numbers here.

// fxID is the ID of what owners and signatures are of.
var fxID = chainID{'s', 'e', 'c', 'p', '2', '5', '6', 'k', '1', 'f', 'x'}

type txOwners struct {
	Addresses []string `json:"addresses"`
	Locktime  uint64   `json:"locktime"`
	Threshold uint32   `json:"threshold"`
}

type txAmount struct {
	Addresses []string `json:"addresses"`
	Amount    uint64   `json:"amount"`
	Locktime  uint64   `json:"locktime"`
	Threshold uint32   `json:"threshold"`
}

type txOutput struct {
	AssetID chainID  `json:"assetID"`
	FxID    chainID  `json:"fxID"`
	Output  txAmount `json:"output"`
}

type txSpent struct {
	Amount           uint64   `json:"amount"`
	SignatureIndices []uint32 `json:"signatureIndices"`
}

type txInput struct {
	utxoRef
	AssetID chainID `json:"assetID"`
	FxID    chainID `json:"fxID"`
	Input   txSpent `json:"input"`
}

type txBase struct {
	NetworkID    uint32     `json:"networkID"`
	BlockchainID chainID    `json:"blockchainID"`
	Outputs      []txOutput `json:"outputs"`
	Inputs       []txInput  `json:"inputs"`
	Memo         hexBytes   `json:"memo"`
}

type txAuth struct {
	SignatureIndices []uint32 `json:"signatureIndices"`
}

type txCredential struct {
	Signatures []hexBytes `json:"signatures"`
}

type jsonTx struct {
	UnsignedTx  any            `json:"unsignedTx"`
	Credentials []txCredential `json:"credentials"`
	ID          chainID        `json:"id"`
}

type addAutoRenewed struct {
	txBase
	NodeID                   hexBytes          `json:"nodeID"` // not the form NodeID-...
	Signer                   proofOfPossession `json:"signer"`
	Stake                    []txOutput        `json:"stake"`
	ValidationRewardsOwner   txOwners          `json:"validationRewardsOwner"`
	DelegationRewardsOwner   txOwners          `json:"delegationRewardsOwner"`
	ValidatorAuthority       txOwners          `json:"validatorAuthority"`
	DelegationShares         uint32            `json:"delegationShares"`
	AutoCompoundRewardShares uint32            `json:"autoCompoundRewardShares"`
	Period                   uint64            `json:"period"`
}

type setAutoRenewed struct {
	txBase
	TxID                     chainID `json:"txID"`
	Auth                     txAuth  `json:"auth"`
	AutoCompoundRewardShares uint32  `json:"autoCompoundRewardShares"`
	Period                   uint64  `json:"period"`
}

type rewardAutoRenewed struct {
	TxID      chainID `json:"txID"`
	Timestamp uint64  `json:"timestamp"`
}

// toJSON returns the JSON of a transaction about auto-renewed validators; that of others
// is not simulated.
func toJSON(tx *platform.Tx) (any, error) {
	j := jsonTx{ID: chainID(tx.ID), Credentials: []txCredential{}}
	for _, c := range tx.Credentials {
		var all txCredential
		for _, s := range c.Signatures {
			all.Signatures = append(all.Signatures, s[:])
		}
		j.Credentials = append(j.Credentials, all)
	}
	switch body := tx.Body.(type) {
	case *platform.AddAutoRenewedValidator:
		j.UnsignedTx = addAutoRenewed{
			txBase: toBase(&body.Base), NodeID: body.NodeID[:],
			Signer: proofOfPossession{PublicKey: body.Signer.PublicKey[:], Proof: body.Signer.ProofOfPossession[:]},
			Stake:  toOutputs(body.Stake), ValidationRewardsOwner: toOwners(body.ValidatorRewardsOwner),
			DelegationRewardsOwner: toOwners(body.DelegationRewardsOwner), ValidatorAuthority: toOwners(body.Authority),
			DelegationShares: body.DelegationFee, AutoCompoundRewardShares: body.Restaked, Period: body.Period,
		}
	case *platform.SetAutoRenewedValidatorConfig:
		j.UnsignedTx = setAutoRenewed{
			txBase: toBase(&body.Base), TxID: chainID(body.TxID), Auth: txAuth{body.Auth.Indices},
			AutoCompoundRewardShares: body.Restaked, Period: body.Period,
		}
	case *platform.RewardAutoRenewedValidator:
		j.UnsignedTx = rewardAutoRenewed{chainID(body.TxID), body.Time}
	default:
		return nil, errJSON
	}
	return j, nil
}

func toBase(b *utxo.Base) txBase {
	base := txBase{
		NetworkID: b.NetworkID, BlockchainID: chainID(chain.PlatformChainID), Outputs: toOutputs(b.Outputs), Inputs: []txInput{}, Memo: b.Memo,
	}
	if base.Memo == nil {
		base.Memo = hexBytes{}
	}
	for _, i := range b.Inputs { // none is locked here
		base.Inputs = append(base.Inputs, txInput{
			utxoRef: utxoRef{chainID(i.TxID), i.Index}, AssetID: chainID(i.Asset), FxID: fxID, Input: txSpent{i.Amount, i.Auth.Indices},
		})
	}
	return base
}

func toOutputs(list []utxo.Output) []txOutput {
	all := make([]txOutput, 0, len(list))
	for _, o := range list { // none is locked here
		all = append(all, txOutput{
			AssetID: chainID(o.Asset), FxID: fxID,
			Output: txAmount{pAlias.texts(o.Addresses), o.Amount, o.Locktime, o.Threshold},
		})
	}
	return all
}

func toOwners(o utxo.Owners) txOwners {
	return txOwners{pAlias.texts(o.Addresses), o.Locktime, o.Threshold}
}
