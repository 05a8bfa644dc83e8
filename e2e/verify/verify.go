// Package verify checks signed warp messages with avalanchego's own code,
// against the validator set that a node gives.
package verify

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
)

// Proposed asks for the validator set at the height that the node would propose.
const Proposed = platformapi.Height(platformapi.ProposedHeight)

// A Verifier knows one validator set of one network.
type Verifier struct {
	NetworkID uint32
	Set       validators.WarpSet // in canonical order
}

// A Report says who signed.
type Report struct {
	Message *warp.Message
	// Signers are the IDs of the signers' nodes in canonical order; a key that
	// several nodes share brings all of them.
	Signers []ids.NodeID
	Weight  uint64 // of the signers
	Total   uint64 // of the whole set, keyless validators included
}

// Fetch asks the node at nodeURL for the set of a subnet at a P-Chain height.
// Both of the node's methods for it must give the same set.
func Fetch(ctx context.Context, nodeURL string, subnet ids.ID, height platformapi.Height) (*Verifier, error) {
	networkID, err := info.NewClient(nodeURL).GetNetworkID(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the network's ID: %w", err)
	}
	client := platformvm.NewClient(nodeURL)
	one, err := client.GetValidatorsAt(ctx, subnet, height)
	if err != nil {
		return nil, fmt.Errorf("platform.getValidatorsAt: %w", err)
	}
	flat, err := validators.FlattenValidatorSet(one)
	if err != nil {
		return nil, fmt.Errorf("canonical order of the validators: %w", err)
	}
	all, err := client.GetAllValidatorsAt(ctx, height)
	if err != nil {
		return nil, fmt.Errorf("platform.getAllValidatorsAt: %w", err)
	}
	if err := Same(flat, all[subnet]); err != nil {
		return nil, fmt.Errorf("getValidatorsAt and getAllValidatorsAt disagree: %w", err)
	}
	return &Verifier{NetworkID: networkID, Set: flat}, nil
}

// Same says where two canonical sets differ: nil when they do not.
func Same(a, b validators.WarpSet) error {
	if a.TotalWeight != b.TotalWeight {
		return fmt.Errorf("total weight %d and %d", a.TotalWeight, b.TotalWeight)
	}
	if len(a.Validators) != len(b.Validators) {
		return fmt.Errorf("%d and %d validators", len(a.Validators), len(b.Validators))
	}
	for i, x := range a.Validators {
		y := b.Validators[i]
		if !bytes.Equal(x.PublicKeyBytes, y.PublicKeyBytes) || x.Weight != y.Weight {
			return fmt.Errorf("key or weight at index %d", i)
		}
		if !set.Of(x.NodeIDs...).Equals(set.Of(y.NodeIDs...)) {
			return fmt.Errorf("nodes %v and %v at index %d", x.NodeIDs, y.NodeIDs, i)
		}
	}
	return nil
}

// Verify checks that signed is in canonical form, carries unsigned, and is signed
// by at least num/den of the set's weight.
func (v *Verifier) Verify(signed, unsigned []byte, num, den uint64) (*Report, error) {
	msg, err := warp.ParseMessage(signed)
	if err != nil {
		return nil, fmt.Errorf("parse the signed message: %w", err)
	}
	if !bytes.Equal(msg.UnsignedMessage.Bytes(), unsigned) {
		return nil, fmt.Errorf("another message was signed: %x", msg.UnsignedMessage.Bytes())
	}
	if err := msg.Signature.Verify(&msg.UnsignedMessage, v.NetworkID, v.Set, num, den); err != nil {
		return nil, fmt.Errorf("verify the signature: %w", err)
	}
	return v.report(msg)
}

func (v *Verifier) report(msg *warp.Message) (*Report, error) {
	signature, ok := msg.Signature.(*warp.BitSetSignature)
	if !ok {
		return nil, fmt.Errorf("signature of type %T", msg.Signature)
	}
	signers, err := warp.FilterValidators(set.BitsFromBytes(signature.Signers), v.Set.Validators)
	if err != nil {
		return nil, err
	}
	weight, err := warp.SumWeight(signers)
	if err != nil {
		return nil, err
	}
	r := &Report{Message: msg, Weight: weight, Total: v.Set.TotalWeight}
	for _, s := range signers {
		r.Signers = append(r.Signers, s.NodeIDs...)
	}
	return r, nil
}
