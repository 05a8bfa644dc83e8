package follow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/follow/verdict"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/tokens"
)

// repairsFile is the list of blocks without a trace, in the archive's folder.
const repairsFile = "repairs.json"

// keep opens the archive and starts what keeps it and the index together, unless
// that was done.
func (c *EVM) keep() error {
	if c.keeper.Load() != nil {
		return nil
	}
	a, err := c.cfg.Archive(archive.KindEVM, c.log, c.metrics())
	if err != nil {
		return err
	}
	s := NewSink(a, c.index, evmarchive.Append, evmarchive.NewReader(a), c.cfg.Room)
	s.rewind = func(ctx context.Context, to uint64) error {
		defer c.keeper.Load().changed() // some tables are made again then
		defer c.past.Forget()
		return c.rows.Rewind(ctx, s.reader, to)
	}
	s.check = c.checkNew
	k := newKeeper(s, c.log, c.metrics())
	k.fetch, k.rebuild = c.refetchTraced, c.rebuild
	if first, _, ok := a.First(); ok {
		c.rows.StartAt(first) // an empty index is made from the archive
	}
	k.replay = func(ctx context.Context) error { return tokens.Replay(ctx, a.Notes, c.rows) }
	c.keeper.Store(k)
	stored, err := c.store(k, c.Gaps)
	if err != nil {
		return err
	}
	recall := func(ctx context.Context) error {
		return errors.Join(c.readCorrections(ctx, a), c.recallSettled(ctx))
	}
	if stored != nil {
		c.toStorage(stored, recall)
	}
	c.joinLog(stored)
	if err := recall(context.Background()); err != nil {
		return err
	}
	if c.shared != nil {
		if err := c.start("shared notes of", c.shareNotes); err != nil {
			return err
		}
	}
	if err := c.start("archive", k.Run); err != nil || c.node == nil {
		return err
	}
	return errors.Join(
		c.start("proofs", c.proofs.Run),
		c.start("unverified blocks of", c.reread),
		c.start("second opinions", func(ctx context.Context) error {
			if !await(ctx, &k.joined) { // before, blocks of the index are not in the archive
				return nil
			}
			return c.second.Run(ctx)
		}),
		c.start("tokens", func(ctx context.Context) error {
			// What was asked before an index was lost is in the archive: nothing is asked
			// again before it is back.
			if !await(ctx, &k.caught) {
				return nil
			}
			return c.tokens.Run(ctx)
		}),
	)
}

// toStorage says what is put into a depot, and what is to be done with what was taken.
func (c *EVM) toStorage(s *storage[*evm.Block], recall func(context.Context) error) {
	s.patience += c.cfg.UntracedAfter
	archived := s.upTo
	s.upTo = func() (uint64, bool) {
		last, ok := archived()
		if settled, later := c.Settled(); later {
			last = min(last, settled)
		}
		return last, ok
	}
	s.taken = func(ctx context.Context) error {
		if first, _, ok := s.Archive.First(); ok {
			c.rows.StartAt(first)
		}
		return recall(ctx)
	}
}

// addNotes keeps what contracts said in the archive.
func (c *EVM) addNotes(ctx context.Context, notes []archive.Note) error {
	k := c.keeper.Load()
	if k == nil {
		return errNotAsked
	}
	if n := c.notes.Load(); n != nil {
		defer n.Poke()
	}
	return k.sink.archive.AddNotes(ctx, notes)
}

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
		c.common.Host.Accepted(c.cfg.ID, b, target)
	}
	if c.node != nil && c.mine() && blocks[n-1].Number+verdict.NearHead >= target {
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
	stale := c.rows.Stale()
	s := c.keeper.Load().sink
	if first, _, _ := s.archive.First(); len(stale) > 0 && first > c.rows.Begin().Lists {
		c.log.Warn("tables of the index are those of an older version: the archive lacks the blocks to make them again from",
			"tables", stale, "below", first)
		return nil
	}
	if len(stale) > 0 {
		c.log.Info("tables of the index are made again from the archive; reads go on", "tables", stale)
	}
	// Without stale tables it removes what an earlier one has left.
	if err := c.rows.Rebuild(ctx, s.reader, stale, progress); err != nil {
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
	for _, g := range c.rows.Gaps() {
		err := c.keeper.Load().sink.reader.Read(ctx, g.From, g.To, func(b *evm.Block) error {
			if !b.Traced && c.from.Needs(b) || !c.rows.Completes(b.Number) {
				return nil
			}
			return c.rows.Complete(ctx, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refetchTraced returns blocks as a node has them now, with traces, for the archive.
func (c *EVM) refetchTraced(ctx context.Context, from, to uint64) ([]archive.Block, error) {
	if !c.asked.Load() {
		return nil, errNotAsked
	}
	return c.refetch(ctx, from, to, func(ctx context.Context, blocks []*evm.Block) error {
		if err := c.checkBy(ctx, c.newSettling(), blocks); err != nil {
			return err
		}
		for _, b := range blocks {
			if c.traced.Load() && c.from.Needs(b) {
				if err := c.from.Complete(ctx, b); err != nil {
					return fmt.Errorf("block %d: %w", b.Number, err)
				}
			}
		}
		return nil
	})
}

// fetchBlocks follows the chain until ctx ends.
func (c *EVM) fetchBlocks(ctx context.Context) error { return c.follow(ctx, c.how, c.fetchOlder) }

// taken looks at a block that was committed; target is the chain's last known height.
func (c *EVM) taken(b *evm.Block, target uint64, proofs *verdict.Proofs) {
	c.noteUnverified(b)
	if c.node != nil {
		proofs.Take(b, target)
		c.second.Take(b)
	}
}

// how says how blocks are fetched.
func (c *EVM) how(cfg *ingest.Config[*evm.Block]) (err error) {
	s := c.keeper.Load().sink
	cfg.Sink, cfg.Fetchers, cfg.Completers = s, c.cfg.Fetchers, c.cfg.Tracers
	cfg.Optional, cfg.OnRepaired, cfg.UnableAfter = true, c.repaired, c.cfg.UntracedAfter
	cfg.OnBlock = func(b *evm.Block) {
		target := c.ingest.Load().Target()
		c.taken(b, target, c.proofs)
		if c.node != nil && b.Number+verdict.NearHead >= target {
			c.tokens.Block(b)
		}
	}
	cfg.Repairs, err = ingest.OpenRepairs(filepath.Join(s.archive.Dir(), repairsFile))
	if err == nil && c.traced.Load() && !c.cfg.Nodeless { // the log has what can be had
		cfg.Completer = c.from
		err = cfg.Repairs.SetCompleted()
	}
	return err
}

// repaired takes a block whose trace has come late.
func (c *EVM) repaired(ctx context.Context, b *evm.Block) error {
	if err := c.cfg.Room(); err != nil {
		return err
	}
	k := c.keeper.Load()
	err := k.sink.archive.AddNotes(ctx, []archive.Note{{Height: b.Number, Type: evmarchive.NoteTrace, Data: evmarchive.AppendTrace(nil, b)}})
	if err == nil {
		err = c.rows.Complete(ctx, b)
	}
	if err == nil {
		k.changed()
	}
	return err
}
