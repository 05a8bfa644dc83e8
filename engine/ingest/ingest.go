// Package ingest follows a chain of any kind: it fetches blocks in parallel over
// ranges, completes them in a lane of their own, puts them in the order of their
// heights, checks that each is the child of the one before, and hands them to a
// sink in groups. It does that for ever, and goes on where it was after an end
// of any kind.
//
// A [Source] asks nodes at once and each question of as many nodes as it takes;
// it never waits. Waiting and asking again is done here and nowhere else: a block
// that cannot be had is asked for until it comes, while all other blocks that were
// fetched are kept. Memory is bounded here too, by the bytes of those blocks.
//
// Accepted blocks stay. A block that does not follow on the last committed one is
// an error of the node that gave it: it is asked for again, of another node. Only
// when nodes agree that the committed block itself is not theirs does a sink that
// is a [Rewinder] go back to the last block that they share with it.
//
// Terms: a block is complete when the [Completer] has added what it adds (of EVM
// chains calls and balances). A gap is a block that was committed incomplete
// since no node could complete it; the [Repairs] keep all gaps until they are
// filled. A span is a range of heights fetched together. The target is the highest
// height that is known of.
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

	"quorate/engine/chain"
	"quorate/engine/metric"
)

// Item is a block of any kind; the zero value is no block.
type Item interface {
	comparable
	// Link returns what the block is in its chain.
	Link() chain.Link
	// Memory estimates the bytes that the block takes in memory.
	Memory() int
}

// Source returns the blocks of a chain: a client of nodes, or a replicated log.
type Source[B Item] interface {
	// Tip returns the last accepted block.
	Tip(ctx context.Context) (chain.Head, error)
	// Fetch returns the blocks from..to, both included, in order of height. With an
	// error it may return those before the one that the error is about.
	Fetch(ctx context.Context, from, to uint64) ([]B, error)
	// Watch calls onHead when there may be a new last block, until ctx ends.
	Watch(ctx context.Context, onHead func(height uint64)) error
}

// Witness is a Source that can ask each node whether it has a block. Without it
// the one node that answers decides.
type Witness interface {
	// Witness returns how many nodes have that block at that height, and how many
	// have another one there.
	Witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error)
}

// Blamer is a Source that takes note that a block was bad, so that another node is
// asked for it.
type Blamer interface{ Blame(height uint64) }

// Completer adds to blocks what a lane of its own asks for.
type Completer[B Item] interface {
	// Needs reports whether there is anything to add to b.
	Needs(b B) bool
	// Complete adds it; on an error b stays as it was. [ErrIncomplete]: no node can
	// complete this block, though nodes complete others. [ErrUnable]: no node can
	// complete blocks now.
	Complete(ctx context.Context, b B) error
}

// Sink takes the blocks. One may stand before another, say an archive before an
// index.
type Sink[B Item] interface {
	// Cursor returns the last block that is committed; ok is false if there is none.
	Cursor() (head chain.Head, ok bool)
	// Commit commits blocks that follow on the cursor. After an error none, some or
	// all of them are committed: Cursor returns how far.
	Commit(ctx context.Context, blocks []B) error
}

// Ahead is a Sink that has work to do with blocks that cannot be lost any more: it is done
// while the next ones are on their way.
type Ahead[B Item] interface {
	Sink[B]
	// CommitAhead is Commit that returns while that work goes on. What fails of it is an
	// error of the next call. After an error none goes on.
	CommitAhead(ctx context.Context, blocks []B) error
	// Land waits for it, and returns why it failed.
	Land() error
}

// Rewinder is a Sink that can go back.
type Rewinder interface {
	// ID returns the ID of the committed block at a height.
	ID(ctx context.Context, height uint64) (chain.ID, error)
	// Rewind removes all blocks above a height.
	Rewind(ctx context.Context, to uint64) error
}

// Config says what to follow and within which bounds. Zero values take the
// defaults given with each field.
type Config[B Item] struct {
	// Name is the chain's, for logs and progress.
	Name   string
	Source Source[B]
	Sink   Sink[B]
	// From is the height of the first block when nothing is committed.
	From uint64

	// Completer completes blocks before they are committed; nil: they are committed
	// as they are fetched. A block that cannot be completed now holds up the chain.
	Completer Completer[B]
	// Repairs keeps the blocks that no node can complete: they are committed without,
	// and completed later. Nil: such a block holds up the chain as well.
	Repairs *Repairs
	// Optional commits blocks as they are when no node can complete blocks, as long
	// as no block of the chain has ever been completed, here or as far as Repairs
	// knows.
	Optional bool
	// UnableAfter is for how long no block can be completed, for whatever reason, until
	// blocks are committed incomplete and put into Repairs: what does not need the rest
	// stays fresh. A chain that was far from its head when that began waits all the
	// same, and so do all if it is 0.
	UnableAfter time.Duration
	near        uint64 // nearHead, but in tests
	// OnRepaired is called with a committed block that has been completed at last; an
	// error has it called again later, and so has an end before it is noted. Nil: gaps
	// are left to another Ingest with the same Repairs.
	OnRepaired func(ctx context.Context, b B) error

	// Fetchers bounds the fetches at one time, Completers the completions. Defaults
	// 4 and 4.
	Fetchers, Completers int
	// Span is the number of blocks in a fetch at most. Default 64.
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
	// CallTimeout bounds one call to the source. Default 60 s.
	CallTimeout time.Duration
	// TipEvery is the time between two looks at the source's last block, besides
	// the hints of Watch. Default 10 s.
	TipEvery time.Duration
	// MaxRewind bounds how many blocks are given up when the nodes have others.
	// Default 1024.
	MaxRewind uint64

	// OnBlock is called with each block after its commit, in order. It must not block.
	OnBlock func(b B)
	// OnProgress is called after commits, five times a second while catching up. It
	// must not block.
	OnProgress func(p Progress)

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config[B]) fill() error {
	if c.Source == nil || c.Sink == nil {
		return errors.New("ingest: a source and a sink are needed")
	}
	c.Fetchers = cmp.Or(c.Fetchers, 4)
	c.Completers = cmp.Or(c.Completers, 4)
	c.Span = cmp.Or(c.Span, 64)
	c.Group = cmp.Or(c.Group, 256)
	c.GroupBytes = cmp.Or(c.GroupBytes, 32<<20)
	c.WindowBytes = cmp.Or(c.WindowBytes, 128<<20)
	c.CallTimeout = cmp.Or(c.CallTimeout, time.Minute)
	c.TipEvery = cmp.Or(c.TipEvery, 10*time.Second)
	c.MaxRewind = cmp.Or(c.MaxRewind, 1024)
	c.near = cmp.Or(c.near, nearHead)
	if min(c.Fetchers, c.Completers, c.Span, c.Group, c.GroupBytes, c.WindowBytes) < 1 ||
		min(c.CallTimeout, c.TipEvery, c.UnableAfter) < 0 {
		return errors.New("ingest: bounds must be above zero")
	}
	if c.UnableAfter > 0 && (c.Repairs == nil || c.OnRepaired == nil) {
		return errors.New("ingest: blocks that are committed incomplete need a list, and one to hand them to")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// Errors of sources and completers, by which it is decided what to do, and those
// that [Status] has besides.
var (
	// ErrNotFound: there is no such block, or not yet.
	ErrNotFound = errors.New("block not found")
	// ErrRefused: the block that a node gave is not what it should be.
	ErrRefused = errors.New("block refused")
	// ErrIncomplete: no node can complete this block.
	ErrIncomplete = errors.New("block cannot be completed")
	// ErrUnable: no node can complete blocks now.
	ErrUnable = errors.New("no node can complete blocks now")
	// ErrTimeout: a call to the source took too long.
	ErrTimeout = errors.New("no answer in time")
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
type Ingest[B Item] struct {
	cfg Config[B]
	log *slog.Logger

	running sync.Mutex    // held by Run from start to end
	target  atomic.Uint64 // height to reach, as far as is known
	heard   atomic.Uint64 // the last hint
	held    atomic.Int64  // bytes of blocks that are fetched and not committed
	grew    signal        // the target has changed, or a hint has come
	look    chan struct{} // the tip should be looked at

	blocks, txs, retries, repaired, rewinds metric.Counter
	commits                                 metric.Histogram

	mu       sync.Mutex // guards what follows
	state    Status     // without what is computed
	inflight []*span[B] // in order
	meter    meter
	any      bool // some block was completed
	outage   outage
	foreign  int       // looks in a row at which the nodes had another block than the last committed
	warned   bool      // the log says that the chain is not followed
	said     time.Time // when it said that the chain stands still
}

// New checks cfg and returns an Ingest that does nothing until Run.
func New[B Item](cfg Config[B]) (*Ingest[B], error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	set := cfg.Metrics
	i := &Ingest[B]{
		cfg: cfg, log: cfg.Logger.With("chain", cfg.Name), look: make(chan struct{}, 1),
		blocks:   set.Counter("quorate_ingest_blocks_total", "Blocks indexed."),
		txs:      set.Counter("quorate_ingest_transactions_total", "Transactions indexed."),
		retries:  set.Counter("quorate_ingest_retries_total", "Times that blocks were asked for again after an error."),
		repaired: set.Counter("quorate_ingest_repaired_total", "Blocks completed after their commit."),
		rewinds:  set.Counter("quorate_ingest_rewinds_total", "Times that blocks were removed since the nodes have others."),
		commits:  set.Histogram("quorate_ingest_commit_seconds", "Time to index and commit a group of blocks."),
	}
	i.state.Head, i.state.Started = cfg.Sink.Cursor()
	// From here on the metrics may be read, and so the status.
	gauge := func(name, help string, f func(Status) float64) {
		set.GaugeFunc(name, help, func() float64 { return f(i.Status()) })
	}
	gauge("quorate_ingest_height", "Height of the last indexed block.", func(s Status) float64 { return float64(s.Height) })
	set.Gauges("quorate_ingest_block_age_seconds", "Time since the last known block of the chain, by the block's own clock.", nil,
		func(emit func(float64, ...string)) {
			s := i.Status()
			if last := max(int64(s.Tip.TimeMilli), int64(s.TimeMilli)); last > 0 { // of real clocks
				emit(time.Since(time.UnixMilli(last)).Seconds())
			}
		})
	gauge("quorate_ingest_target_height", "Height of the last known block.", func(s Status) float64 { return float64(s.Target) })
	gauge("quorate_ingest_waiting_blocks", "Blocks fetched and not yet indexed.", func(s Status) float64 { return float64(s.Waiting) })
	gauge("quorate_ingest_missing_blocks", "Blocks indexed without what no node could say of them so far.", func(s Status) float64 { return float64(s.Missing) })
	return i, nil
}

// Run follows the chain until ctx ends. Errors do not end it: it says what is
// wrong in its status, waits, and tries again. At most one Run works at a time.
func (i *Ingest[B]) Run(ctx context.Context) error {
	i.running.Lock()
	defer i.running.Unlock()
	ctx, stop := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer stop()
	lanes.Go(func() { i.watch(ctx) })
	if i.cfg.Repairs != nil && i.cfg.Completer != nil && i.cfg.OnRepaired != nil {
		lanes.Go(func() { i.repair(ctx) })
	}
	for failures := 0; ; failures++ {
		err := i.round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			failures = -1 // the cursor was moved: nothing is wrong
			continue
		}
		i.failed(err)
		if !pause(ctx, backoff(err, failures), nil) {
			return nil
		}
	}
}

// watch takes hints of new blocks for as long as Run works.
func (i *Ingest[B]) watch(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := i.cfg.Source.Watch(ctx, i.hint)
		if ctx.Err() != nil {
			return
		}
		i.log.Debug("the watch for new blocks ended", "err", err)
		if !pause(ctx, backoff(err, failures), nil) {
			return
		}
	}
}

// maxHint bounds how far a hint may be ahead of what is known; the rest has to
// be confirmed by the source's last block.
const maxHint = 1000

func (i *Ingest[B]) hint(height uint64) {
	if height > i.target.Load()+maxHint {
		return
	}
	// A node may have told of a target that there is not: who waits for a block below
	// it is woken as well.
	i.heard.Store(height)
	i.raise(height)
	i.grew.fire()
}

// tip asks the source for its last block, and takes it as the target.
func (i *Ingest[B]) tip(ctx context.Context) error {
	done, started := i.cfg.Sink.Cursor() // before: it may grow meanwhile
	known := i.target.Load()
	var head chain.Head
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
	if started && head.Height < done.Height {
		return fmt.Errorf("%w: its last block is %d, block %d is indexed", ErrBehind, head.Height, done.Height)
	}
	// The node itself knows better than a hint, unless one has come meanwhile.
	if i.target.CompareAndSwap(known, head.Height) || i.raise(head.Height) {
		i.grew.fire()
	}
	return nil
}

// raise makes height the target if it is above it.
func (i *Ingest[B]) raise(height uint64) bool {
	for known := i.target.Load(); height > known; known = i.target.Load() {
		if i.target.CompareAndSwap(known, height) {
			return true
		}
	}
	return false
}

// call makes a call to the source within the time for one.
func (i *Ingest[B]) call(ctx context.Context, f func(ctx context.Context) error) error {
	limited, stop := context.WithTimeout(ctx, i.cfg.CallTimeout)
	defer stop()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: not within %s", ErrTimeout, i.cfg.CallTimeout)
	}
	return err
}
