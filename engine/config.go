// Package engine builds the running system from one [Config]: for each network
// followed it starts the source, the validator sets, the peer network and the
// aggregator, in the order in which they depend on each other, and stops them
// in the reverse order.
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// Config is everything an [Engine] can be told. Zero values take the defaults
// given with each field.
type Config struct {
	// Nodes are the HTTP addresses of Avalanche nodes to follow, for example
	// http://127.0.0.1:9650. They may belong to several networks; those of one
	// network stand in for each other. At least one.
	Nodes []source.Endpoint
	// DataDir holds the TLS certificate that names us to validators, the kept
	// results and the logs. It must belong to one process alone. Required.
	DataDir string

	// BufferWindow bounds the wait for the buffer of a request once its quorum
	// has signed. Longer gives more signers when validators are slow. Default 250 ms.
	BufferWindow time.Duration
	// RequestTimeout ends an aggregation that finds no quorum. Default 8 s, at most 60 s.
	RequestTimeout time.Duration
	// KeepResults is how long a signed message is kept, and KeepResultsBytes how
	// many bytes of them; 0 is without bound.
	KeepResults      time.Duration
	KeepResultsBytes int64
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
	// MinConnected is the share of the primary network's stake, in percent, that
	// must be connected for the engine to call itself ready. Default 67.
	MinConnected int
	// ConnectPatience is how long after the start the engine waits for
	// MinConnected before it is ready all the same. Default 15 s.
	ConnectPatience time.Duration

	// HealthEvery is how often each health check runs. Default 30 s.
	HealthEvery time.Duration
	// MinFreeBytes is the free space on the data folder's volume below which the
	// diskspace check fails, as it does below 3% of the volume. Default 512 MiB.
	MinFreeBytes uint64
	// PluginDir is the folder of virtual machine plugins; empty: plugins in the
	// data folder.
	PluginDir string

	// TrackPeers are validators that stay connected whatever the validator sets
	// say, at addresses that the operator knows, private ones too.
	TrackPeers []TrackedPeer

	// Workers verify signatures. Default: one for each core.
	Workers int

	// NoIndex follows no EVM chain: only messages are signed.
	NoIndex bool
	// CChain is what is told of the C-Chain, EVMChains are those besides it.
	CChain    ChainDetails
	EVMChains []EVMConfig
	// SignAhead has warp messages signed when their blocks are indexed.
	SignAhead bool
	// OnProgress is told how far the index of a chain is; it must not block.
	OnProgress func(ingest.Progress)

	// Log returns the logger of a name; nil discards all logs.
	Log func(name string) *slog.Logger
	// Metrics takes the metrics of all parts; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if len(c.Nodes) == 0 {
		return errors.New("no node to follow: give the URL of at least one Avalanche node")
	}
	if c.DataDir == "" {
		return errors.New("no data folder given")
	}
	c.BufferWindow = cmp.Or(c.BufferWindow, 250*time.Millisecond)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 8*time.Second)
	c.HeightPoll = cmp.Or(c.HeightPoll, 200*time.Millisecond)
	c.PeerPoll = cmp.Or(c.PeerPoll, 10*time.Second)
	c.MinConnected = cmp.Or(c.MinConnected, 67)
	c.ConnectPatience = cmp.Or(c.ConnectPatience, 15*time.Second)
	c.HealthEvery = cmp.Or(c.HealthEvery, 30*time.Second)
	c.MinFreeBytes = cmp.Or(c.MinFreeBytes, 512<<20)
	if c.Log == nil {
		c.Log = func(string) *slog.Logger { return slog.New(slog.DiscardHandler) }
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	switch {
	case c.BufferWindow < 0, c.RequestTimeout < 0, c.HeightPoll < 0, c.PeerPoll < 0, c.ConnectPatience < 0, c.HealthEvery < 0:
		return errors.New("durations must not be negative")
	case c.MinConnected < 0 || c.MinConnected > 100:
		return fmt.Errorf("minimum connected stake of %d%%: must be 0 to 100", c.MinConnected)
	}
	return nil
}
