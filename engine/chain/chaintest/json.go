package chaintest

import (
	"encoding/hex"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

// Object is a JSON object.
type Object = map[string]any

// With returns an object with the members of both.
func With(a, b Object) Object {
	all := make(Object, len(a)+len(b))
	for k, v := range a {
		all[k] = v
	}
	for k, v := range b {
		all[k] = v
	}
	return all
}

// Form is how a chain of the local network writes JSON.
type Form struct{ Alias string }

// The two chains.
var (
	Platform = Form{"P"}
	Exchange = Form{"X"}
)

// IDs of the feature extensions, which nodes add to what is in the bytes.
const (
	Secp256k1fx = "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ"
	NFTfx       = "qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT"
	Propertyfx  = "rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy"
)

// Bytes returns b in hexadecimal.
func Bytes(b []byte) string { return "0x" + hex.EncodeToString(b) }

// List returns the JSON of each element. It is never null.
func List[T, J any](list []T, of func(*T) J) []J {
	out := []J{}
	for i := range list {
		out = append(out, of(&list[i]))
	}
	return out
}

// IDs returns the text forms.
func IDs(list []chain.ID) []string {
	return List(list, func(id *chain.ID) string { return id.String() })
}

// ShortIDs returns addresses in CB58, as nodes write them where no chain is known.
func ShortIDs(list []address.Address) []string {
	return List(list, func(a *address.Address) string { return strings.TrimPrefix(chain.NodeID(*a).String(), "NodeID-") })
}

// Owners returns the JSON of o.
func (f Form) Owners(o *utxo.Owners) Object {
	return Object{
		"locktime": o.Locktime, "threshold": o.Threshold,
		"addresses": List(o.Addresses, func(a *address.Address) string { return a.OnChain(f.Alias, "local") }),
	}
}

// State returns the JSON of s.
func (f Form) State(s *utxo.State) Object {
	o := f.Owners(&s.Owners)
	switch s.Kind {
	case utxo.TransferOutput:
		o["amount"] = s.Amount
	case utxo.NFTMintOutput:
		o["groupID"] = s.Group
	case utxo.NFTTransferOutput:
		o["groupID"], o["payload"] = s.Group, Bytes(s.Payload)
	}
	return o
}

// Amount returns the JSON of what o holds, in its lock if it has one.
func (f Form) Amount(o *utxo.Output) Object {
	if o.StakeLock != 0 {
		return Object{"locktime": o.StakeLock, "output": f.State(&o.State)}
	}
	return f.State(&o.State)
}

// Outputs returns the JSON of the outputs of a transaction.
func (f Form) Outputs(list []utxo.Output) []Object {
	return List(list, func(o *utxo.Output) Object {
		return Object{"assetID": o.Asset.String(), "fxID": Secp256k1fx, "output": f.Amount(o)}
	})
}

// Inputs returns the JSON of the inputs of a transaction.
func (f Form) Inputs(list []utxo.Input) []Object {
	return List(list, func(in *utxo.Input) Object {
		spent := With(Auth(&in.Auth), Object{"amount": in.Amount})
		if in.StakeLock != 0 {
			spent = Object{"locktime": in.StakeLock, "input": spent}
		}
		return With(Ref(&in.Ref), Object{"assetID": in.Asset.String(), "fxID": Secp256k1fx, "input": spent})
	})
}

// Ref returns the JSON of r.
func Ref(r *utxo.Ref) Object { return Object{"txID": r.TxID.String(), "outputIndex": r.Index} }

// Auth returns the JSON of a.
func Auth(a *utxo.Auth) Object {
	return Object{"signatureIndices": List(a.Indices, func(i *uint32) uint32 { return *i })}
}

// Base returns the JSON of b.
func (f Form) Base(b *utxo.Base) Object {
	return Object{
		"networkID": b.NetworkID, "blockchainID": b.ChainID.String(), "outputs": f.Outputs(b.Outputs),
		"inputs": f.Inputs(b.Inputs), "memo": Bytes(b.Memo),
	}
}

// Signatures returns the JSON of a credential.
func Signatures(c *utxo.Credential) Object {
	return Object{"signatures": List(c.Signatures, func(s *[utxo.SignatureLen]byte) string { return Bytes(s[:]) })}
}
