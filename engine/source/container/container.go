package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/primary"
	"quorate/engine/source"
)

const (
	// MaxRange bounds the blocks of one [Client.Fetch].
	MaxRange = 10_000
	// maxContainers bounds those of one call, as nodes do.
	maxContainers = 1024
	// again is how long a node without an index is not asked for it.
	again = time.Minute
	// sentence is how long a node that gave a bad block is asked after all others.
	sentence = time.Minute
	// maxDeliveries bounds what is remembered of which node gave which blocks.
	maxDeliveries = 64
)

// Classes of failure, beside those of package ingest.
var (
	// ErrNoIndex: no node keeps the index that the blocks are read from.
	ErrNoIndex = errors.New("no followed node keeps the Index API (--index-enabled) of the chain")
	// ErrBadAnswer: an answer is malformed or contradicts itself.
	ErrBadAnswer = source.ErrBadAnswer
)

// Config says which chain to read, and where. Chain, ID and Node are required.
type Config struct {
	Chain primary.Kind
	ID    chain.ID // of the chain
	Node  *source.Client
	// Genesis is the ID that the first block of the P-Chain has for its parent: the
	// hash of the genesis. Zero: it is not known.
	Genesis chain.ID
	// Poll is how often the last height is asked for. Default 500 ms; of vertices, whose
	// number grows on old networks only, 30 s.
	Poll time.Duration
	// Needs returns what a release must know that can read a block that this one cannot,
	// such as a version of avalanchego; empty if that is unknown. Nil: it always is.
	Needs func() string
	// Patience is how long nothing is taken bare when nodes with an index do not answer.
	// Default 1 min.
	Patience time.Duration

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

// Client reads the blocks of one chain. It is an [ingest.Source], safe for concurrent use.
type Client struct {
	cfg  Config
	path string // of the index

	blocks, bare, retries metric.Counter

	mu         sync.Mutex // guards what follows
	nodes      map[source.Node]*ability
	deliveries []delivery // the newest last
	pace       int        // containers to ask for in one call
	heard      time.Time  // when an index answered last; at first the start
	given      time.Time  // blocks are taken bare until then, without asking for an index
	ended      bool       // the stop vertex was seen: there will be no more
}

// ability is what is known of a node's index.
type ability struct {
	returns uint64 // see [source.Node.Returns]
	// none: it has no index, as far as is known until a time.
	none time.Time
	has  bool // it has answered from its index
	// The container at index first is that of height base: one block follows another
	// from there on, up to a gap of an index that is incomplete.
	first, base uint64
	// gapFrom to gapTo is a range that the index does not have; none if both are zero.
	gapFrom, gapTo uint64
	blamed         time.Time // it is asked last until then
}

// inGap reports whether the index is known not to have a height.
func (a *ability) inGap(height uint64) bool {
	return a.gapTo > 0 && a.gapFrom <= height && height <= a.gapTo
}

// delivery is a range of blocks that a node gave.
type delivery struct {
	from, to uint64
	node     source.Node
}

// New checks cfg and returns a client.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, nodes: make(map[source.Node]*ability), pace: maxContainers, heard: time.Now()}
	switch cfg.Chain {
	case primary.PChain:
		c.path = "/ext/index/P/block"
	case primary.XChain:
		c.path = "/ext/index/X/block"
	case primary.CChain:
		c.path = "/ext/index/C/block"
	case primary.XVertices:
		c.path = "/ext/index/X/vtx"
	default:
		return nil, fmt.Errorf("containers of chain %d", cfg.Chain)
	}
	if cfg.Node == nil {
		return nil, errors.New("containers: no node")
	}
	poll := 500 * time.Millisecond
	if cfg.Chain == primary.XVertices {
		poll = 30 * time.Second
	}
	c.cfg.Poll, c.cfg.Patience = cmp.Or(cfg.Poll, poll), cmp.Or(cfg.Patience, time.Minute)
	if c.cfg.Logger == nil {
		c.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	set := cfg.Metrics
	if set == nil {
		set = metric.NewSet()
	}
	c.blocks = set.Counter("quorate_container_blocks_total", "Blocks of the primary network read from nodes.")
	c.bare = set.Counter("quorate_container_bare_blocks_total", "Of these, blocks without the proposer's header: no node had an index.")
	c.retries = set.Counter("quorate_container_splits_total", "Times that a range was asked for in smaller parts.")
	set.GaugeFunc("quorate_container_index_nodes", "Followed nodes that have answered from an index of the chain.", func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := 0
		for _, a := range c.nodes {
			if a.has {
				n++
			}
		}
		return float64(n)
	})
	return c, nil
}

// first is the lowest height that an index has, in a complete one at index 0.
func (c *Client) first() uint64 {
	if c.cfg.Chain == primary.XVertices {
		return 0
	}
	return 1 // nobody accepted the genesis block
}

// single reports whether nodes return blocks of the chain one by one.
func (c *Client) single() bool {
	return c.cfg.Chain == primary.PChain || c.cfg.Chain == primary.XChain
}

// Fetch implements [ingest.Source]. On an error it returns the blocks before the one
// that it is about.
func (c *Client) Fetch(ctx context.Context, from, to uint64) ([]*primary.Block, error) {
	if to < from || to-from >= MaxRange {
		return nil, fmt.Errorf("containers: a range of 1 to %d blocks, not %d to %d", MaxRange, from, to)
	}
	blocks := make([]*primary.Block, 0, to-from+1)
	for next := from; next <= to; next = from + uint64(len(blocks)) {
		more, err := c.some(ctx, next, to)
		if err != nil {
			return blocks, err
		}
		if n := len(blocks); n > 0 {
			if err := Follows(blocks[n-1], more[0]); err != nil {
				c.Blame(next)
				return blocks, err
			}
		}
		blocks = append(blocks, more...)
		c.blocks.Add(float64(len(more)))
	}
	return blocks, nil
}

// some returns at least one block of a range, from its begin on.
func (c *Client) some(ctx context.Context, from, to uint64) ([]*primary.Block, error) {
	if from < c.first() {
		if !c.single() {
			return nil, fmt.Errorf("block %d: %w", from, ingest.ErrNotFound)
		}
		return c.bares(ctx, from, from)
	}
	blocks, err := c.indexed(ctx, from, to)
	if errors.Is(err, ErrNoIndex) && c.single() {
		return c.bares(ctx, from, c.untilGapEnds(from, to))
	}
	return blocks, err
}

// Headed returns blocks with the proposers' headers of a range, at least the one at its
// begin, and the height to go on with. Where no node's index has that block the error
// wraps [ErrNoIndex], and next is behind all that none has.
func (c *Client) Headed(ctx context.Context, from, to uint64) (blocks []*primary.Block, next uint64, err error) {
	if to < from {
		return nil, from, fmt.Errorf("containers: no range from %d to %d", from, to)
	}
	blocks, err = c.indexed(ctx, from, to)
	if errors.Is(err, ErrNoIndex) {
		return nil, c.untilGapEnds(from, to) + 1, err
	}
	return blocks, from + uint64(len(blocks)), err
}

// blame has nodes asked last for a while.
func (c *Client) blame(nodes []source.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range nodes {
		c.at(n).blamed = time.Now().Add(sentence)
	}
}

// Blame implements [ingest.Blamer].
func (c *Client) Blame(height uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.deliveries) - 1; i >= 0; i-- {
		if d := c.deliveries[i]; d.from <= height && height <= d.to {
			c.at(d.node).blamed = time.Now().Add(sentence)
			c.cfg.Logger.Warn("a node gave a block that is not the chain's", "chain", c.cfg.Chain.String(), "height", height, "node", d.node.Endpoint().String())
			return
		}
	}
}

// delivered takes note of who gave blocks.
func (c *Client) delivered(n source.Node, from, to uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.deliveries) == maxDeliveries {
		c.deliveries = append(c.deliveries[:0], c.deliveries[1:]...)
	}
	c.deliveries = append(c.deliveries, delivery{from, to, n})
}

// at returns what is known of a node; it needs mu. What was known of one that was away
// may have changed.
func (c *Client) at(n source.Node) *ability {
	a, returns := c.nodes[n], n.Returns()
	if a == nil || a.returns != returns {
		if len(c.nodes) > 4*len(c.cfg.Node.Nodes())+16 {
			clear(c.nodes) // of nodes that are not followed any more
		}
		a = &ability{returns: returns, base: c.first()}
		c.nodes[n] = a
	}
	return a
}

// rank orders nodes for a question to any, or to their index.
func (c *Client) rank(index bool) func(source.Node) int {
	now := time.Now()
	return func(n source.Node) int {
		c.mu.Lock()
		defer c.mu.Unlock()
		a := c.at(n)
		rank := 0
		if index && now.Before(a.none) {
			return -1
		}
		if index && !a.has {
			rank = 1
		}
		if now.Before(a.blamed) {
			rank += 2
		}
		return rank
	}
}

// only is the choice of one node.
func only(n source.Node) source.Choice {
	return source.Choice{Rank: func(other source.Node) int {
		if other == n {
			return 0
		}
		return -1
	}}
}
