package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/follow/verdict"
	"quorate/engine/history"
	"quorate/engine/index"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	"quorate/engine/tokens"
)

// pauseMost bounds the wait before a chain's node is asked again what the chain is.
const pauseMost = 5 * time.Second

// tellEvery is the time between two lines in the log about work that is long.
const tellEvery = 5 * time.Second

// errNoFacts is why a chain without a node is not served.
var errNoFacts = errors.New("what the chain is is not remembered, and there is no node to ask")

// record is what an EVM chain's node says of it. It is remembered.
type record struct {
	Number uint64 `json:"number"`
	Trace  bool   `json:"trace"` // some node of it has had the debug API
}

// RecordKey is what the record of an EVM chain is remembered under.
func RecordKey(id chain.ID) []byte { return recordKey(id) }

// MergeRecords returns what two records of an EVM chain say: it is traced if any says so.
func MergeRecords(a, b json.RawMessage) json.RawMessage {
	var x, y record
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) == nil && y.Trace && x.Number == y.Number {
		return b
	}
	return a
}

func recordKey(id chain.ID) []byte { return append([]byte("evm/"), id[:]...) }

// New returns an EVM chain that is not followed yet. onServed is called once it can
// be asked for, before any of its blocks is indexed in this run.
func New(cfg Config, onServed func(*EVM)) *EVM {
	c := &EVM{base: newBase[*evm.Block](cfg.Common, "evm"), cfg: cfg, onServed: onServed}
	c.settling = c.newSettling()
	c.past = history.New(places{c}, func() *archive.Archive {
		if k := c.keeper.Load(); k != nil {
			return k.sink.archive
		}
		return nil
	})
	return c
}

// Start begins to follow the chain. What is remembered of it is served at once.
func (c *EVM) Start() error {
	if err := c.recall(); err != nil {
		return fmt.Errorf("chain %s: %w", c.cfg.Name, err)
	}
	return c.start("chain", c.learn)
}

// recall serves what is remembered of the chain.
func (c *EVM) recall() error {
	var known record
	asset, ok := c.cfg.Host.Asset()
	if !c.cfg.Memory.Recall(recordKey(c.cfg.ID), &known) || !ok && c.cfg.Subnet == chain.PrimaryNetworkID {
		return nil
	}
	c.number = known.Number
	c.traced.Store(known.Trace)
	if err := c.connect(asset); err != nil {
		return err
	}
	return c.serve()
}

// learn asks the chain's node what the chain is until it answers, and has it
// indexed then. Each chain has an actor for it: one that is down delays no other.
func (c *EVM) learn(ctx context.Context) error {
	if !c.until(ctx, pauseMost, func(err error) { c.log.Warn("the chain is not followed yet", "err", err) }, c.try) {
		return nil
	}
	return c.start("ingest", c.fetchBlocks)
}

func (c *EVM) try(ctx context.Context) error {
	if c.cfg.Nodeless && c.rows == nil { // others may have told by now what it is
		if err := c.recall(); err != nil {
			return err
		}
	}
	if c.rows != nil {
		if err := c.keep(); err != nil {
			return err
		}
	}
	if c.from == nil && !c.cfg.Nodeless {
		var asset chain.ID
		if c.cfg.Subnet == chain.PrimaryNetworkID {
			var err error
			if asset, err = c.cfg.Host.AskAsset(ctx); err != nil {
				return err
			}
		}
		if err := c.connect(asset); err != nil {
			return err
		}
	}
	if c.node == nil {
		if c.rows == nil {
			return errNoFacts
		}
		return nil
	}
	number, err := c.node.ChainID(ctx)
	if err != nil {
		return err
	}
	features, err := c.node.Features(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.rows == nil:
		c.number = number
		err := c.serve()
		if err == nil {
			err = c.keep()
		}
		if err != nil {
			return err
		}
	case c.number != number:
		return fmt.Errorf("the node says that its EVM chain number is %d, and said before that it is %d", number, c.number)
	}
	if features.Trace {
		c.traced.Store(true) // also if it is lost later: see [ingest.Repairs]
	} else if !c.traced.Load() {
		c.log.Warn("the node has no debug API: internal transactions and past balances are not indexed")
	}
	c.cfg.Memory.Remember(ctx, recordKey(c.cfg.ID), &record{Number: number, Trace: c.traced.Load()})
	return nil
}

// connect makes what blocks come from: the client of the chain's API, if nothing else is
// configured.
func (c *EVM) connect(asset chain.ID) error {
	if c.cfg.Blocks != nil {
		c.share(c.cfg.Blocks)
		return nil
	}
	if c.cfg.Nodeless {
		c.share(nil)
		return nil
	}
	set := evmsource.Config{
		AVAXAssetID: evm.Hash(asset), Logger: c.log, Metrics: c.metrics(), TraceTimeout: traceTimeout,
		Verify: c.cfg.Verify,
	}
	// Slower calls and smaller answers than others have. Nodes cut answers off at 25 MB.
	node, at, err := c.cfg.Host.Source(source.Config{
		Timeout: evmTimeout, MaxBody: cmp.Or(c.cfg.MaxAnswer, maxEVMBody), MaxConns: c.cfg.Fetchers + c.cfg.Tracers + otherConns,
	}, c.cfg.RPC)
	if err != nil {
		return err
	}
	if c.cfg.RPC.Zero() {
		set.Path = c.cfg.Path
		set.WS = at.At(strings.TrimSuffix(set.Path, "rpc") + "ws")
		set.Needs = c.cfg.Host.Needs
		if c.cfg.Subnet == chain.PrimaryNetworkID {
			set.Swap = c.cfg.Host.Swap
		}
	} else {
		set.Name, set.WS = c.cfg.ID.String(), c.cfg.WS
	}
	set.Node, c.socket = node, !set.WS.Zero()
	if c.node, err = evmsource.New(set); err == nil {
		c.share(c.node)
	}
	return err
}

// serve opens the index of a chain whose number is known and lets it be asked for.
// It asks no node anything.
func (c *EVM) serve() (err error) {
	set := c.metrics()
	c.second = c.newSecond(set)
	c.proofs = verdict.NewProofs(c.log, set, c.node, c.second.Refuted)
	opts := index.Options{
		Wrapped: slices.Clone(c.cfg.Details.Wrapped), Spare: c.cfg.Spare, Metrics: set,
		Remember: max(int(c.cfg.BalancesBytes/(2*index.RememberBytes)), 1), // twice while tables are made again
		OnSeen:   func(tokens []index.SeenToken, nfts []index.SeenNFT) { c.tokens.Seen(tokens, nfts) },
		OnOlder:  func(tokens []index.SeenToken, nfts []index.SeenNFT) { c.tokens.Older(tokens, nfts) },
	}
	if w, ok := wrappedAVAX[c.number]; ok && !slices.Contains(opts.Wrapped, w) {
		opts.Wrapped = append(opts.Wrapped, w)
	}
	if c.rows, err = index.Open(c.cfg.DB, c.cfg.ID, opts); err != nil {
		return err
	}
	c.index, c.begin = headSink{index.Sink{Chain: c.rows}, c.before}, func() (uint64, bool) { return c.rows.Begin().Lists, true }
	var contracts tokens.Node = unanswered{}
	if c.node != nil {
		contracts = c.node
	}
	if c.tokens, err = tokens.New(tokens.Config{
		Index: c.rows, Node: contracts, Mine: c.mine, Keep: c.addNotes, URIs: c.urisChanged, Room: c.cfg.Room, Logger: c.log, Metrics: set,
	}); err != nil {
		return err
	}
	c.recallUnverified()
	c.served.Store(true)
	c.onServed(c)
	c.show(c.cfg.Subnet, strconv.FormatUint(c.number, 10))
	set.GaugeFunc("quorate_settled_height", "Height of the last block whose results a header has proven.", func() float64 {
		height, ok := c.Settled()
		if !ok { // each block's own does
			height, _, _ = c.rows.Cursor()
		}
		return float64(height)
	})
	return c.start("metrics", c.catchUp)
}

// catchUp makes the metrics of blocks that were indexed without them.
func (c *EVM) catchUp(ctx context.Context) error {
	log := c.log
	var told time.Time
	err := c.rows.Roll(ctx, func(done, of uint64) {
		if now := time.Now(); done == of || now.Sub(told) >= tellEvery {
			log.Info("metrics are made of blocks that were indexed without them", "blocks", done, "of", of)
			told = now
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
