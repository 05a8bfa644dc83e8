package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"quorate/engine/archive/vfs"
)

// errMissing is the error of damage where a file is not there.
var errMissing = errors.New("the file is missing")

// Read calls f with the blocks of a range, in order, and checks them on the way. It
// ends with the error of f, with one that wraps [ErrRange] at the first block that is
// not there, or with a [*Damage]: the blocks below have been read then.
func (a *Archive) Read(ctx context.Context, from, to uint64, f func(Block) error) error {
	r := reader{a: a, ctx: ctx, next: from, to: to, f: f}
	for r.next <= to {
		now, ref, ok := a.find(r.next)
		if !ok {
			return a.noBlock(r.next)
		}
		err := r.segment(&now, ref)
		damage := (*Damage)(nil)
		if errors.Is(err, fs.ErrNotExist) {
			damage = &Damage{From: now.first, To: now.last, File: now.name, Err: errMissing}
		}
		if damage != nil || errors.As(err, &damage) {
			if a.changed(r.next, ref) {
				continue // it was sealed, pruned or mended meanwhile
			}
			a.stats.damages.Inc()
			return damage
		}
		if err != nil {
			return err
		}
		if r.next == 0 {
			return nil // behind the greatest height
		}
	}
	return nil
}

// noBlock is the error for a block in no segment.
func (a *Archive) noBlock(height uint64) error {
	first, _, ok := a.First()
	last, _, _ := a.Last()
	if ok && first < height && height < last {
		next, _ := a.above(height)
		return &Damage{From: height, To: next - 1, Err: errMissing}
	}
	if !ok {
		return fmt.Errorf("archive: block %d: %w, which is empty", height, ErrRange)
	}
	return fmt.Errorf("archive: block %d: %w, which has %d to %d", height, ErrRange, first, last)
}

// reader reads a range.
type reader struct {
	a        *Archive
	ctx      context.Context
	next, to uint64
	f        func(Block) error
	prev     *[32]byte // ID of the block before next, if that was read
}

// segment reads what a segment has of the range.
func (r *reader) segment(s *segment, ref *segment) error {
	file, err := r.a.opts.FS.Open(r.a.path(s.name))
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	places, err := r.a.placesOf(s, ref, file)
	if err != nil {
		return err
	}
	i, exact := slices.BinarySearchFunc(places, r.next, func(p place, h uint64) int { return cmp.Compare(p.first, h) })
	if !exact {
		i--
	}
	for ; i < len(places) && places[i].first <= r.to; i++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		last := s.last
		if i+1 < len(places) {
			last = places[i+1].first - 1
		}
		blocks, err := r.a.readPlace(file, places[i], last)
		if err != nil {
			return wound(err, places[i].first, last, s.name)
		}
		if r.prev != nil && blocks[0].Height == r.next && blocks[0].Parent != *r.prev {
			return &Damage{From: blocks[0].Height, To: last, File: s.name, Err: ErrFork}
		}
		if err := r.deliver(blocks); err != nil {
			return err
		}
	}
	return nil
}

// deliver calls f with those blocks of a unit that are in the range.
func (r *reader) deliver(blocks []Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.Height < r.next {
			continue
		}
		if b.Height > r.to {
			return nil
		}
		if err := r.f(*b); err != nil {
			return err
		}
		r.next, r.prev = b.Height+1, &b.ID
	}
	return nil
}

// wound makes an error about a unit damage, if it says that the unit's bytes are not
// what was written.
func wound(err error, first, last uint64, file string) error {
	if errors.Is(err, errForm) || errors.Is(err, ErrKind) {
		return &Damage{From: first, To: last, File: file, Err: err}
	}
	return fmt.Errorf("archive: %s, blocks %d to %d: %w", file, first, last, err)
}

// readPlace reads and checks the unit at a place, which ends with block last.
func (a *Archive) readPlace(f vfs.File, p place, last uint64) (blocks []Block, err error) {
	unit, err := readUnit(f, p)
	if err != nil {
		return nil, err
	}
	h, raw, err := a.codec.unpack(unit)
	if err != nil {
		return nil, err
	}
	if h.Content != ContentBlocks || h.First != p.first || h.Last != last {
		return nil, fmt.Errorf("%w unit: blocks %d to %d where %d to %d should be", errForm, h.First, h.Last, p.first, last)
	}
	return splitBlocks(&h, raw)
}

// readUnit returns the bytes at a place.
func readUnit(f vfs.File, p place) ([]byte, error) {
	if p.bad {
		return nil, fmt.Errorf("%w unit: its head is lost", errForm)
	}
	return readAt(f, p.offset, int(p.length))
}

// placesOf returns the places of a segment. If its index is damaged, the units are
// looked for.
func (a *Archive) placesOf(s *segment, ref *segment, file vfs.File) ([]place, error) {
	if s.places != nil {
		return s.places, nil
	}
	if places, ok := a.indexes.Get(ref); ok {
		return places, nil
	}
	foot, _, err := readFoot(file)
	var places []place
	if err == nil {
		places, err = readIndex(file, &foot)
	}
	if errors.Is(err, errForm) {
		a.opts.Logger.Warn("The index of a segment is damaged; its blocks are looked for.", "file", s.name, "error", err)
		places, err = a.search(file, s.first, s.last)
	}
	if err == nil && len(places) == 0 {
		err = &Damage{From: s.first, To: s.last, File: s.name, Err: fmt.Errorf("%w segment: no block is left", errForm)}
	}
	if err == nil {
		a.indexes.Add(ref, places)
	}
	return places, err
}
