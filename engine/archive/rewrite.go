package archive

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/archive/vfs"
)

// rewriter writes a segment again: small units become large ones, blocks are put in
// the place of others, damage that nothing mends is copied as it is.
type rewriter struct {
	a       *Archive
	b       *builder
	pending []Block // to be packed
	raw     int     // bytes of pending
	packed  []byte
	// prev is the ID of the block before the next one; nil if it is not known.
	prev *[32]byte
}

// change says how a segment is written again.
type change struct {
	with []Block // put in the place of what the segment has at their heights
	last uint64  // blocks above are dropped
}

// rewrite writes a sealed segment from what another segment holds, for the name of its
// first block. The caller finishes it.
func (a *Archive) rewrite(ctx context.Context, s *segment, c change) (*builder, error) {
	file, err := a.opts.FS.Open(a.path(s.name))
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	places, err := a.placesOf(s, s, file)
	if err != nil {
		return nil, err
	}
	b, err := build(a.opts.FS, a.path(segmentName(s.first, sealedSuffix)), a.opts.Kind, s.first)
	if err != nil {
		return nil, err
	}
	b.ends = s.ends
	b.ends.last = min(s.last, c.last)
	w := &rewriter{a: a, b: b}
	if err := w.copy(ctx, file, places, s.last, c); err != nil {
		return nil, errors.Join(err, b.abort())
	}
	return b, nil
}

// copy writes all that a segment has, but for the change.
func (w *rewriter) copy(ctx context.Context, file vfs.File, places []place, last uint64, c change) error {
	for i, p := range places {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := last
		if i+1 < len(places) {
			end = places[i+1].first - 1
		}
		if p.first > c.last {
			break
		}
		if err := w.place(file, p, end, c); err != nil {
			return err
		}
	}
	return w.flush()
}

// place writes what is at a place whose last block is end.
func (w *rewriter) place(file vfs.File, p place, end uint64, c change) error {
	unit, err := readUnit(file, p)
	var h Header
	if err == nil {
		h, err = w.a.codec.CheckUnit(unit)
	}
	if err != nil && !errors.Is(err, errForm) {
		return err
	}
	mine := between(c.with, p.first, min(end, c.last))
	if err == nil && len(mine) == 0 && end <= c.last && int(h.Raw) >= w.a.codec.size/2 {
		// Large enough already.
		if err := w.flush(); err != nil {
			return err
		}
		w.prev = &h.LastID
		w.ended(p.first, &h.FirstID, &h.Parent, end, &h.LastID)
		return w.b.add(p.first, unit)
	}
	var old []Block
	if err == nil {
		old, err = w.a.readPlace(file, p, end)
		if err != nil && !errors.Is(err, errForm) {
			return err
		}
	}
	if err != nil {
		if len(mine) == 0 || mine[0].Height != p.first || mine[len(mine)-1].Height != min(end, c.last) {
			return w.damaged(file, p, end, c, len(mine) > 0)
		}
		old = mine
	}
	for i := range old {
		if old[i].Height > c.last {
			break
		}
		block := old[i]
		if len(mine) > 0 && mine[0].Height == block.Height {
			block, mine = mine[0], mine[1:]
		}
		if err := w.block(block); err != nil {
			return err
		}
	}
	return nil
}

// damaged copies what cannot be read.
func (w *rewriter) damaged(file vfs.File, p place, end uint64, c change, touched bool) error {
	if touched || end > c.last {
		return fmt.Errorf("blocks %d to %d cannot be read, and can only be replaced together", p.first, end)
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.prev = nil
	b, err := readAt(file, p.offset, int(p.length))
	if errors.Is(err, errForm) {
		b, err = nil, nil // the file ends before
	}
	if err != nil {
		return err
	}
	return w.b.add(p.first, b)
}

// block adds a block to those that are to be packed.
func (w *rewriter) block(b Block) error {
	if w.prev != nil && b.Parent != *w.prev {
		return fmt.Errorf("%w: block %d, parent %x, not %x", ErrFork, b.Height, b.Parent, *w.prev)
	}
	size := len(b.Data) + entryOverhead
	if w.raw+size > w.a.codec.size {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.pending, w.raw = append(w.pending, b), w.raw+size
	w.prev = &b.ID
	w.ended(b.Height, &b.ID, &b.Parent, b.Height, &b.ID)
	return nil
}

// ended notes the IDs at the segment's ends.
func (w *rewriter) ended(first uint64, firstID, parent *[32]byte, last uint64, lastID *[32]byte) {
	e := &w.b.ends
	if first == e.first {
		e.firstID, e.parent = *firstID, *parent
	}
	if last == e.last {
		e.lastID = *lastID
	}
}

// flush packs what is pending.
func (w *rewriter) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	packed, units, err := w.a.codec.Pack(w.packed[:0], w.pending)
	w.packed = packed
	if err != nil {
		return err
	}
	for _, u := range units {
		if err := w.b.add(u.First, packed[u.Offset:u.Offset+u.Len]); err != nil {
			return err
		}
	}
	clear(w.pending)
	w.pending, w.raw = w.pending[:0], 0
	return nil
}

// between returns those of consecutive blocks that are in a range.
func between(blocks []Block, from, to uint64) []Block {
	for len(blocks) > 0 && blocks[0].Height < from {
		blocks = blocks[1:]
	}
	for len(blocks) > 0 && blocks[len(blocks)-1].Height > to {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}
