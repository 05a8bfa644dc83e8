package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/feed/share"
	"quorate/engine/ingest"
	"quorate/engine/metric"
)

const (
	// pauseFirst is the wait before a chain's node is asked again what the chain is; it
	// doubles up to what its kind allows.
	pauseFirst = 250 * time.Millisecond
	// mendBlocks is how many blocks are fetched at once to mend the archive.
	mendBlocks = 16
	// fillFetchers bounds the requests of the ingest that fills the archive, of each
	// kind, and fillBytes its blocks: the head goes first.
	fillFetchers = 2
	fillBytes    = 32 << 20
)

// base is what there is to following a chain of any kind: it is served from what is kept
// of it, brought together with its archive, and followed as soon as a node answers. [EVM]
// and [Primary] say by which rules.
type base[B ingest.Item] struct {
	common Common
	log    *slog.Logger // of the chain
	kind   *slog.Logger // of all chains of its kind
	opened time.Time
	least  uint64     // height of the first block that nodes have
	early  slog.Level // at which it is said that the chain has not reached its start block

	// Set before the chain is served.
	blocks ingest.Source[B] // where blocks come from
	index  Index[B]
	// begin returns the height of the first block that lists show.
	begin func() (height uint64, ok bool)

	// shared is where blocks come from if several servers share a log; nil: they do not.
	shared *share.Source[B]

	asked   atomic.Bool                      // a node has said what the chain is
	keeper  atomic.Pointer[keeper[B]]        // nil while the archive is not open
	ingest  atomic.Pointer[ingest.Ingest[B]] // nil until a node has answered
	trouble atomic.Pointer[error]            // why none has
}

func newBase[B ingest.Item](common Common, kind string) base[B] {
	log := common.Log(kind)
	return base[B]{common: common, kind: log, log: log.With("chain", common.Name), opened: time.Now(), early: slog.LevelWarn}
}

// ID returns the blockchain ID.
func (b *base[B]) ID() chain.ID { return b.common.ID }

// Name is what the chain is called in health checks, logs and metrics.
func (b *base[B]) Name() string { return b.common.Name }

// NetworkID returns the network of the chain.
func (b *base[B]) NetworkID() uint32 { return b.common.Host.ID() }

func (b *base[B]) metrics() *metric.Set { return b.common.Host.Metrics().With("chain", b.common.Name) }

// start starts an actor of the chain.
func (b *base[B]) start(what string, run func(context.Context) error) error {
	return b.common.Host.Go(what+" "+b.common.Name, run)
}

// store has the keeper begin with what a depot has, and starts what puts blocks there.
func (b *base[B]) store(k *keeper[B], gaps func() []Gap) (*storage[B], error) {
	s := b.newStorage(k, gaps)
	if s == nil {
		return nil, nil
	}
	k.take = func(ctx context.Context) { s.take(ctx, b.common.Start) }
	k.fetch = s.fetch(k.fetch)
	return s, b.start("depot of", s.put)
}

// show adds the metrics of a chain that is served.
func (b *base[B]) show(subnet chain.ID, number string) {
	set := b.metrics()
	set.Gauge("quorate_chain_info", "Always 1; the labels say which chain this is.",
		"blockchain_id", b.common.ID.String(), "subnet", subnet.String(), "evm_chain_id", number).Set(1)
	set.GaugeFunc("quorate_index_height", "Height of the last indexed block, also before the node has answered.", func() float64 {
		head, _ := b.index.Cursor()
		return float64(head.Height)
	})
	set.GaugeFunc("quorate_index_first_block", "Height of the first block that lists show.", func() float64 {
		first, _ := b.begin()
		return float64(first)
	})
}

// until tries until it succeeds, with waits up to most, and notes why it does not; false
// means that ctx has ended.
func (b *base[B]) until(ctx context.Context, most time.Duration, say func(error), try func(context.Context) error) bool {
	return actor.Retry(ctx, pauseFirst, most, say, func() error {
		err := try(ctx)
		if err == nil {
			b.asked.Store(true)
			b.trouble.Store(nil)
		} else {
			b.trouble.Store(&err)
		}
		return err
	})
}

// follow follows the chain, once the index has what the archive has, until ctx ends. how
// adds to how blocks are fetched, and older starts what fetches those below the first one.
func (b *base[B]) follow(ctx context.Context, how func(*ingest.Config[B]) error, older func(ingest.Config[B]) error) error {
	k := b.keeper.Load()
	if !await(ctx, &k.caught) {
		return nil
	}
	i := b.ingest.Load()
	if i == nil { // not the second time, after a failure
		cfg := ingest.Config[B]{
			Name: b.common.Name, Source: b.blocks, WindowBytes: b.common.WindowBytes, GroupBytes: b.common.WindowBytes / 4,
			OnProgress: b.common.OnProgress, Logger: b.kind, Metrics: b.metrics(),
		}
		err := how(&cfg)
		if err == nil {
			cfg.From, err = b.chooseStart(ctx)
		}
		if err == nil {
			i, err = ingest.New(cfg)
		}
		if err != nil {
			return err
		}
		b.ingest.Store(i)
		if err := errors.Join(b.fillBehind(cfg), older(cfg)); err != nil {
			return err
		}
	}
	return i.Run(ctx)
}

// refetch returns blocks as a node has them now, for the archive. complete, if not nil,
// checks them and adds what is asked for apart.
func (b *base[B]) refetch(ctx context.Context, from, to uint64, complete func(context.Context, []B) error) (list []archive.Block, err error) {
	s := b.keeper.Load().sink
	for at := from; at <= to; {
		blocks, err := b.blocks.Fetch(ctx, at, min(to, at+mendBlocks-1))
		if err == nil && len(blocks) == 0 {
			err = fmt.Errorf("block %d: %w", at, ingest.ErrAnswer)
		}
		if err == nil && complete != nil {
			err = complete(ctx, blocks)
		}
		if err != nil {
			return nil, err
		}
		for _, block := range blocks {
			list = append(list, s.encoded(block))
		}
		at += uint64(len(blocks))
	}
	return list, nil
}

// Held returns the bytes of blocks that wait for their commit.
func (b *base[B]) Held() int64 {
	if i := b.ingest.Load(); i != nil {
		return i.Held()
	}
	return 0
}

// wantedStart returns the block with which the operator wants the chain to begin.
func (b *base[B]) wantedStart(ctx context.Context) (uint64, error) {
	start := b.common.Start
	if start == (StartBlock{}) {
		return b.least, nil
	}
	tip, err := b.blocks.Tip(ctx)
	switch {
	case err != nil:
		return 0, err
	case start.Below:
		start.Height = tip.Height - min(start.Height, tip.Height)
	case start.Height > tip.Height:
		b.log.Log(ctx, b.early, "the chain has not reached its start block yet", "start", start.Height, "last", tip.Height)
	}
	return max(start.Height, b.least), nil
}

// chooseStart returns the height from which on the chain is followed where nothing is kept
// of it.
func (b *base[B]) chooseStart(ctx context.Context) (height uint64, err error) {
	if _, ok := b.keeper.Load().sink.Cursor(); ok {
		height, _ = b.begin()
		return height, nil
	}
	if height, err = b.wantedStart(ctx); err == nil && height > b.least {
		b.log.Info("the chain is followed from a block above its first one", "from", height)
	}
	return height, err
}

// startOlder starts what fetches blocks below the chain's first one, if there is one. plan
// says how far down, and reports whether there is anything to do; it is called again after
// an error. done is called when all are there, before rows are made again.
func (b *base[B]) startOlder(o *older[B], plan func(context.Context) (bool, error), done func()) error {
	k := o.keeper
	if _, ok := b.index.Cursor(); !ok {
		return nil // it begins as it is wanted
	}
	return b.start("older blocks of", func(ctx context.Context) error {
		if !await(ctx, &k.joined, &k.tended) {
			return nil
		}
		wanted := false
		if !k.retry(ctx, "it is not known yet whether older blocks are to be fetched", func(error) {}, func() (err error) {
			wanted, err = plan(ctx)
			return err
		}) || !wanted || !o.Run(ctx) {
			return nil
		}
		b.log.Info("all older blocks that are wanted are there", "first", o.down)
		done()
		k.reached()
		return nil
	})
}

// fillBehind fills the archive of a chain whose index was made before there was one,
// beside the ingest of the head.
func (b *base[B]) fillBehind(cfg ingest.Config[B]) error {
	k, log := b.keeper.Load(), b.log
	if apart, err := k.sink.apart(); err != nil || !apart {
		return err
	}
	cfg = beside(cfg, " archive")
	if _, _, ok := k.sink.archive.Last(); !ok && k.sink.archive.Keep() != (archive.Keep{}) {
		// What is kept below comes from above: it is not known where it begins.
		head, _ := k.sink.index.Cursor()
		cfg.From = head.Height
	}
	log.Info("the archive is filled behind the index, which was made before there was one")
	k.fill.Store(true)
	return b.start("archive filler", func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		cfg.Sink = filler[B]{k.sink, func() {
			k.fill.Store(false)
			k.joined.happened()
			stop()
		}}
		i, err := ingest.New(cfg)
		if err == nil {
			err = i.Run(ctx)
		}
		if !k.fill.Load() {
			log.Info("the archive has all blocks that the index has")
			return nil
		}
		return err
	})
}

// beside returns how blocks are fetched beside the ingest of the head.
func beside[B ingest.Item](cfg ingest.Config[B], name string) ingest.Config[B] {
	cfg.Name += name
	cfg.OnBlock, cfg.OnProgress, cfg.OnRepaired, cfg.Metrics = nil, nil, nil, nil
	cfg.UnableAfter = 0 // nothing of the past is urgent
	cfg.Fetchers, cfg.Completers, cfg.WindowBytes = fillFetchers, fillFetchers, min(fillBytes, cfg.WindowBytes/2)
	return cfg
}
