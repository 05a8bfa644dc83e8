// Package evm reads EVM chains, the C-Chain and those of L1s, from a node: blocks
// with receipts in batches whose size follows the node's pace, traces and balances
// in a lane of their own, hints of new heads, and what token contracts say about
// themselves. Everything that a node answers is bounded and checked: for form, and
// that its parts belong together. What a block's hash stands for is not computed.
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

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// Node is what a Client asks; [source.Client] is one.
type Node interface {
	Call(ctx context.Context, path, method string, params, result any) error
	CallBatch(ctx context.Context, path string, calls []source.BatchCall) error
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
	// Connections bounds the requests for blocks at one time, since a node works at
	// each by one thread. Default 4.
	Connections int
	// TraceConnections bounds the requests for traces at one time. Default 4.
	TraceConnections int
	// TraceTimeout is how long the node may trace one transaction. Default 20 s.
	TraceTimeout time.Duration
	// Retries is how often a request is sent again when the node cannot be reached,
	// has no time or limits us. Default 3; negative: never.
	Retries int
	// RetryPause is the pause before the first of them; it doubles. Default 200 ms.
	RetryPause time.Duration
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
	c.Connections = cmp.Or(c.Connections, 4)
	c.TraceConnections = cmp.Or(c.TraceConnections, 4)
	c.TraceTimeout = cmp.Or(c.TraceTimeout, 20*time.Second)
	c.Retries = max(0, cmp.Or(c.Retries, 3))
	c.RetryPause = cmp.Or(c.RetryPause, 200*time.Millisecond)
	c.PollInterval = cmp.Or(c.PollInterval, 500*time.Millisecond)
	if c.BatchBlocks < 1 || c.BatchBlocks > maxBatch {
		return fmt.Errorf("evm source: %d blocks in a request, not 1 to %d", c.BatchBlocks, maxBatch)
	}
	if min(c.BatchBytes, c.Connections, c.TraceConnections) < 0 ||
		min(c.BatchLatency, c.TraceTimeout, c.RetryPause, c.PollInterval) < 0 {
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

// Client reads one EVM chain. It is safe for concurrent use and has nothing to
// close: the node's connections are the caller's.
type Client struct {
	cfg   Config
	pace  *pace
	check *checker // nil: nothing is checked
	// Tokens of requests under way.
	fetching, tracing chan struct{}
	// receiptsByTx: the node does not know eth_getBlockReceipts.
	receiptsByTx atomic.Bool

	blocks, txs, bytes, retries, splits, traces, fallbacks, heads, polls metric.Counter
}

// New checks cfg and gives a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	counter := func(name, help string) metric.Counter {
		return cfg.Metrics.Counter("quorate_evm_source_"+name+"_total", help)
	}
	return &Client{
		cfg:       cfg,
		check:     newChecker(cfg.Verify, cfg.Metrics, cfg.Logger),
		pace:      newPace(cfg.BatchBlocks, cfg.BatchBytes, cfg.BatchLatency),
		fetching:  make(chan struct{}, cfg.Connections),
		tracing:   make(chan struct{}, cfg.TraceConnections),
		blocks:    counter("blocks", "Blocks read from the node."),
		txs:       counter("transactions", "Transactions read from the node."),
		bytes:     counter("bytes", "Bytes of blocks, receipts and traces read from the node."),
		retries:   counter("retries", "Batches asked for again."),
		splits:    counter("splits", "Batches halved because the node refused them."),
		traces:    counter("traces", "Blocks traced."),
		fallbacks: counter("trace_fallbacks", "Blocks traced transaction by transaction."),
		heads:     counter("heads", "New heads announced by the node."),
		polls:     counter("polls", "Polls for new heads."),
	}, nil
}

// Features is what the node offers beyond blocks and receipts.
type Features struct {
	// Trace: the debug API is there, so [Client.Trace] works for blocks whose state
	// the node has.
	Trace bool
}

// Features asks what the node offers.
func (c *Client) Features(ctx context.Context) (Features, error) {
	// No block has this hash: a node with the debug API says so.
	calls := []source.BatchCall{{Method: "debug_traceBlockByHash", Params: []any{evm.Hash{}.String(), tracer(callTracer, c.cfg.TraceTimeout)}}}
	if _, err := c.ask(ctx, c.tracing, calls); err != nil {
		return Features{}, outward(err)
	}
	err := calls[0].Err
	if err == nil {
		return Features{Trace: true}, nil
	}
	switch classify(err) {
	case missing, noState:
		return Features{Trace: true}, nil
	case later, smaller:
		return Features{}, outward(err)
	}
	return Features{}, nil
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

// Tip returns the last accepted block.
func (c *Client) Tip(ctx context.Context) (head chain.Head, err error) {
	err = c.one(ctx, "eth_getBlockByNumber", []any{"latest", false}, func(result []byte) error {
		b, _, err := decodeHeader(result)
		if err == nil {
			head = b.Link().Head
		}
		return err
	})
	return head, err
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

// one makes a single call.
func (c *Client) one(ctx context.Context, method string, params any, decode func([]byte) error) error {
	calls := []source.BatchCall{{Method: method, Params: params, Decode: decode}}
	err := c.retry(ctx, func() error {
		if err := c.cfg.Node.CallBatch(ctx, c.cfg.Path, calls); err != nil {
			return err
		}
		return calls[0].Err
	})
	if err != nil && classify(err) == noState {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return outward(err)
}

// ask sends calls in one request, again when that may help, and tells how long
// the answer took. Refusals of single calls are left in them.
func (c *Client) ask(ctx context.Context, lane chan struct{}, calls []source.BatchCall) (took time.Duration, err error) {
	err = c.retry(ctx, func() error {
		select {
		case lane <- struct{}{}:
			defer func() { <-lane }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		begin := time.Now()
		if err := c.cfg.Node.CallBatch(ctx, c.cfg.Path, calls); err != nil {
			return err
		}
		took = time.Since(begin)
		for i := range calls {
			if err := calls[i].Err; err != nil && classify(err) == later {
				return err
			}
		}
		return nil
	})
	return took, err
}

// retry calls f until it ends well or with an error that time does not mend.
func (c *Client) retry(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if err == nil || ctx.Err() != nil || classify(err) != later || try >= c.cfg.Retries {
			return err
		}
		c.retries.Inc()
		pause := time.NewTimer(c.cfg.RetryPause << min(try, 6))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}
