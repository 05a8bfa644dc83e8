package webhook

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/evm"
	"quorate/engine/primary"
)

// Type says what a webhook is told of.
type Type string

// The types of webhooks.
const (
	// AddressActivity are the transactions of accounts on a chain of the EVM.
	AddressActivity Type = "address_activity"
	// PrimaryActivity are the balances and rewards of addresses on the P- or the X-Chain.
	PrimaryActivity Type = "primary_network_address_activity"
	// ValidatorActivity is what happens to the validators of a node or a subnet.
	ValidatorActivity Type = "validator_activity"
)

// Status says whether a webhook delivers.
type Status string

// The states of a webhook.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Hook is a webhook. It never changes: it is replaced.
type Hook struct {
	ID     string `json:"id"`
	Client string `json:"client"` // who made it

	// Type is empty in records from when there was one type: AddressActivity.
	Type        Type   `json:"type,omitempty"`
	URL         string `json:"url"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Status      Status `json:"status"`
	// Reason says why it was made inactive, empty if its client did.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`

	// Of AddressActivity.
	Chain     chain.ID      `json:"chain"`
	Addresses []evm.Address `json:"addresses"`
	Internal  bool          `json:"internal"` // internal transactions are told

	// Network is the name that the client has for the network, On the chain, and Told are
	// the sub-events that are told: of the types of the primary network.
	Network string       `json:"network,omitempty"`
	On      primary.Kind `json:"on,omitempty"`
	Told    []Sub        `json:"told,omitempty"`
	// Keys and Low are of PrimaryActivity. Low is set where BalanceLow is told.
	Keys []address.Address `json:"keys,omitempty"`
	Low  *Low              `json:"low,omitempty"`
	// Of ValidatorActivity.
	Validators *Validators `json:"validators,omitempty"`
}

// Kind returns the type.
func (h *Hook) Kind() Type {
	if h.Type == "" {
		return AddressActivity
	}
	return h.Type
}

// tells reports whether any of some sub-events is told.
func (h *Hook) tells(any ...Sub) bool {
	return slices.ContainsFunc(any, func(s Sub) bool { return slices.Contains(h.Told, s) })
}

// Sub is a sub-event of a type of the primary network.
type Sub string

// The sub-events.
const (
	BalanceChange Sub = "balance_change"
	BalanceLow    Sub = "balance_threshold"
	RewardPaid    Sub = "reward_distribution" // also of ValidatorActivity

	ValidatorStake Sub = "validator_stake"
	DelegatorStake Sub = "delegator_stake"
	L1Increased    Sub = "l1_validator_balance_increased"
	L1Disabled     Sub = "l1_validator_disabled"
	L1Removed      Sub = "l1_validator_removed"
	L1Low          Sub = "l1_validator_balance_threshold"
)

// Subs returns the sub-events of a type.
func (t Type) Subs() []Sub {
	switch t {
	case PrimaryActivity:
		return []Sub{BalanceChange, BalanceLow, RewardPaid}
	case ValidatorActivity:
		return []Sub{ValidatorStake, DelegatorStake, RewardPaid, L1Increased, L1Disabled, L1Removed, L1Low}
	case AddressActivity:
	}
	return nil
}

// Low is an amount of AVAX below which a balance of an address is told.
type Low struct {
	Balance string `json:"balance"` // one of BalanceNames
	Least   uint64 `json:"least"`   // nAVAX
}

// BalanceNames returns what balances there are on a chain, by where the outputs are that
// they are the sum of.
func BalanceNames(on primary.Kind) []string {
	if on == primary.PChain {
		return []string{unlockedUnstaked, unlockedStaked, lockedPlatform, lockedStakeable, lockedStaked, pendingStaked}
	}
	return []string{unlocked, locked}
}

// Validators says which validators a webhook is about: exactly one of Node and Subnet
// is set.
type Validators struct {
	Node   *chain.NodeID `json:"node,omitempty"`
	Subnet *chain.ID     `json:"subnet,omitempty"`
	// Nodes and Subnets are those that it is only about; empty: all.
	Nodes   []chain.NodeID `json:"nodes,omitempty"`
	Subnets []chain.ID     `json:"subnets,omitempty"`
	// Least is the balance of a validator of an L1, in nAVAX, below which L1Low is told.
	Least *uint64 `json:"least,omitempty"`
}

// match reports whether a validator is one of them.
func (v *Validators) match(node chain.NodeID, subnet chain.ID) bool {
	return (v.Node == nil || *v.Node == node) && (v.Subnet == nil || *v.Subnet == subnet) &&
		(len(v.Nodes) == 0 || slices.Contains(v.Nodes, node)) && (len(v.Subnets) == 0 || slices.Contains(v.Subnets, subnet))
}

// record is what is committed of a webhook: state and position change together.
type record struct {
	Version int `json:"version"`
	Hook
	Position string `json:"position"`        // behind the last event that was taken
	State    []byte `json:"state,omitempty"` // what messages behind it follow from; see derivation
	// Retractions is how many were taken.
	Retractions uint32    `json:"retractions,omitempty"`
	Failing     time.Time `json:"failing,omitempty"` // since when deliveries fail; zero: they do not
}

// The versions of records: those of the primary network's types are newer, and left out
// by who does not know them.
const (
	recordVersion   = 1
	recordOfPrimary = 2
)

func newRecord(h *Hook) *record {
	r := &record{Version: recordVersion, Hook: *h}
	if h.Kind() != AddressActivity {
		r.Version = recordOfPrimary
	}
	return r
}

func (r *record) clone() *record {
	c := *r
	c.Addresses = slices.Clone(r.Addresses)
	return &c
}

func decodeRecord(raw []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("webhook: a record: %w", err)
	}
	if r.Version != newRecord(&r.Hook).Version {
		return nil, fmt.Errorf("webhook: a record of version %d", r.Version)
	}
	return r, nil
}

// Why something is refused.
var (
	ErrNotFound = errors.New("there is no such webhook")
	ErrQuota    = errors.New("this client has too many webhooks")
	ErrFull     = errors.New("there are too many webhooks")
	ErrStopping = errors.New("webhooks are not available: the server is starting or stopping")
	ErrChain    = errors.New("the chain is not followed or has no block yet")
	ErrURL      = errors.New("the receiver's address is invalid")
	// ErrWatched: what would be kept of the validators is too much, or they are not known.
	ErrWatched = errors.New("the balances of these validators cannot be watched")
)
