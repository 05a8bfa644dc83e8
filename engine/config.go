// Package engine builds the running system from one [Config]: it opens the
// databases, starts a [network.Network] for each network of the followed nodes and
// a [follow.EVM] for each of their chains that is indexed, and stops them all in
// the reverse order. What these do is theirs.
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/depot"
	"quorate/engine/facts"
	"quorate/engine/folder"
	"quorate/engine/follow"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/network"
	"quorate/engine/nftmeta"
	"quorate/engine/operation"
	"quorate/engine/source"
	"quorate/engine/source/evm"
	"quorate/engine/webhook"
	"quorate/engine/yield"
)

// Config is the configuration of an [Engine]. Zero values take the defaults
// given with each field.
type Config struct {
	// Nodes are the HTTP addresses of Avalanche nodes to follow, for example
	// http://127.0.0.1:9650. They may belong to several networks; those of one
	// network stand in for each other. At least one, unless there is a Shared log: then what
	// servers with nodes have written there is served.
	Nodes []source.Endpoint
	// DataDir holds the TLS certificate that names us to validators, the kept
	// results and the logs. It must belong to one process alone. Required.
	DataDir string

	// KeepResults is how long a signed message is kept, and KeepResultsBytes how
	// many bytes of them; 0 is without bound.
	KeepResults      time.Duration
	KeepResultsBytes int64

	// Depot is where the archives of all chains are copied to, and what chains begin with
	// that lack blocks; nil: there is none.
	Depot *depot.Depot
	// Shared is the log of newest blocks that several servers share; nil: there is none.
	Shared facts.Log
	// ArchiveKeep says how much of each chain's newest blocks the archive keeps; the
	// zero value keeps all.
	ArchiveKeep archive.Keep

	// Settings are those of every network, and the log of all parts.
	network.Settings

	// Start is where chains begin; older blocks are fetched below those that begin
	// above. Default the genesis block.
	Start follow.StartBlock
	// Memory bounds all caches and buffers together, in bytes; see [NewBudget]. At
	// least [MinMemory], default a quarter of the machine's memory.
	Memory int64
	// Uncompressed leaves what is written to the index as it is.
	Uncompressed bool

	// Spare is the processors' time that requests leave, for background work;
	// nil has such work take what it wants.
	Spare *yield.Time

	// HealthEvery is how often each health check runs. Default 30 s.
	HealthEvery time.Duration
	// MinFreeBytes is the free space on the data folder's volume below which the
	// diskspace check fails, as it does below 3% of the volume. Default 512 MiB.
	MinFreeBytes uint64
	// PluginDir is the folder of virtual machine plugins; empty: plugins in the
	// data folder.
	PluginDir string

	// NoIndex follows no chain: only messages are signed.
	NoIndex bool
	// NoPrimary follows no chain of the primary network but its C-Chain's EVM.
	NoPrimary bool
	// Genesis are the genesis bytes of the P-Chain of networks, by number. No node has
	// them; without them what the genesis made is not known.
	Genesis map[uint32][]byte
	// CChain is what is told of the C-Chain, EVMChains are those besides it.
	CChain    follow.Details
	EVMChains []EVMConfig
	// Verify says how many senders of transactions are recovered.
	Verify evm.Verify
	// FetchConcurrency bounds the requests for blocks that are made at one time for a
	// chain, TraceConcurrency those for traces. Default twice the processors, 4 to 32.
	FetchConcurrency, TraceConcurrency int
	// UntracedAfter is for how long no node can trace blocks of a chain until new ones are
	// indexed without their traces, which are made up for later; 0: they wait.
	UntracedAfter time.Duration
	// SecondShare has a second node asked for the calls of one block in so many.
	// Default [verdict.DefaultShare].
	SecondShare uint32
	// MaxAnswer bounds an answer of a chain's nodes, in bytes. Default as of [follow.Config].
	MaxAnswer int
	// StopTimes is how many times as long as usual each part may take to stop: a machine
	// on which much else runs may keep a disk busy for seconds. Default 1.
	StopTimes int
	// Exports bounds what exports of transactions may take; its Dir, Store, Chains and the
	// like are set by the engine.
	Exports operation.Config
	// Webhooks says what clients may have delivered to their servers; its Store, Chain and
	// the like are set by the engine.
	Webhooks webhook.Config
	// Metadata says whether the metadata of NFTs are fetched, and how; its Store, Chains and
	// the like are set by the engine.
	Metadata nftmeta.Config
	// OnProgress is called with how far the index of a chain is; it must not block.
	OnProgress func(ingest.Progress)

	// Metrics takes the metrics of all parts; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if len(c.Nodes) == 0 && c.Shared == nil {
		return errors.New("no node to follow: give the URL of at least one Avalanche node")
	}
	if c.DataDir == "" {
		return errors.New("no data folder given")
	}
	c.HealthEvery = cmp.Or(c.HealthEvery, 30*time.Second)
	c.MinFreeBytes = cmp.Or(c.MinFreeBytes, folder.MinFreeBytes)
	c.FetchConcurrency = cmp.Or(c.FetchConcurrency, concurrency())
	c.TraceConcurrency = cmp.Or(c.TraceConcurrency, concurrency())
	if c.Memory = cmp.Or(c.Memory, defaultMemory()); c.Memory < MinMemory {
		return fmt.Errorf("%d bytes for caches: at least %d are needed", c.Memory, MinMemory)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	if min(c.HealthEvery, c.UntracedAfter) < 0 {
		return errors.New("durations must not be negative")
	}
	return c.Settings.Fill()
}

// EVMConfig names an EVM chain besides the C-Chain. It is followed together with
// the first network that has nodes.
type EVMConfig struct {
	// RPC and WS are the addresses of the chain's API at a node, for example
	// http://HOST:9650/ext/bc/ID/rpc and ws://HOST:9650/ext/bc/ID/ws. RPC is required.
	RPC, WS source.Endpoint
	// ID is the blockchain ID; required. Subnet is the subnet's, VM the virtual machine's.
	ID, Subnet, VM chain.ID
	// Names are further names by which the chain can be asked for.
	Names   []string
	Details follow.Details
}

// Name returns what the chain is called in health checks, logs and metrics.
func (c *EVMConfig) Name() string {
	if len(c.Names) > 0 {
		return c.Names[0]
	}
	return c.ID.String()
}

// configured returns what the operator has said of a chain, or nil.
func (c *Config) configured(id chain.ID) *EVMConfig {
	i := slices.IndexFunc(c.EVMChains, func(e EVMConfig) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return &c.EVMChains[i]
}

// nodeless reports whether no node is followed.
func (c *Config) nodeless() bool { return len(c.Nodes) == 0 }

// Budget shares the memory for caches out to what cfg has followed.
func (c *Config) Budget() Budget {
	chains := len(c.EVMChains) + 1
	if c.NoIndex {
		chains = 0
	}
	return NewBudget(cmp.Or(c.Memory, defaultMemory()), chains, 1)
}
