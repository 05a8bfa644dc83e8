// Package platform makes typed calls to an Avalanche node's info API and to its
// P-Chain: who the node is, which peers it has, and which validators each
// subnet has at which height. Everything that a node answers is bounded and
// checked for form, but believed: in particular, that each BLS key was
// registered with a proof of possession.
package platform

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/source"
)

const (
	// InfoPath is where a node answers for its info API.
	InfoPath     = "/ext/info"
	platformPath = "/ext/bc/P"

	// MaxMembers bounds the members of all validator sets of one answer.
	MaxMembers = 200_000
	// maxPeers bounds the peers of one answer.
	maxPeers = 100_000
)

// Classes of refusals, told apart by the node's text since it gives all of them
// the same code. Each comes wrapped together with the [source.RPCError]. Packages
// that cannot import this one tell them apart by their methods NotFound,
// FutureHeight and NoMethod.
var (
	// ErrNotFound: the chain or subnet does not exist, or the ID names something else.
	ErrNotFound error = &refusal{text: "not found", notFound: true}
	// ErrFutureHeight: the P-Chain of this node has not reached the height yet.
	ErrFutureHeight error = &refusal{text: "height not reached yet", futureHeight: true}
	// ErrNoMethod: the node's version does not have the method.
	ErrNoMethod error = &refusal{text: "node does not have the method", noMethod: true}
)

type refusal struct {
	text                             string
	notFound, futureHeight, noMethod bool
}

func (r *refusal) Error() string      { return r.text }
func (r *refusal) NotFound() bool     { return r.notFound }
func (r *refusal) FutureHeight() bool { return r.futureHeight }
func (r *refusal) NoMethod() bool     { return r.noMethod }

// Caller makes calls; [source.Client] is one.
type Caller interface {
	Call(ctx context.Context, path, method string, params, result any) error
}

// Client asks nodes. It has no state of its own and is safe for concurrent use.
type Client struct {
	caller Caller
}

// New returns a client that asks through caller.
func New(caller Caller) *Client { return &Client{caller: caller} }

func (c *Client) info(ctx context.Context, method string, params, result any) error {
	return classify(c.caller.Call(ctx, InfoPath, "info."+method, params, result))
}

func (c *Client) platform(ctx context.Context, method string, params, result any) error {
	return classify(c.caller.Call(ctx, platformPath, "platform."+method, params, result))
}

func classify(err error) error {
	var rpc *source.RPCError
	if !errors.As(err, &rpc) {
		return err
	}
	for _, class := range []struct {
		err   error
		texts []string
	}{
		{ErrNoMethod, []string{"can't find method", "method not found", "Method not found"}},
		{ErrFutureHeight, []string{"unfinalized height"}},
		{ErrNotFound, []string{"not found", "is not a blockchain", "there is no ID with alias", "there is no chain with alias"}},
	} {
		for _, text := range class.texts {
			if strings.Contains(rpc.Message, text) {
				return fmt.Errorf("%w: %w", class.err, err)
			}
		}
	}
	return err
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", source.ErrBadAnswer, fmt.Errorf(format, args...))
}

// number is an integer that the node writes as a string, or as a number.
type number uint64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(string(unquote(b)), 10, 64)
	if err != nil {
		return fmt.Errorf("not an unsigned integer: %.40q", b)
	}
	*n = number(v)
	return nil
}

// unquote returns what is between the quotes of a string, and all else as it is.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// unhex reads 0x and hex digits into dst, which must be filled exactly.
func unhex(dst []byte, s string) error {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) != 2*len(dst) {
		return fmt.Errorf("want 0x and %d hex digits, got %.20q", 2*len(dst), s)
	}
	_, err := hex.Decode(dst, []byte(digits))
	return err
}

// height reads the answer of the height calls.
func (c *Client) height(ctx context.Context, method string) (uint64, error) {
	var r struct {
		Height *number `json:"height"`
	}
	if err := c.platform(ctx, method, nil, &r); err != nil {
		return 0, err
	}
	if r.Height == nil || *r.Height == math.MaxUint64 {
		return 0, bad("no height")
	}
	return uint64(*r.Height), nil
}

// Height returns the height of the node's last accepted P-Chain block.
func (c *Client) Height(ctx context.Context) (uint64, error) { return c.height(ctx, "getHeight") }

// ProposedHeight returns the P-Chain height that the node would propose for a new
// block, a little behind the last accepted one, so that all validators have it.
func (c *Client) ProposedHeight(ctx context.Context) (uint64, error) {
	return c.height(ctx, "getProposedHeight")
}

// StakingAssetID returns the asset that the primary network's validators stake: AVAX.
func (c *Client) StakingAssetID(ctx context.Context) (chain.ID, error) {
	var r struct {
		AssetID string `json:"assetID"`
	}
	if err := c.platform(ctx, "getStakingAssetID", nil, &r); err != nil {
		return chain.ID{}, err
	}
	id, err := chain.ParseID(r.AssetID)
	if err != nil {
		return id, bad("asset ID: %w", err)
	}
	return id, nil
}

// SubnetOf returns the subnet that validates a blockchain. It never changes.
// [ErrNotFound] when there is no such blockchain.
func (c *Client) SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error) {
	var r struct {
		SubnetID string `json:"subnetID"`
	}
	params := map[string]string{"blockchainID": blockchain.String()}
	if err := c.platform(ctx, "validatedBy", params, &r); err != nil {
		return chain.ID{}, err
	}
	id, err := chain.ParseID(r.SubnetID)
	if err != nil {
		return id, bad("subnet ID: %w", err)
	}
	return id, nil
}

// Subnet is what the P-Chain knows of a subnet.
type Subnet struct {
	Permissioned bool
	// ConversionID names the conversion that made the subnet an L1; zero if it is none.
	ConversionID chain.ID
	// ManagerChainID and ManagerAddress name an L1's validator manager contract.
	ManagerChainID chain.ID
	ManagerAddress []byte
}

// IsL1 reports whether the subnet was converted to an L1.
func (s *Subnet) IsL1() bool { return !s.ConversionID.IsZero() }

// Subnet describes a subnet. [ErrNotFound] when there is none of that ID. The
// primary network is none: do not ask for it.
func (c *Client) Subnet(ctx context.Context, id chain.ID) (*Subnet, error) {
	var r struct {
		IsPermissioned bool   `json:"isPermissioned"`
		ConversionID   string `json:"conversionID"`
		ManagerChainID string `json:"managerChainID"`
		ManagerAddress string `json:"managerAddress"`
	}
	if err := c.platform(ctx, "getSubnet", map[string]string{"subnetID": id.String()}, &r); err != nil {
		return nil, err
	}
	s := &Subnet{Permissioned: r.IsPermissioned}
	for _, f := range []struct {
		dst  *chain.ID
		text string
	}{{&s.ConversionID, r.ConversionID}, {&s.ManagerChainID, r.ManagerChainID}} {
		if f.text == "" {
			continue // nodes before L1s existed
		}
		var err error
		if *f.dst, err = chain.ParseID(f.text); err != nil {
			return nil, bad("subnet: %w", err)
		}
	}
	if digits := strings.TrimPrefix(r.ManagerAddress, "0x"); digits != "" {
		addr, err := hex.DecodeString(digits)
		if err != nil {
			return nil, bad("manager address: %w", err)
		}
		s.ManagerAddress = addr
	}
	return s, nil
}

// ConversionOf returns the ID of the conversion that made a subnet an L1, zero if
// it is none. [ErrNotFound] when there is no such subnet.
func (c *Client) ConversionOf(ctx context.Context, subnet chain.ID) (chain.ID, error) {
	s, err := c.Subnet(ctx, subnet)
	if err != nil {
		return chain.ID{}, err
	}
	return s.ConversionID, nil
}
