// Package evm reads EVM chains, the C-Chain and those of L1s, from a node: blocks
// with receipts in batches whose size follows the node's pace, traces and balances
// in a lane of their own, hints of new heads, and what token contracts say about
// themselves. Everything that a node answers is bounded and checked: for form, and
// against the hash of its block, which is computed from the encodings of all that it
// covers. No hash covers calls and balances: a sample of the balances is proven by
// state roots, calls must explain what changed, and a second node can be asked.
package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// Node is what a Client asks; [source.Client] is one.
type Node interface {
	Call(ctx context.Context, path, method string, params, result any) error
	CallBatch(ctx context.Context, path string, calls []source.BatchCall) error
	CallBatchOf(ctx context.Context, path string, calls []source.BatchCall, choice source.Choice) error
	Nodes() []source.Node
	Fit(choice source.Choice) []source.Node
}

// Config says which chain to read and within which bounds. Zero values take the
// defaults given with each field.
type Config struct {
	// Node is asked. It bounds the length of an answer and the time that one takes:
	// traces of large blocks take some seconds.
	Node Node
	// Path is the chain's RPC at the node, for example /ext/bc/C/rpc, or empty when
	// the node's own address is that of the RPC.
	Path string
	// Name is what logs and metrics call the chain. Default Path.
	Name string
	// WS is the chain's WebSocket, for example ws://127.0.0.1:9650/ext/bc/C/ws.
	// Zero: Watch only polls.
	WS source.Endpoint
	// Swap returns when nodes replace the chain's API at the earliest, the zero time if that
	// is not known. They park all requests of the chain, for 15 s while a WebSocket is open:
	// from some seconds before it on there is none, until a block of the new kind was
	// seen. Nil: never.
	Swap func() time.Time
	// Needs names what a release must know to read the newest blocks, if that is more than
	// this one knows: then blocks that do not fit their hash as far as it is known here may
	// be made by other rules, and are unverified instead of false. Nil, or an empty name:
	// nothing.
	Needs func() string
	// AVAXAssetID is the ID of AVAX on the network, which amounts in the C-Chain's
	// imports and exports are given in. Zero: a block that has any is an error.
	AVAXAssetID evm.Hash
	// BatchBlocks bounds the blocks asked for in one request, 1 to 64. Default 64.
	BatchBlocks int
	// BatchBytes is the length of an answer above which fewer blocks are asked for
	// at once. Default 4 MiB; nodes cut answers off at 25 MB.
	BatchBytes int
	// BatchLatency is the time of an answer above which fewer blocks are asked for
	// at once. Default 500 ms.
	BatchLatency time.Duration
	// TraceTimeout is how long a node may trace one transaction; it should be shorter
	// than the time that Node gives an answer. Default 20 s.
	TraceTimeout time.Duration
	// PollInterval is how often Watch asks for the tip while the WebSocket is down
	// or silent. Default 500 ms.
	PollInterval time.Duration
	// Verify says how many senders are recovered. All that a block's hash covers is
	// always checked.
	Verify Verify

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

// maxBatch is the most blocks in one request: with traces and receipts of their
// own it stays far below the 1000 requests that a node takes.
const maxBatch = 64

func (c *Config) fill() error {
	if c.Node == nil || c.Path != "" && !strings.HasPrefix(c.Path, "/") {
		return errors.New("evm source: no node, or a path that does not begin with /")
	}
	if c.Name = cmp.Or(c.Name, c.Path); c.Name == "" {
		return errors.New("evm source: neither path nor name")
	}
	c.BatchBlocks = cmp.Or(c.BatchBlocks, maxBatch)
	c.BatchBytes = cmp.Or(c.BatchBytes, 4<<20)
	c.BatchLatency = cmp.Or(c.BatchLatency, 500*time.Millisecond)
	c.TraceTimeout = cmp.Or(c.TraceTimeout, 20*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, 500*time.Millisecond)
	if c.BatchBlocks < 1 || c.BatchBlocks > maxBatch {
		return fmt.Errorf("evm source: %d blocks in a request, not 1 to %d", c.BatchBlocks, maxBatch)
	}
	if c.BatchBytes < 0 || min(c.BatchLatency, c.TraceTimeout, c.PollInterval) < 0 {
		return errors.New("evm source: bounds must not be negative")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// Client reads one EVM chain. Each request goes to a node that can answer it, and at
// once to the next one if it does not; the client never waits to ask again, and
// bounds no number of requests: callers do. It is safe for concurrent use and has
// nothing to close: the nodes' connections are the caller's.
type Client struct {
	cfg   Config
	pace  *pace
	check *checker // nil: nothing is checked
	pool  pool
	ahead ahead
	// accepted and executed are the highest blocks of each kind that nodes have answered
	// for, where they execute blocks after they accepted them.
	accepted, executed atomic.Uint64

	blocks, txs, bytes, splits, traces, early, fallbacks, heads, polls metric.Counter
}

// New checks cfg and gives a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	counter := func(name, help string) metric.Counter {
		return cfg.Metrics.Counter("quorate_evm_source_"+name+"_total", help)
	}
	c := &Client{
		cfg:       cfg,
		check:     newChecker(cfg.Verify, cfg.Metrics, cfg.Logger, cfg.Needs),
		pace:      newPace(cfg.BatchBlocks, cfg.BatchBytes, cfg.BatchLatency),
		blocks:    counter("blocks", "Blocks read from the node."),
		txs:       counter("transactions", "Transactions read from the node."),
		bytes:     counter("bytes", "Bytes of blocks, receipts and traces read from the node."),
		splits:    counter("splits", "Batches halved because the node refused them."),
		traces:    counter("traces", "Blocks traced."),
		early:     counter("traces_ahead", "Blocks whose traces were asked for when their heads were announced."),
		fallbacks: counter("trace_fallbacks", "Blocks traced transaction by transaction."),
		heads:     counter("heads", "New heads announced by the node."),
		polls:     counter("polls", "Polls for new heads."),
	}
	cfg.Metrics.Gauges("quorate_evm_source_node_traces", "Whether a node has the debug API, as far as is known.", []string{"node"}, c.traceMetric)
	return c, nil
}

// ChainID returns the chain's number.
func (c *Client) ChainID(ctx context.Context) (id uint64, err error) {
	err = c.one(ctx, "eth_chainId", nil, func(result []byte) error {
		var f fields
		f.Reset(result)
		id = f.uint("chain ID")
		f.End()
		return f.Err()
	})
	return id, err
}

// Balance returns the native balance of a in wei after the block at height, nil
// for the last one.
func (c *Client) Balance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	at := "latest"
	if height != nil {
		at = number(*height)
	}
	wei := new(uint256.Int)
	if err := c.one(ctx, "eth_getBalance", []any{a.String(), at}, balanceInto(wei)); err != nil {
		return nil, err
	}
	return wei, nil
}

func balanceInto(wei *uint256.Int) func([]byte) error {
	return func(result []byte) error {
		var f fields
		f.Reset(result)
		f.uint256("balance", wei)
		f.End()
		return f.Err()
	}
}

// one makes a single call, at any node that does not refuse it.
func (c *Client) one(ctx context.Context, method string, params any, decode func([]byte) error) error {
	calls := []source.BatchCall{{Method: method, Params: params, Decode: decode}}
	err := c.ask(ctx, calls)
	if err != nil && classify(err) == noState {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return outward(err)
}

// ask sends calls that any node may answer in one request. A refusal of one of them
// is asked of the next node.
func (c *Client) ask(ctx context.Context, calls []source.BatchCall) error {
	return c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, source.Choice{
		Rank: c.pool.forBlocks(0),
		Check: func(_ source.Node, calls []source.BatchCall) error {
			if err := firstRefusal(calls); err != nil {
				return source.Pass(err)
			}
			return nil
		},
	})
}
