package follow

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/depot"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// Common is what is said of a chain of any kind. All fields but Start, Depot, Feed, Nodeless
// and OnProgress are required.
type Common struct {
	ID chain.ID
	// Name is what the chain is called in health checks, logs and metrics.
	Name string
	Host Host
	// Start is where the chain begins. If it has begun above, older blocks are fetched.
	Start StartBlock
	// WindowBytes bounds the blocks that wait for their commit, in memory.
	WindowBytes int
	// Archive opens the archive of the chain, and closes it when all chains have stopped.
	Archive func(kind archive.Kind, log *slog.Logger, set *metric.Set) (*archive.Archive, error)
	// Depot returns what copies between the archive and a depot; nil: there is none.
	Depot func(*archive.Archive) *depot.Copy
	// Feed is the log of newest blocks that several servers share; nil: there is none.
	Feed *Feed
	// Nodeless has no node asked: what others have comes from Feed and Depot.
	Nodeless bool
	// Room returns why nothing can be written to the data folder, or nil.
	Room func() error
	// OnProgress is called with how far the index is; it must not block.
	OnProgress func(ingest.Progress)
	// Log returns the logger of a name.
	Log func(name string) *slog.Logger
}

// EVMBlocks is where the blocks of an EVM chain come from: nodes, or a server that has them.
type EVMBlocks interface {
	Nodes[*evm.Block]
	ingest.Completer[*evm.Block]
}

// Config says which EVM chain to follow and with what. All fields but Blocks, VM, RPC, WS,
// Details, UntracedAfter and Verify are required.
type Config struct {
	Common
	Subnet, VM chain.ID
	// Blocks is where blocks come from. Nil: from the chain's nodes, which also say what no
	// block does. Otherwise no node is asked anything, and what the chain is must have been
	// remembered.
	Blocks EVMBlocks
	// RPC and WS are the addresses of the chain's own API. If RPC is zero the
	// followed nodes of the network are asked, below Path.
	RPC, WS source.Endpoint
	Path    string
	Details Details
	// Fetchers and Tracers bound the requests for blocks and for traces at one time.
	Fetchers, Tracers int
	// UntracedAfter is for how long no node can trace anything until new blocks are
	// indexed without their traces; 0: they wait.
	UntracedAfter time.Duration
	// SecondShare has a second node asked for the calls of one block in so many; 0 stands
	// for [verdict.DefaultShare].
	SecondShare uint32
	// MaxAnswer bounds an answer of the chain's nodes in bytes; 0 stands for 32 MiB.
	MaxAnswer int
	// Verify says how many senders of transactions are recovered.
	Verify evmsource.Verify

	DB     *store.DB
	Memory Memory
	// BalancesBytes bounds the memory for balances.
	BalancesBytes int64
	// Spare is the time of work that nobody waits for.
	Spare *yield.Time
	// OnURIs is called with NFTs of the chain whose URIs were read for the first time or
	// have changed; it must not block. Nil: nobody wants them.
	OnURIs func(of chain.ID, nfts []index.NFT)
}

// Host is the network that a chain belongs to.
type Host interface {
	ID() uint32
	// Go starts an actor that ends before the network does.
	Go(name string, run func(context.Context) error) error
	// Asset returns the ID of AVAX if it is known, AskAsset asks a node if it is not.
	Asset() (id chain.ID, ok bool)
	AskAsset(ctx context.Context) (chain.ID, error)
	// Swap returns when nodes may replace the C-Chain's API, the zero time if never or not
	// known.
	Swap() time.Time
	// Needs names what a release must know that reads the network's newest blocks, if that
	// is more than this one knows.
	Needs() string
	// Source returns a client of the chain's API that the network closes: at own, or
	// below a path of the followed nodes if own is zero; at is the first address.
	Source(cfg source.Config, own source.Endpoint) (c *source.Client, at source.Endpoint, err error)
	// Accepted takes each block of a chain before it is indexed, and again if that is
	// tried again; target is the chain's last known height.
	Accepted(id chain.ID, b *evm.Block, target uint64)
	Metrics() *metric.Set
}

// Memory is what is known again after a restart though no node answers.
type Memory interface {
	// Recall reads a record and reports whether there is a good one.
	Recall(key []byte, to any) bool
	Remember(ctx context.Context, key []byte, record any)
}

// StartBlock says with which block a chain begins whose history nobody has. The zero
// value is the genesis block.
type StartBlock struct {
	// Height of the first block; with Below, how far below the node's last block it is.
	Height uint64
	Below  bool
}

// ParseStartBlock reads a height, or latest-D for D blocks below the node's last one.
func ParseStartBlock(s string) (b StartBlock, err error) {
	text := s
	if text, b.Below = strings.CutPrefix(s, "latest-"); !b.Below && s == "latest" {
		return StartBlock{Below: true}, nil
	}
	if b.Height, err = strconv.ParseUint(text, 10, 64); err != nil {
		return StartBlock{}, fmt.Errorf("%q is neither a height nor of the form latest-1000", s)
	}
	return b, nil
}
