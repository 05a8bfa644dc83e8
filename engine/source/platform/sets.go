package platform

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"quorate/engine/chain"
)

const publicKeyLen = 48

// Member is one node of a validator set. The type has no name of its own, so
// that packages which cannot import this one can spell it out.
type Member = struct {
	// NodeID is zero for weight that belongs to no node that could be named:
	// L1 validators that are out of balance, and nodes without a key.
	NodeID chain.NodeID
	// PublicKey is the compressed BLS key, 48 bytes, or nil.
	PublicKey []byte
	// Weight is the node's stake. Where several nodes share a key, a node that
	// answers in canonical form gives only their sum: one of them carries it and
	// the others have 0.
	Weight uint64
}

type setsAnswer struct {
	ValidatorSets map[string]struct {
		Validators []struct {
			PublicKey string   `json:"publicKey"`
			Weight    number   `json:"weight"`
			NodeIDs   []string `json:"nodeIDs"`
		} `json:"validators"`
		TotalWeight *number `json:"totalWeight"`
	} `json:"validatorSets"`
}

// AllValidatorsAt returns the validator sets of all subnets at a height. Subnets
// without an active validator are missing. Nodes before v1.14 do not have the
// method: [ErrNoMethod]. [ErrFutureHeight] when the node is behind height.
func (c *Client) AllValidatorsAt(ctx context.Context, height uint64) (map[chain.ID][]Member, error) {
	var r setsAnswer
	if err := c.platform(ctx, "getAllValidatorsAt", map[string]string{"height": decimal(height)}, &r); err != nil {
		return nil, err
	}
	return r.sets()
}

func (r *setsAnswer) sets() (map[chain.ID][]Member, error) {
	if r.ValidatorSets == nil {
		return nil, bad("no validator sets")
	}
	total := 0
	out := make(map[chain.ID][]Member, len(r.ValidatorSets))
	for text, set := range r.ValidatorSets {
		subnet, err := chain.ParseID(text)
		if err != nil {
			return nil, bad("subnet ID: %w", err)
		}
		members := make([]Member, 0, len(set.Validators)+1)
		left := set.TotalWeight
		if left == nil {
			return nil, bad("subnet %s: no total weight", subnet)
		}
		for _, v := range set.Validators {
			if members, err = appendEntry(members, v.PublicKey, uint64(v.Weight), v.NodeIDs); err != nil {
				return nil, bad("subnet %s: %w", subnet, err)
			}
			if total += max(len(v.NodeIDs), 1); total > MaxMembers {
				return nil, bad("more than %d validators", MaxMembers)
			}
			rest, borrow := bits.Sub64(uint64(*left), uint64(v.Weight), 0)
			if borrow != 0 {
				return nil, bad("subnet %s: validators weigh more than their total", subnet)
			}
			*left = number(rest)
		}
		if *left > 0 {
			members = append(members, Member{Weight: uint64(*left)})
		}
		out[subnet] = members
	}
	return out, nil
}

func appendEntry(members []Member, key string, weight uint64, nodeIDs []string) ([]Member, error) {
	pk := make([]byte, publicKeyLen)
	if err := unhex(pk, key); err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	if len(nodeIDs) == 0 {
		return nil, fmt.Errorf("no node has key %s", key)
	}
	for _, text := range nodeIDs {
		id, err := chain.ParseNodeID(text)
		if err != nil {
			return nil, fmt.Errorf("node ID: %w", err)
		}
		members = append(members, Member{NodeID: id, PublicKey: pk, Weight: weight})
		weight = 0
	}
	return members, nil
}

type setAnswer map[string]struct {
	PublicKey *string `json:"publicKey"`
	Weight    *number `json:"weight"`
}

// ValidatorsAt returns the validator set of one subnet at a height, in the order
// of node IDs. It is empty for a subnet that does not exist or has no
// validators. [ErrFutureHeight] when the node is behind height.
func (c *Client) ValidatorsAt(ctx context.Context, subnet chain.ID, height uint64) ([]Member, error) {
	params := map[string]string{"height": decimal(height), "subnetID": subnet.String()}
	var r setAnswer
	if err := c.platform(ctx, "getValidatorsAt", params, &r); err != nil {
		return nil, err
	}
	return r.members()
}

func (r setAnswer) members() ([]Member, error) {
	if len(r) > MaxMembers {
		return nil, bad("more than %d validators", MaxMembers)
	}
	members := make([]Member, 0, len(r))
	for text, v := range r {
		id, err := chain.ParseNodeID(text)
		if err != nil {
			return nil, bad("node ID: %w", err)
		}
		if v.Weight == nil {
			return nil, bad("validator %s: no weight", id)
		}
		m := Member{NodeID: id, Weight: uint64(*v.Weight)}
		if v.PublicKey != nil {
			m.PublicKey = make([]byte, publicKeyLen)
			if err := unhex(m.PublicKey, *v.PublicKey); err != nil {
				return nil, bad("validator %s: public key: %w", id, err)
			}
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b Member) int { return slices.Compare(a.NodeID[:], b.NodeID[:]) })
	return members, nil
}

// CurrentValidator is a validator at the last accepted block.
type CurrentValidator struct {
	NodeID chain.NodeID
	Weight uint64
	// L1 says that it pays a continuous fee from Balance, in nAVAX; at 0 it is inactive.
	L1      bool
	Balance uint64
	// ValidationID is set for L1 validators.
	ValidationID chain.ID
}

type currentAnswer struct {
	Validators []struct {
		NodeID       string  `json:"nodeID"`
		Weight       number  `json:"weight"`
		Balance      *number `json:"balance"`
		ValidationID string  `json:"validationID"`
	} `json:"validators"`
}

// CurrentValidators returns the validators of a subnet at the last accepted
// block, L1 validators also when they are inactive. It is empty for a subnet
// that does not exist. Asking for the primary network is costly for the node.
func (c *Client) CurrentValidators(ctx context.Context, subnet chain.ID) ([]CurrentValidator, error) {
	var r currentAnswer
	if err := c.platform(ctx, "getCurrentValidators", map[string]string{"subnetID": subnet.String()}, &r); err != nil {
		return nil, err
	}
	return r.validators()
}

func (r *currentAnswer) validators() ([]CurrentValidator, error) {
	if r.Validators == nil {
		return nil, bad("no validators")
	}
	if len(r.Validators) > MaxMembers {
		return nil, bad("more than %d validators", MaxMembers)
	}
	out := make([]CurrentValidator, len(r.Validators))
	for i, v := range r.Validators {
		id, err := chain.ParseNodeID(v.NodeID)
		if err != nil {
			return nil, bad("node ID: %w", err)
		}
		out[i] = CurrentValidator{NodeID: id, Weight: uint64(v.Weight)}
		if v.Balance == nil {
			continue
		}
		out[i].L1, out[i].Balance = true, uint64(*v.Balance)
		if out[i].ValidationID, err = chain.ParseID(v.ValidationID); err != nil {
			return nil, bad("validation ID of %s: %w", id, err)
		}
	}
	return out, nil
}

// L1Validator is a validator that pays from a balance, in nAVAX; at 0 it is inactive. The
// type has no name of its own, so that those who read it need not import this package.
type L1Validator = struct {
	NodeID          chain.NodeID
	Weight, Balance uint64
}

// L1Validators returns a subnet's L1 validators. Nodes that also validate without paying from
// a balance are left out. It is empty for a subnet that is no L1.
func (c *Client) L1Validators(ctx context.Context, subnet chain.ID) ([]L1Validator, error) {
	validators, err := c.CurrentValidators(ctx, subnet)
	if err != nil {
		return nil, err
	}
	free := make(map[chain.NodeID]bool)
	for _, v := range validators {
		free[v.NodeID] = free[v.NodeID] || !v.L1
	}
	var out []L1Validator
	for _, v := range validators {
		if !free[v.NodeID] {
			out = append(out, L1Validator{v.NodeID, v.Weight, v.Balance})
		}
	}
	return out, nil
}

// L1Fee returns what an active L1 validator pays now, in nAVAX a second.
func (c *Client) L1Fee(ctx context.Context) (uint64, error) {
	var r struct {
		Price *number `json:"price"`
	}
	if err := c.platform(ctx, "getValidatorFeeState", nil, &r); err != nil {
		return 0, err
	}
	if r.Price == nil {
		return 0, bad("no price")
	}
	return uint64(*r.Price), nil
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
