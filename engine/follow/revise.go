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
	l.revise = c.revise
	l.remember = func(ctx context.Context, list []suspect) { c.cfg.Memory.Remember(ctx, suspectsKey(c.cfg.ID), list) }
	return l
}

// revise puts blocks in the place of those whose calls or balances are false. The index
// goes first: after a crash between the two the archive still has the false ones, by
// which the difference is found again.
func (c *EVM) revise(ctx context.Context, list []index.Revision) error {
	if err := c.cfg.Room(); err != nil {
		return err
	}
	k := c.keeper.Load()
	err := c.index.Revise(ctx, list, func() error { return replaceBlocks(ctx, k.sink.archive, k.sink.reader, list) })
	if err == nil {
		k.changed() // some tables may be made again then
	}
	return err
}

// replaceBlocks puts blocks of an archive in the place of others of the same hashes.
func replaceBlocks(ctx context.Context, a *archive.Archive, from Blocks[*evm.Block], list []index.Revision) error {
	is := make(map[uint64]*evm.Block, len(list))
	for _, r := range list {
		is[r.Is.Number] = r.Is
	}
	// A trace that came late is a note, which counts more than the block.
	var late []archive.Note
	err := a.Notes(ctx, func(n archive.Note) error {
		if b := is[n.Height]; b != nil {
			late = append(late, archive.Note{Height: n.Height, Type: evmarchive.NoteTrace, Data: evmarchive.AppendTrace(nil, b)})
		}
		return nil
	}, evmarchive.NoteTrace)
	if err == nil && len(late) > 0 {
		err = a.AddNotes(ctx, late)
	}
	if err != nil {
		return err
	}
	var blocks []archive.Block
	if err := from.Read(ctx, list[0].Is.Number, list[len(list)-1].Is.Number, func(b *evm.Block) error {
		if other := is[b.Number]; other != nil {
			b = other
		}
		blocks = append(blocks, evmarchive.BlockOf(b))
		return nil
	}); err != nil {
		return err
	}
	return a.Replace(ctx, blocks)
}
