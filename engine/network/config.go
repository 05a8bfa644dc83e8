package network

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chains"
	"quorate/engine/health"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/engine/vm"
)

// Settings are what the operator says of every network. Zero values take the
// defaults given with each field.
type Settings struct {
	// BufferWindow bounds the wait for the buffer of a request once its quorum
	// has signed. A longer one yields more signers when validators are slow. Default 250 ms.
	BufferWindow time.Duration
	// RequestTimeout ends an aggregation that finds no quorum. Default 8 s, at most 60 s.
	RequestTimeout time.Duration
	// HeightPoll is how often the proposed P-Chain height is asked for. Each
	// poll is one small call to the node. Default 200 ms.
	HeightPoll time.Duration
	// TrackedSubnets are followed, and their validators connected, from the start
	// on; those of followed chains always are. Default none.
	TrackedSubnets []chain.ID
	// AllowedSubnets are the only ones, besides the primary network and tracked
	// ones, whose validators are asked to sign. Default all.
	AllowedSubnets []chain.ID
	// MaxHeightLookback is how far below the proposed P-Chain height a request's
	// may be, in blocks. Zero is no limit: then a client can have the node compute
	// sets of any age.
	MaxHeightLookback uint64
	// PeerPoll is how often the node is asked for addresses of validators. Default 10 s.
	PeerPoll time.Duration
	// StandingPoll is how often the node is asked for the uptimes of validators and the
	// supply. Each poll costs the node a look at all stakers. Default 5 min.
	StandingPoll time.Duration
	// MinConnected is the share of the primary network's stake, in percent, that
	// must be connected for the engine to call itself ready. Default 67.
	MinConnected int
	// ConnectPatience is how long after the start the engine waits for
	// MinConnected before it is ready all the same. Default 15 s.
	ConnectPatience time.Duration
	// TrackPeers are validators that stay connected whatever the validator sets
	// say, at addresses that the operator knows, private ones too.
	TrackPeers []TrackedPeer
	// SignAhead has warp messages signed when their blocks are indexed.
	SignAhead bool
	// Workers verify signatures. Default: one for each core.
	Workers int
	// Log returns the logger of a name; nil discards all logs.
	Log func(name string) *slog.Logger
}

// Fill sets the defaults and returns what is wrong with the rest.
func (c *Settings) Fill() error {
	c.BufferWindow = cmp.Or(c.BufferWindow, 250*time.Millisecond)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 8*time.Second)
	c.HeightPoll = cmp.Or(c.HeightPoll, 200*time.Millisecond)
	c.PeerPoll = cmp.Or(c.PeerPoll, 10*time.Second)
	c.StandingPoll = cmp.Or(c.StandingPoll, 5*time.Minute)
	c.MinConnected = cmp.Or(c.MinConnected, 67)
	c.ConnectPatience = cmp.Or(c.ConnectPatience, 15*time.Second)
	if c.Log == nil {
		c.Log = func(string) *slog.Logger { return slog.New(slog.DiscardHandler) }
	}
	switch {
	case c.BufferWindow < 0, c.RequestTimeout < 0, c.HeightPoll < 0, c.PeerPoll < 0, c.StandingPoll < 0, c.ConnectPatience < 0:
		return errors.New("durations must not be negative")
	case c.MinConnected < 0 || c.MinConnected > 100:
		return fmt.Errorf("minimum connected stake of %d%%: must be 0 to 100", c.MinConnected)
	}
	return nil
}

// Config is what a [Network] is built of. All fields but Prefix, Known, APIs and
// Results are required.
type Config struct {
	// Settings must have been filled.
	Settings
	ID uint32
	// Nodes stand in for each other, best first; see [Network.SetNodes].
	Nodes []source.Endpoint
	// Nodeless serves what is known, and asks and connects to nobody.
	Nodeless bool
	// Prefix goes before the names of chains; the first network's have none.
	Prefix string
	// Known is what is remembered of the network, or what its node has answered.
	Known Record
	// APIs are those of configured chains, which are asked before the nodes are.
	APIs []API
	// Certificate names us to validators.
	Certificate tls.Certificate
	// SetsFile keeps the last known validator sets for the next start.
	SetsFile string

	// KeptBytes and PartBytes bound the memory of results and of single signatures.
	KeptBytes, PartBytes int

	// What the networks of a process share.
	// Answers and Passed bound what their nodes answer, to us and to clients; nil: they
	// are not bounded together.
	Answers, Passed *source.Pool
	Names           *chains.Registry
	Checker         *health.Checker
	VMs             *vm.Loader
	Results         aggregator.Store
	Notes           aggregator.Notes
	Memory          Memory
	// Room returns why nothing can be written to the data folder, or nil.
	Room func() error

	// Found is called when the network may know more of its chains, also before
	// any node has answered. It attaches those that are to be indexed.
	Found func(*Network) error
	// Fail ends the process: what is served of the network is not true any more.
	Fail func(error)
}

// Memory is what is known again after a restart.
type Memory interface {
	Remember(ctx context.Context, key []byte, record any)
}

// Record is what all nodes of a network agree on. It is remembered.
type Record struct {
	// Version is what peers demanded last.
	Version platform.Version `json:"version"`
	// Chains of the primary network, by name.
	Chains map[string]chain.ID `json:"chains"`
	// Asset is the ID of AVAX.
	Asset chain.ID `json:"asset"`
	// Upgrades are those of a network whose nodes say them.
	Upgrades *rules.Upgrades `json:"upgrades,omitempty"`
	// Sets is how right validator sets of own rows have proved.
	Sets valset.Trust `json:"validatorSets,omitzero"`
}

// Merge adds what another record says and this one lacks.
func (r *Record) Merge(other *Record) {
	if r.Version.Compare(other.Version) < 0 {
		r.Version = other.Version
	}
	if r.Asset.IsZero() {
		r.Asset = other.Asset
	}
	if r.Chains == nil {
		r.Chains = make(map[string]chain.ID)
	}
	for name, of := range other.Chains {
		if _, ok := r.Chains[name]; !ok {
			r.Chains[name] = of
		}
	}
	if u := other.Upgrades; u != nil && (r.Upgrades == nil || u.Helicon < r.Upgrades.Helicon) {
		r.Upgrades = u
	}
}

// API is the address of a configured chain's own API.
type API struct {
	ID, Subnet chain.ID
	RPC, WS    source.Endpoint // WS may be zero
}

// allowed returns the subnets that clients may have followed; those of configured
// chains are among them.
func (c *Config) allowed() []chain.ID {
	if len(c.AllowedSubnets) == 0 {
		return nil
	}
	ids := slices.Clone(c.AllowedSubnets)
	for i := range c.APIs {
		ids = append(ids, c.APIs[i].Subnet)
	}
	return ids
}
