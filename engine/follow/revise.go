package follow

import (
	"cmp"
	"context"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
)

func suspectsKey(id [32]byte) []byte { return append([]byte("suspects/"), id[:]...) }

// newSecond returns the lane that asks second nodes. It works once the archive is open.
func (c *EVM) newSecond(set *metric.Set) *secondLane {
	var kept []suspect
	c.cfg.Memory.Recall(suspectsKey(c.cfg.ID), &kept)
	l := newSecondLane(c.log.With("chain", c.cfg.Name), set, c.client, kept)
	l.share = cmp.Or(c.cfg.SecondShare, l.share)
	l.read = func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
		return c.keeper.Load().sink.reader.Read(ctx, from, to, f)
	}
	l.ends = func() (first, last uint64, ok bool) {
		if k := c.keeper.Load(); k != nil {
			first, _, ok = k.sink.archive.First()
			last, _, _ = k.sink.archive.Last()
		}
		return first, last, ok
	}
	l.fitting, l.correct = c.fitting, c.correct
	l.remember = func(ctx context.Context, list []suspect) { c.cfg.Memory.Remember(ctx, suspectsKey(c.cfg.ID), list) }
	return l
}

// revise puts blocks in the place of those whose calls or balances are false, or that were
// not known to be true; keep puts them into the archive. The index goes first: after a
// crash between the two the archive still has the false ones, by which the difference is
// found again.
func (c *EVM) revise(ctx context.Context, list []index.Revision, keep func(context.Context, []index.Revision) error) error {
	if err := c.cfg.Room(); err != nil {
		return err
	}
	err := c.index.Revise(ctx, list, func() error { return keep(ctx, list) })
	if err == nil {
		c.keeper.Load().changed() // some tables may be made again then
	}
	return err
}

// noteBlocks adds blocks of which something false was archived to the archive.
func (c *EVM) noteBlocks(ctx context.Context, list []index.Revision) error {
	notes := make([]archive.Note, len(list))
	for i, r := range list {
		notes[i] = archive.Note{Height: r.Is.Number, Type: evmarchive.NoteBlock, Data: evmarchive.Append(nil, r.Is)}
	}
	return c.keeper.Load().sink.archive.AddNotes(ctx, notes)
}

// replaceBlocks puts blocks that this release knows better than the one that archived them
// in the place of those in the archive.
func (c *EVM) replaceBlocks(ctx context.Context, list []index.Revision) error {
	k := c.keeper.Load().sink
	is := make(map[uint64]*evm.Block, len(list))
	for _, r := range list {
		is[r.Is.Number] = r.Is
	}
	// What was learned of a block later is a note, which counts more than the block.
	var later []index.Revision
	err := k.archive.Notes(ctx, func(n archive.Note) error {
		if b := is[n.Height]; b != nil {
			later = append(later, index.Revision{Is: b})
		}
		return nil
	}, evmarchive.NoteTrace, evmarchive.NoteBlock, evmarchive.NoteCorrection)
	if err == nil && len(later) > 0 {
		err = c.noteBlocks(ctx, later)
	}
	if err != nil {
		return err
	}
	var blocks []archive.Block
	if err := k.reader.Read(ctx, list[0].Is.Number, list[len(list)-1].Is.Number, func(b *evm.Block) error {
		if other := is[b.Number]; other != nil {
			b = other
		}
		blocks = append(blocks, evmarchive.BlockOf(b))
		return nil
	}); err != nil {
		return err
	}
	return k.archive.Replace(ctx, blocks)
}
