// Package ingest follows a chain: it fetches and traces blocks in parallel,
// puts them in the order of their heights, checks that each is the child of
// the one before, and hands them to the index in groups. It does that for ever,
// and goes on where it was after an end of any kind.
//
// Blocks that Avalanche has accepted stay. So a block that does not follow on
// the last committed one is an error of the node: nothing is committed until
// the node gives one that does, and [Ingest.Status] says why.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// Source returns the blocks of a chain. The client in engine/source/evm is one; a
// replicated log of blocks could be another.
type Source interface {
	// Tip returns the last accepted block.
	Tip(ctx context.Context) (evm.Head, error)
	// Fetch returns the blocks from..to, both included, in order of height. With an
	// error it may give those before the one that the error is about.
	Fetch(ctx context.Context, from, to uint64) ([]*evm.Block, error)
	// Trace fills in the calls and balances of a block.
	Trace(ctx context.Context, b *evm.Block) error
	// Watch calls onHead when there may be a new last block, until ctx ends.
	Watch(ctx context.Context, onHead func(number uint64)) error
}

// Sink takes the blocks; [index.Chain] is one.
type Sink interface {
	// Cursor returns the last block that is committed; ok is false if there is none.
	Cursor() (number uint64, hash evm.Hash, ok bool)
	// Commit commits blocks that follow on the cursor.
	Commit(ctx context.Context, blocks []*evm.Block) error
}

// Config says what to follow and within which bounds. Zero values take the
// defaults given with each field.
type Config struct {
	// Name is the chain's, for logs and progress.
	Name   string
	Source Source
	Sink   Sink

	// Trace asks the source for calls and balances. A block that cannot be traced
	// then stops the chain until it can.
	Trace bool
	// TraceOptional commits a block without them when the source fails to give
	// them. From then on the index does not know native balances.
	TraceOptional bool
	// TraceFrom is the first height that is traced, for nodes without older states.
	TraceFrom uint64

	// Fetchers bounds the fetches at one time, Tracers the traces. Defaults 4 and 4.
	Fetchers, Tracers int
	// Span is the number of blocks in a fetch at most. Default 64. Fetches start
	// with one block and grow while all goes well.
	Span int
	// Group is the number of blocks in a commit at most. Default 256. What is
	// there is committed: a single block at the head does not wait for others.
	Group int
	// GroupBytes bounds a commit by the size of its blocks in memory. Default 32 MiB.
	GroupBytes int
	// WindowBytes bounds the blocks that are fetched but not committed, by their
	// size in memory. What is being fetched counts by the mean of the blocks so
	// far. Default 128 MiB.
	WindowBytes int
	// Tries is how often a failing call is made before everything that was fetched
	// ahead is given up and fetched anew. Default 3.
	Tries int
	// CallTimeout bounds one call to the source. Default 60 s.
	CallTimeout time.Duration
	// TipEvery is the time between two looks at the source's last block, besides
	// what Watch tells. Default 10 s.
	TipEvery time.Duration

	// OnBlock is told of each block after its commit, in order. It must not block.
	OnBlock func(b *evm.Block)
	// OnProgress is told how far it is after commits, five times a second while
	// catching up. It must not block.
	OnProgress func(p Progress)

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if c.Source == nil || c.Sink == nil {
		return errors.New("ingest: a source and a sink are needed")
	}
	c.Fetchers = cmp.Or(c.Fetchers, 4)
	c.Tracers = cmp.Or(c.Tracers, 4)
	c.Span = cmp.Or(c.Span, 64)
	c.Group = cmp.Or(c.Group, 256)
	c.GroupBytes = cmp.Or(c.GroupBytes, 32<<20)
	c.WindowBytes = cmp.Or(c.WindowBytes, 128<<20)
	c.Tries = cmp.Or(c.Tries, 3)
	c.CallTimeout = cmp.Or(c.CallTimeout, time.Minute)
	c.TipEvery = cmp.Or(c.TipEvery, 10*time.Second)
	if min(c.Fetchers, c.Tracers, c.Span, c.Group, c.GroupBytes, c.WindowBytes, c.Tries) < 1 ||
		min(c.CallTimeout, c.TipEvery) < 0 {
		return errors.New("ingest: bounds must be above zero")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// Errors that [Status] gives besides those of the source and the sink.
var (
	// ErrParent: a block is not the child of the one before it.
	ErrParent = errors.New("block does not follow on the one before")
	// ErrBehind: the source's last block is below what is committed.
	ErrBehind = errors.New("the node is behind")
	// ErrOtherChain: the source has another block where the last committed one is.
	ErrOtherChain = errors.New("the node has another chain than the database")
	// ErrAnswer: the source gave other blocks than it was asked for.
	ErrAnswer = errors.New("the node gave other blocks than asked for")
)

// Ingest follows one chain.
type Ingest struct {
	cfg Config
	log *slog.Logger

	running sync.Mutex    // held by Run from start to end
	target  atomic.Uint64 // height to reach, as far as is known
	poke    chan struct{} // the target has grown

	blocks, txs, resets metric.Counter
	commits             metric.Histogram

	mu       sync.Mutex // guards what follows
	state    Status     // without what is computed
	inflight []*span    // in order
	meter    meter
}

// New checks cfg and gives an Ingest that does nothing until Run.
func New(cfg Config) (*Ingest, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	set := cfg.Metrics
	i := &Ingest{
		cfg: cfg, log: cfg.Logger.With("chain", cfg.Name), poke: make(chan struct{}, 1),
		blocks:  set.Counter("quorate_ingest_blocks_total", "Blocks indexed."),
		txs:     set.Counter("quorate_ingest_transactions_total", "Transactions indexed."),
		resets:  set.Counter("quorate_ingest_resets_total", "Times that following the chain began again after an error."),
		commits: set.Histogram("quorate_ingest_commit_seconds", "Time to index and commit a group of blocks."),
	}
	i.state.Height, i.state.Hash, i.state.Started = cfg.Sink.Cursor()
	// From here on the metrics may be read, and so the status.
	gauge := func(name, help string, f func(Status) float64) {
		set.GaugeFunc(name, help, func() float64 { return f(i.Status()) })
	}
	gauge("quorate_ingest_height", "Height of the last indexed block.", func(s Status) float64 { return float64(s.Height) })
	set.Gauges("quorate_ingest_block_age_seconds", "Time since the last known block of the chain, by the block's own clock.", nil,
		func(emit func(float64, ...string)) {
			s := i.Status()
			if last := max(int64(s.Tip.TimeMilli), s.BlockTime.UnixMilli()); last > 0 {
				emit(time.Since(time.UnixMilli(last)).Seconds())
			}
		})
	gauge("quorate_ingest_target_height", "Height of the last known block.", func(s Status) float64 { return float64(s.Target) })
	gauge("quorate_ingest_waiting_blocks", "Blocks fetched and not yet indexed.", func(s Status) float64 { return float64(s.Waiting) })
	return i, nil
}

// Run follows the chain until ctx ends. Errors do not end it: it says what is
// wrong in its status, waits, and tries again. At most one Run works at a time.
func (i *Ingest) Run(ctx context.Context) error {
	i.running.Lock()
	defer i.running.Unlock()
	ctx, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() { i.watch(ctx) })
	for {
		err := i.round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		i.resets.Inc()
		if !pause(ctx, i.failed(err)) {
			return nil
		}
	}
}

// watch takes hints of new blocks for as long as Run works.
func (i *Ingest) watch(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := i.cfg.Source.Watch(ctx, i.hint)
		if ctx.Err() != nil {
			return
		}
		i.log.Debug("the watch for new blocks ended", "err", err)
		if !pause(ctx, backoff(err, failures)) {
			return
		}
	}
}

// maxHint bounds how far a hint may be ahead of what is known; the rest has to
// be confirmed by the source's last block.
const maxHint = 1000

func (i *Ingest) hint(number uint64) {
	if number <= i.target.Load()+maxHint && i.raise(number) {
		i.wake()
	}
}

// tip asks the source for its last block, and takes it as the target.
func (i *Ingest) tip(ctx context.Context) error {
	done, _, started := i.cfg.Sink.Cursor() // before: it may grow meanwhile
	known := i.target.Load()
	var head evm.Head
	err := i.call(ctx, func(ctx context.Context) (err error) {
		head, err = i.cfg.Source.Tip(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for the last block: %w", err)
	}
	i.mu.Lock()
	i.state.Tip = head
	i.mu.Unlock()
	if started && head.Number < done {
		return fmt.Errorf("%w: its last block is %d, block %d is indexed", ErrBehind, head.Number, done)
	}
	// The node itself knows better than a hint, unless one has come meanwhile.
	if i.target.CompareAndSwap(known, head.Number) || i.raise(head.Number) {
		i.wake()
	}
	return nil
}

// raise makes number the target if it is above it.
func (i *Ingest) raise(number uint64) bool {
	for known := i.target.Load(); number > known; known = i.target.Load() {
		if i.target.CompareAndSwap(known, number) {
			return true
		}
	}
	return false
}

// wake makes the scheduler look at the target.
func (i *Ingest) wake() {
	select {
	case i.poke <- struct{}{}:
	default:
	}
}

// call makes a call to the source within the time for one.
func (i *Ingest) call(ctx context.Context, f func(ctx context.Context) error) error {
	limited, stop := context.WithTimeout(ctx, i.cfg.CallTimeout)
	defer stop()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %s", source.ErrUnreachable, i.cfg.CallTimeout)
	}
	return err
}

// pause waits; it tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
