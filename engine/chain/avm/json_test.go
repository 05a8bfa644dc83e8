package avm

import (
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/utxo"
)

// JSON as avalanchego writes it, from our types. Nothing here but the tests uses it.

type object = chaintest.Object

var form = chaintest.Exchange

// fx adds the feature extension that a kind belongs to, which is not in the bytes.
func fx(k utxo.Kind, o object) object {
	id := chaintest.Secp256k1fx
	switch {
	case k >= utxo.PropertyMintOutput:
		id = chaintest.Propertyfx
	case k >= utxo.NFTMintOutput:
		id = chaintest.NFTfx
	}
	return chaintest.With(o, object{"fxID": id})
}

func jsonBlock(b *Block) object {
	return object{
		"id": b.ID.String(), "parentID": b.Parent.String(), "height": b.Height, "time": b.Time,
		"merkleRoot": b.MerkleRoot.String(), "txs": chaintest.List(b.Txs, jsonTx),
	}
}

func jsonTx(tx *Tx) object {
	return object{
		"id": tx.ID.String(), "unsignedTx": chaintest.With(form.Base(tx.Body.Funds()), jsonBody(tx.Body)),
		"credentials": chaintest.List(tx.Credentials, func(c *utxo.Credential) object {
			return fx(c.Kind, object{"credential": chaintest.Signatures(c)})
		}),
	}
}

func jsonBody(body Body) object {
	switch t := body.(type) {
	case *CreateAsset:
		return object{
			"name": t.Name, "symbol": t.Symbol, "denomination": t.Denomination,
			"initialStates": chaintest.List(t.States, func(s *InitialState) object {
				first := []utxo.Kind{utxo.MintOutput, utxo.NFTMintOutput, utxo.PropertyMintOutput}[s.Extension%3]
				return fx(first, object{"fxIndex": s.Extension, "outputs": chaintest.List(s.Outputs, form.State)})
			}),
		}
	case *Operate:
		return object{"operations": chaintest.List(t.Operations, func(o *Operation) object {
			return fx(o.Kind, object{"assetID": o.Asset.String(), "inputIDs": chaintest.List(o.Inputs, chaintest.Ref), "operation": jsonOperation(o)})
		})}
	case *Import:
		return object{"sourceChain": t.SourceChain.String(), "importedInputs": form.Inputs(t.Imported)}
	case *Export:
		return object{"destinationChain": t.DestinationChain.String(), "exportedOutputs": form.Outputs(t.Exported)}
	}
	return nil
}

func jsonOperation(o *Operation) object {
	auth := chaintest.Auth(&o.Auth)
	switch o.Kind {
	case utxo.MintOperation:
		return object{"mintInput": auth, "mintOutput": form.State(&o.Outputs[0]), "transferOutput": form.State(&o.Outputs[1])}
	case utxo.NFTMintOperation:
		owners := chaintest.List(o.Outputs, func(s *utxo.State) object { return form.Owners(&s.Owners) })
		return object{"mintInput": auth, "groupID": o.Group, "payload": chaintest.Bytes(o.Payload), "outputs": owners}
	case utxo.NFTTransferOperation:
		return object{"input": auth, "output": form.State(&o.Outputs[0])}
	case utxo.PropertyMintOp:
		return object{"mintInput": auth, "mintOutput": form.State(&o.Outputs[0]), "ownedOutput": form.State(&o.Outputs[1])}
	}
	return auth // a burn
}

func jsonVertex(v *Vertex) object {
	return object{
		"stop": v.Stop, "chainID": v.ChainID.String(), "height": v.Height, "epoch": v.Epoch,
		"parentIDs": chaintest.IDs(v.Parents), "txs": chaintest.List(v.Txs, func(tx *Tx) string { return tx.ID.String() }),
	}
}
