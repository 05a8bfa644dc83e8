package archive

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// rest closes the live segment: the next blocks begin one. The caller holds
// rewriting and appending.
func (a *Archive) rest() error {
	if a.live == nil {
		return nil
	}
	return a.closeLive()
}

// Replace puts consecutive blocks in the place of the same ones that the archive has at their
// heights, or should have: it repairs this copy. A correction of what is false is a note. Of a
// damaged unit all blocks must be among them. They must follow what can be read beside them.
func (a *Archive) Replace(ctx context.Context, blocks []Block) error {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	if err := a.writable(ctx); err != nil || len(blocks) == 0 {
		return err
	}
	if err := checkOrder(blocks); err != nil {
		return err
	}
	a.appending.Lock()
	defer a.appending.Unlock()
	from, to := blocks[0].Height, blocks[len(blocks)-1].Height
	first, _, ok := a.First()
	last, id, _ := a.Last()
	if !ok || from < first || to > last {
		return fmt.Errorf("archive: replace blocks %d to %d: %w", from, to, ErrRange)
	}
	if is := blocks[len(blocks)-1].ID; to == last && is != id { // those below are known by the block above
		return fmt.Errorf("archive: replace blocks %d to %d: %w: block %d is %x, not %x", from, to, ErrFork, last, id, is)
	}
	if last := a.lastSegment(); last.journal && to >= last.first {
		if err := a.rest(); err != nil {
			return fmt.Errorf("archive: replace blocks %d to %d: %w", from, to, err)
		}
	}
	for len(blocks) > 0 {
		n, err := a.replaceSome(ctx, blocks)
		if err != nil {
			return fmt.Errorf("archive: replace blocks %d to %d: %w", from, to, err)
		}
		blocks = blocks[n:]
	}
	return nil
}

func (a *Archive) lastSegment() *segment {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.segs[len(a.segs)-1]
}

// replaceSome replaces the first of the blocks, as many as are in one segment or
// between two, and returns how many.
func (a *Archive) replaceSome(ctx context.Context, blocks []Block) (int, error) {
	if _, s, ok := a.find(blocks[0].Height); ok {
		mine := between(blocks, blocks[0].Height, s.last)
		return len(mine), a.replaceSegment(ctx, s, change{with: mine, last: s.last})
	}
	next, ok := a.above(blocks[0].Height)
	if !ok {
		return 0, ErrRange
	}
	mine := between(blocks, blocks[0].Height, next-1)
	return len(mine), a.fill(ctx, mine)
}

// fill writes blocks that lie in no segment as one.
func (a *Archive) fill(ctx context.Context, blocks []Block) error {
	first, last := &blocks[0], &blocks[len(blocks)-1]
	if below, _, ok := a.find(first.Height - 1); ok && first.Height > 0 && below.lastID != first.Parent {
		return fmt.Errorf("%w: block %d", ErrFork, first.Height)
	}
	if above, _, ok := a.find(last.Height + 1); ok && above.parent != last.ID {
		return fmt.Errorf("%w: block %d", ErrFork, last.Height+1)
	}
	s, err := a.buildSegment(ctx, blocks)
	if err != nil {
		return err
	}
	a.swap(nil, s)
	return nil
}

// buildSegment writes consecutive blocks as a sealed segment.
func (a *Archive) buildSegment(ctx context.Context, blocks []Block) (*segment, error) {
	first, last := &blocks[0], &blocks[len(blocks)-1]
	name := segmentName(first.Height, sealedSuffix)
	b, err := build(a.opts.FS, a.path(name), a.opts.Kind, first.Height)
	if err != nil {
		return nil, err
	}
	b.ends.last = last.Height
	w := &rewriter{a: a, b: b}
	for i := range blocks {
		if err = errors.Join(ctx.Err(), w.block(blocks[i])); err != nil {
			return nil, errors.Join(err, b.abort())
		}
	}
	if err := w.flush(); err != nil {
		return nil, errors.Join(err, b.abort())
	}
	size, err := b.finish(a.dir)
	return &segment{ends: b.ends, name: name, size: size}, err
}

// Rewind drops all blocks above last: they turned out not to be the chain's. Notes stay.
func (a *Archive) Rewind(ctx context.Context, last uint64) error {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	a.appending.Lock()
	defer a.appending.Unlock()
	if err := a.writable(ctx); err != nil {
		return err
	}
	if now, _, ok := a.Last(); !ok || now <= last {
		return nil
	}
	if err := a.rest(); err != nil {
		return fmt.Errorf("archive: rewind to %d: %w", last, err)
	}
	for {
		now, _, ok := a.Last()
		if !ok || now <= last {
			return nil
		}
		s := a.lastSegment()
		var err error
		if s.first > last {
			// The newest first, each for good before the next: a crash leaves no hole.
			if err = a.removeFile(s.name); err == nil {
				a.swap([]*segment{s})
			}
		} else {
			err = a.replaceSegment(ctx, s, change{last: last})
		}
		if err != nil {
			return fmt.Errorf("archive: rewind to %d: %w", last, err)
		}
	}
}

// Prepend adds consecutive blocks below the first one; they are on disk on return.
func (a *Archive) Prepend(ctx context.Context, blocks []Block) error {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	if err := a.writable(ctx); err != nil || len(blocks) == 0 {
		return err
	}
	if err := checkOrder(blocks); err != nil {
		return err
	}
	last := &blocks[len(blocks)-1]
	first, _, ok := a.First()
	if !ok || last.Height+1 != first {
		return fmt.Errorf("archive: %w: block %d in front of block %d", ErrOrder, last.Height, first)
	}
	_, lowest, _ := a.find(first)
	if lowest.parent != last.ID {
		return fmt.Errorf("archive: %w: block %d, parent %x; block %d is %x", ErrFork, first, lowest.parent, last.Height, last.ID)
	}
	s, err := a.buildSegment(ctx, blocks)
	if err != nil {
		return fmt.Errorf("archive: prepend blocks %d to %d: %w", blocks[0].Height, last.Height, err)
	}
	a.swap(nil, s)
	return nil
}

// Prune removes whole segments of which all blocks are below a height. The newest
// segment stays.
func (a *Archive) Prune(ctx context.Context, below uint64) error {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	for {
		if err := a.writable(ctx); err != nil {
			return err
		}
		a.mu.RLock()
		var s *segment
		if len(a.segs) > 1 && a.segs[0].last < below {
			s = a.segs[0]
		}
		a.mu.RUnlock()
		if s == nil {
			return nil
		}
		// The oldest first, each for good before the next: a crash leaves no hole.
		a.swap([]*segment{s})
		if err := a.removeFile(s.name); err != nil {
			return fmt.Errorf("archive: prune: %w", err)
		}
		a.stats.pruned.Inc()
		a.opts.Logger.Info("A segment was pruned.", "file", s.name, "first", s.first, "last", s.last)
	}
}

// pruneKept removes what [Options.Keep] does not ask for.
func (a *Archive) pruneKept(ctx context.Context) error {
	below := a.keptFrom()
	if below == 0 {
		return nil
	}
	return a.Prune(ctx, below)
}

// keptFrom returns the first block that is to be kept.
func (a *Archive) keptFrom() uint64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	keep := a.opts.Keep
	if len(a.segs) == 0 || keep == (Keep{}) {
		return 0
	}
	from := uint64(math.MaxUint64)
	if keep.Blocks > 0 {
		last := a.segs[len(a.segs)-1].last
		from = min(from, last-min(last, keep.Blocks-1))
	}
	if keep.Bytes > 0 {
		var size int64
		i := len(a.segs)
		for i > 0 && size < keep.Bytes {
			i--
			size += a.segs[i].size
		}
		from = min(from, a.segs[i].first)
	}
	return from
}
