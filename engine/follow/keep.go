package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/tokens"
)

const (
	// repairsFile is the list of blocks without a trace, in the archive's folder.
	repairsFile = "repairs.json"
	// mendBlocks is how many blocks are fetched at once to mend the archive.
	mendBlocks = 16
	// fillFetchers bounds the requests of the ingest that fills the archive, of each
	// kind, and fillBytes its blocks: the head goes first.
	fillFetchers = 2
	fillBytes    = 32 << 20
)

// keep opens the archive and starts what keeps it and the index together, unless
// that was done.
func (c *EVM) keep() error {
	if c.keeper.Load() != nil {
		return nil
	}
	set := c.cfg.Host.Metrics().With("chain", c.cfg.Name)
	a, err := c.cfg.Archive(archive.KindEVM, c.cfg.ID, c.log.With("chain", c.cfg.Name), set)
	if err != nil {
		return err
	}
	s := NewSink(a, headSink{index.Sink{Chain: c.index}, c.before}, evmarchive.Append, evmarchive.NewReader(a), c.cfg.Room)
	s.rewind = func(ctx context.Context, to uint64) error {
		defer c.keeper.Load().changed() // some tables are made again then
		return c.index.Rewind(ctx, s.reader, to)
	}
	s.check = c.checkNew
	k := newKeeper(s, c.log.With("chain", c.cfg.Name), set)
	k.fetch, k.rebuild = c.refetch, c.rebuild
	if first, _, ok := a.First(); ok {
		c.index.StartAt(first) // an empty index is made from the archive
	}
	k.replay = func(ctx context.Context) error { return tokens.Replay(ctx, a.Notes, c.index) }
	c.keeper.Store(k)
	if err := errors.Join(c.readCorrections(context.Background(), a), c.recallSettled(context.Background())); err != nil {
		return err
	}
	return errors.Join(
		c.cfg.Host.Go("archive "+c.cfg.Name, k.Run),
		c.cfg.Host.Go("proofs "+c.cfg.Name, c.proofs.run),
		c.cfg.Host.Go("unverified blocks of "+c.cfg.Name, c.reread),
		c.cfg.Host.Go("second opinions "+c.cfg.Name, func(ctx context.Context) error {
			select {
			case <-k.joined.done: // before, blocks of the index are not in the archive
				return c.second.run(ctx)
			case <-ctx.Done():
				return nil
			}
		}),
		c.cfg.Host.Go("tokens "+c.cfg.Name, func(ctx context.Context) error {
			// What was asked before an index was lost is in the archive: nothing is asked
			// again before it is back.
			select {
			case <-k.caught.done:
				return c.tokens.Run(ctx)
			case <-ctx.Done():
				return nil
			}
		}),
	)
}

// addNotes keeps what contracts said in the archive.
func (c *EVM) addNotes(ctx context.Context, notes []archive.Note) error {
	k := c.keeper.Load()
	if k == nil {
		return errNotAsked
	}
	return k.sink.archive.AddNotes(ctx, notes)
}

// nearHead is how many blocks a chain's index may lack to be at the chain's head.
const nearHead = 64

// before is called with blocks that are about to be indexed, also when that is tried
// again. The network learns of them first, so that their messages are signed while the
// rows are made and written. At the head of the chain they then wait a moment for the
// facts of new tokens.
func (c *EVM) before(ctx context.Context, blocks []*evm.Block) {
	i, n := c.ingest.Load(), len(blocks)
	if i == nil || n == 0 { // an index catches up with its archive
		return
	}
	target := i.Target()
	for _, b := range blocks {
		c.cfg.Host.Accepted(c.cfg.ID, b, target)
	}
	if blocks[n-1].Number+nearHead >= target {
		c.tokens.Before(ctx, blocks)
	}
}

// headSink calls before before it has blocks indexed.
type headSink struct {
	index.Sink
	before func(context.Context, []*evm.Block)
}

// Commit implements [ingest.Sink].
func (s headSink) Commit(ctx context.Context, blocks []*evm.Block) error {
	return s.CommitAfter(ctx, blocks, nil)
}

// CommitAfter implements [Index].
func (s headSink) CommitAfter(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	s.before(ctx, blocks)
	return s.Sink.CommitAfter(ctx, blocks, ready)
}

// CommitAhead implements [aheadIndex].
func (s headSink) CommitAhead(ctx context.Context, blocks []*evm.Block, ready func() error) error {
	s.before(ctx, blocks)
	return s.Sink.CommitAhead(ctx, blocks, ready)
}

// rebuild makes the tables again that this program makes in another way than the one
// that made them, beside those that are served.
func (c *EVM) rebuild(ctx context.Context, progress func(done, of uint64)) error {
	if err := c.complete(ctx); err != nil {
		return err
	}
	stale := c.index.Stale()
	s := c.keeper.Load().sink
	if first, _, _ := s.archive.First(); len(stale) > 0 && first > c.index.Begin().Lists {
		c.log.Warn("tables of the index are those of an older version: the archive lacks the blocks to make them again from",
			"chain", c.cfg.Name, "tables", stale, "below", first)
		return nil
	}
	if len(stale) > 0 {
		c.log.Info("tables of the index are made again from the archive; reads go on", "chain", c.cfg.Name, "tables", stale)
	}
	// Without stale tables it removes what an earlier one has left.
	if err := c.index.Rebuild(ctx, s.reader, stale, progress); err != nil {
		return err
	}
	return c.readCorrections(ctx, s.archive)
}

// complete hands the index the traces that the archive has and the index lacks, say
// since it was made when a node failed for a moment, and the blocks in its gaps that
// have nothing to trace.
func (c *EVM) complete(ctx context.Context) error {
	if !c.traced.Load() {
		return nil // nobody has any
	}
	for _, g := range c.index.Gaps() {
		err := c.keeper.Load().sink.reader.Read(ctx, g.From, g.To, func(b *evm.Block) error {
			if !b.Traced && c.client.Needs(b) || !c.index.Completes(b.Number) {
				return nil
			}
			return c.index.Complete(ctx, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refetch returns blocks as a node has them now, for the archive.
func (c *EVM) refetch(ctx context.Context, from, to uint64) (list []archive.Block, err error) {
	if !c.asked.Load() {
		return nil, errNotAsked
	}
	for at := from; at <= to; {
		last := min(to, at+mendBlocks-1)
		blocks, err := c.client.Fetch(ctx, at, last)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			return nil, fmt.Errorf("block %d: %w", at, ingest.ErrAnswer)
		}
		if err := c.checkBy(ctx, c.newSettling(), blocks); err != nil {
			return nil, err
		}
		for _, b := range blocks {
			if c.traced.Load() && c.client.Needs(b) {
				if err := c.client.Complete(ctx, b); err != nil {
					return nil, fmt.Errorf("block %d: %w", b.Number, err)
				}
			}
			list = append(list, evmarchive.BlockOf(b))
		}
		at += uint64(len(blocks))
	}
	return list, nil
}

// fetchBlocks follows the chain, once the index has what the archive has, until ctx
// ends.
func (c *EVM) fetchBlocks(ctx context.Context) error {
	k := c.keeper.Load()
	select {
	case <-k.caught.done:
	case <-ctx.Done():
		return nil
	}
	repairs, err := ingest.OpenRepairs(filepath.Join(k.sink.archive.Dir(), repairsFile))
	if err != nil {
		return err
	}
	traced := c.traced.Load()
	if traced {
		err = repairs.SetCompleted()
	}
	if err != nil {
		return err
	}
	cfg := ingest.Config[*evm.Block]{
		Name: c.cfg.Name, Source: c.client, Sink: k.sink,
		Repairs: repairs, Optional: true, OnRepaired: c.repaired, UnableAfter: c.cfg.UntracedAfter,
		Fetchers: c.cfg.Fetchers, Completers: c.cfg.Tracers, WindowBytes: c.cfg.WindowBytes, GroupBytes: c.cfg.WindowBytes / 4,
		OnBlock: func(b *evm.Block) {
			target := c.ingest.Load().Target()
			c.proofs.take(b, target)
			c.second.take(b)
			c.noteUnverified(b)
			if b.Number+nearHead >= target {
				c.tokens.Block(b)
			}
		},
		OnProgress: c.cfg.OnProgress, Logger: c.log, Metrics: c.cfg.Host.Metrics().With("chain", c.cfg.Name),
	}
	if traced {
		cfg.Completer = c.client
	}
	if cfg.From, err = c.chooseStart(ctx); err != nil {
		return err
	}
	i := c.ingest.Load()
	if i == nil { // not the second time, after a failure
		if i, err = ingest.New(cfg); err != nil {
			return err
		}
		c.ingest.Store(i)
		if err := errors.Join(fillBehind(c.cfg.Host, c.cfg.Name, c.log, cfg, k), c.fetchOlder(cfg, k)); err != nil {
			return err
		}
	}
	return i.Run(ctx)
}

// fillBehind fills the archive of a chain whose index was made before there was one,
// beside the ingest of the head.
func fillBehind[B ingest.Item](host Host, name string, log *slog.Logger, cfg ingest.Config[B], k *keeper[B]) error {
	if apart, err := k.sink.apart(); err != nil || !apart {
		return err
	}
	cfg = beside(cfg, " archive")
	if _, _, ok := k.sink.archive.Last(); !ok && k.sink.archive.Keep() != (archive.Keep{}) {
		// What is kept below comes from above: it is not known where it begins.
		head, _ := k.sink.index.Cursor()
		cfg.From = head.Height
	}
	log.Info("the archive is filled behind the index, which was made before there was one", "chain", name)
	k.fill.Store(true)
	return host.Go("archive filler "+name, func(ctx context.Context) error {
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
			log.Info("the archive has all blocks that the index has", "chain", name)
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

// repaired takes a block whose trace has come late.
func (c *EVM) repaired(ctx context.Context, b *evm.Block) error {
	if err := c.cfg.Room(); err != nil {
		return err
	}
	k := c.keeper.Load()
	err := k.sink.archive.AddNotes(ctx, []archive.Note{{Height: b.Number, Type: evmarchive.NoteTrace, Data: evmarchive.AppendTrace(nil, b)}})
	if err == nil {
		err = c.index.Complete(ctx, b)
	}
	if err == nil {
		k.changed()
	}
	return err
}
