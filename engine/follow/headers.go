package follow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	containersource "quorate/engine/source/container"
)

const (
	// bareName is the list of blocks without the proposers' headers, in the archive's
	// folder.
	bareName = "bare.json"
	// headersEvery is how often nodes are asked for headers that none had.
	headersEvery = time.Minute
	// headersBytes bounds what is put into the archive at once: the segment around it is
	// written again.
	headersBytes = 16 << 20
	// lookBlocks is how many blocks are looked at before that is kept.
	lookBlocks = 64 << 10
)

// takesBare reports whether nodes without an index return blocks of the chain.
func (p *Primary) takesBare() bool {
	return p.cfg.Chain == primary.PChain || p.cfg.Chain == primary.XChain
}

// openHeaders has the sink note which blocks have no header, and returns what completes
// them.
func (p *Primary) openHeaders() {
	s := p.keeper.Load().sink
	last, _, _ := s.archive.Last()
	var err error
	if p.bare, err = openBares(filepath.Join(s.archive.Dir(), bareName), last); err != nil {
		p.log.Warn("the archive is looked through for blocks without the proposer's header", "err", err)
	}
	s.encode = func(dst []byte, b *primary.Block) []byte {
		if b.Bare { // before it is archived, so the list never lacks one
			at := b.Link().Height
			p.bare.add(heights{at, at})
		}
		return primary.AppendArchived(dst, b)
	}
}

// completeHeaders completes blocks that were archived without the proposer's header, as
// soon as a node has it, until ctx ends: their rows first and then the archive, by which
// they are found again after a crash.
func (p *Primary) completeHeaders(ctx context.Context) error {
	k := p.keeper.Load()
	if !await(ctx, &k.joined, &k.tended) {
		return nil
	}
	if !k.retry(ctx, "the archive is not looked through for blocks without the proposer's header", func(error) {}, func() error { return p.lookForBare(ctx) }) {
		return nil
	}
	tick := time.NewTicker(headersEvery)
	defer tick.Stop()
	for said := ""; ; {
		err := p.headersOnce(ctx)
		k.headers.Store(nil)
		if late, other := p.disinherited(); late {
			k.reached()
		} else {
			err = errors.Join(err, other)
		}
		if ctx.Err() == nil {
			p.headless.Store(&err)
		}
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			p.log.Warn("blocks without the proposer's header are not completed now", "err", err)
		}
		if err := p.saveBare(); err != nil {
			p.log.Warn("which blocks have no header is not kept", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// saveBare keeps which blocks are bare.
func (p *Primary) saveBare() error {
	a := p.keeper.Load().sink.archive
	first, _, ok := a.First()
	last, _, _ := a.Last()
	switch {
	case !ok:
		return nil
	case !p.looked.Load():
		return p.bare.save(nil)
	}
	return p.bare.save(&heights{first, last}) // the others were noted when they came
}

// lookForBare looks through what of the archive was not looked at yet.
func (p *Primary) lookForBare(ctx context.Context) error {
	a := p.keeper.Load().sink.archive
	first, _, ok := a.First()
	last, _, _ := a.Last()
	if !ok {
		return nil
	}
	for _, r := range p.bare.unlooked(first, last) {
		for at := r.From; at <= r.To; {
			to := min(r.To, at+lookBlocks-1)
			if err := a.Read(ctx, at, to, func(b archive.Block) error {
				if primary.ArchivedBare(b.Data) {
					p.bare.add(heights{b.Height, b.Height})
				}
				return nil
			}); err != nil {
				return err
			}
			if err := p.bare.save(&heights{first, to}); err != nil {
				return err
			}
			at = to + 1
		}
	}
	p.looked.Store(true)
	return nil
}

// headersOnce completes all blocks that some node has the headers of.
func (p *Primary) headersOnce(ctx context.Context) error {
	a := p.keeper.Load().sink.archive
	first, _, ok := a.First()
	if !ok {
		return nil
	}
	if first > 0 {
		p.bare.remove(heights{0, first - 1}) // pruned
	}
	list := p.bare.list()
	last, _, _ := a.Last()
	if head, ok := p.keeper.Load().sink.index.Cursor(); ok {
		last = min(last, head.Height) // rows above are being made
	}
	w := Work{Name: WorkHeaders}
	for _, r := range list {
		w.Of += r.To - r.From + 1
	}
	for _, r := range list {
		done := w.Done
		for at := r.From; at <= min(r.To, last); {
			next, some, err := p.headersFrom(ctx, at, min(r.To, last))
			if err != nil {
				return err
			}
			if w.Done, at = done+next-r.From, next; some {
				now := w
				p.keeper.Load().headers.Store(&now)
			}
		}
		w.Done = done + r.To - r.From + 1
	}
	return nil
}

// headersFrom completes blocks of a range, from its begin on, and returns the height to
// go on with. Those that no node has a header of stay; some reports whether others were
// completed.
func (p *Primary) headersFrom(ctx context.Context, from, to uint64) (next uint64, some bool, err error) {
	if err := p.cfg.Room(); err != nil {
		return from, false, err
	}
	var list []*primary.Block
	size := 0
	for next = from; next <= to && size < headersBytes; {
		blocks, at, err := p.node.Headed(ctx, next, to)
		if errors.Is(err, containersource.ErrNoIndex) && at > next {
			if len(list) > 0 {
				break
			}
			return at, false, nil
		}
		if n := len(list); n > 0 && err == nil {
			if err = containersource.Follows(list[n-1], blocks[0]); err != nil {
				p.node.Blame(next)
			}
		}
		if err != nil {
			return from, false, err
		}
		for _, b := range blocks {
			size += len(b.Raw)
		}
		list, next = append(list, blocks...), at
	}
	return next, true, p.complete(ctx, list)
}

// complete puts blocks with headers into the places of the same without.
func (p *Primary) complete(ctx context.Context, list []*primary.Block) error {
	if err := p.fits(ctx, list); err != nil {
		return err
	}
	kept := make([]archive.Block, len(list))
	for i, b := range list {
		kept[i] = container.BlockOf(b)
	}
	replace := func() error { return p.keeper.Load().sink.archive.Replace(ctx, kept) }
	if err := p.rows.Complete(ctx, list, replace); err != nil {
		return p.mended(ctx, err)
	}
	r := heights{kept[0].Height, kept[len(kept)-1].Height}
	p.bare.remove(r)
	p.log.Info("blocks that were archived without the proposer's header have it now", "from", r.From, "to", r.To)
	return p.saveBare()
}

// fits reports what is wrong with blocks in the places of archived ones: they must be the
// same, and their headers must fit those of the blocks around them.
func (p *Primary) fits(ctx context.Context, list []*primary.Block) error {
	s := p.keeper.Load().sink
	first, _, _ := s.archive.First()
	last, _, _ := s.archive.Last()
	from, to := list[0].Link().Height, list[len(list)-1].Link().Height
	err := s.reader.Read(ctx, max(from, first+1)-1, min(to, last-1)+1, func(is *primary.Block) error {
		switch at := is.Link().Height; {
		case at < from:
			return containersource.Follows(is, list[0])
		case at > to && !is.Bare:
			return containersource.Follows(list[len(list)-1], is)
		case at <= to && list[at-from].ID() != is.ID():
			return fmt.Errorf("%w: block %d is %s in the archive, and %s", ingest.ErrAnswer, at, is.ID(), list[at-from].ID())
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		var damage *archive.Damage
		if errors.As(err, &damage) {
			return p.mended(ctx, err)
		}
		p.node.Blame(from)
	}
	return err
}

// mended has damage of the archive mended that an error is about, and returns the error.
func (p *Primary) mended(ctx context.Context, err error) error {
	var damage *archive.Damage
	if errors.As(err, &damage) {
		p.keeper.Load().found(*damage)
		return errors.Join(err, p.keeper.Load().mend(ctx))
	}
	return err
}

// headerGaps returns the blocks whose proposers are not known, and those whose rows lack
// what vertices left.
func (p *Primary) headerGaps() (list []Gap) {
	if p.cfg.Inherited != nil && !p.heir.Load() && p.cfg.After.Followed() {
		if first, begun := p.rows.First(); begun {
			head, _ := p.rows.Cursor()
			list = append(list, Gap{GapUnsummed, first, head.Height, "the vertices before came later; the rows are made again when all of them are there", true})
		}
	}
	if p.bare == nil {
		return nil
	}
	reason := "no node that was asked has the Index API (--index-enabled), which alone has the proposers' headers"
	if err := p.headless.Load(); err != nil && *err != nil {
		reason = "the proposers' headers cannot be had now: " + (*err).Error()
	}
	for _, r := range p.bare.list() {
		list = append(list, Gap{GapHeader, r.From, r.To, reason, true})
	}
	return list
}

// disinherited reports whether the rows of blocks begin without what the vertices left,
// which came later: no node had them then.
func (p *Primary) disinherited() (bool, error) {
	if p.cfg.Inherited == nil || p.heir.Load() || !p.cfg.After.ended() {
		return false, nil
	}
	if _, begun := p.rows.First(); !begun {
		return false, nil
	}
	has, err := p.cfg.Inherited()
	if err == nil && has {
		p.heir.Store(true)
	}
	return err == nil && !has, err
}
