package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

const (
	sealedSuffix = ".seg"
	liveSuffix   = ".live"
	notesSuffix  = ".notes"
	tmpSuffix    = ".tmp"
)

// segmentName is the name of the file that begins with a block.
func segmentName(first uint64, suffix string) string { return fmt.Sprintf("%020d%s", first, suffix) }

func (a *Archive) path(name string) string { return filepath.Join(a.dir, name) }

// Append adds blocks behind the last one; they are on disk on return. On an error
// none of them is in the archive. The first blocks of an empty archive may have any height.
func (a *Archive) Append(ctx context.Context, blocks []Block) error {
	a.appending.Lock()
	defer a.appending.Unlock()
	if err := a.writable(ctx); err != nil || len(blocks) == 0 {
		return err
	}
	if err := checkOrder(blocks); err != nil {
		return err
	}
	if err := a.follows(&blocks[0]); err != nil {
		return err
	}
	began := time.Now()
	packed, units, err := a.codec.Pack(a.packed[:0], blocks)
	if a.packed = packed; cap(packed) > 4*MaxBundle {
		a.packed = nil
	}
	if err == nil {
		err = a.appendUnits(packed, units, &blocks[0], &blocks[len(blocks)-1])
	}
	if err != nil {
		return fmt.Errorf("archive: append blocks %d to %d: %w", blocks[0].Height, blocks[len(blocks)-1].Height, err)
	}
	a.stats.appends.Observe(time.Since(began).Seconds())
	a.stats.packed.Add(float64(len(packed)))
	for _, u := range units {
		a.stats.raw.Add(float64(u.Raw))
	}
	return nil
}

// follows checks that a block follows the last one.
func (a *Archive) follows(b *Block) error {
	height, id, ok := a.Last()
	switch {
	case ok && b.Height != height+1:
		return fmt.Errorf("archive: %w: block %d behind block %d", ErrOrder, b.Height, height)
	case ok && b.Parent != id:
		return fmt.Errorf("archive: %w: block %d, parent %x; the archive has %x", ErrFork, b.Height, b.Parent, id)
	}
	return nil
}

// checkOrder checks that blocks follow each other.
func checkOrder(blocks []Block) error {
	for i := 1; i < len(blocks); i++ {
		b, prev := &blocks[i], &blocks[i-1]
		if b.Height != prev.Height+1 {
			return fmt.Errorf("archive: %w: block %d behind block %d", ErrOrder, b.Height, prev.Height)
		}
		if b.Parent != prev.ID {
			return fmt.Errorf("archive: %w: block %d, parent %x, not %x", ErrFork, b.Height, b.Parent, prev.ID)
		}
	}
	return nil
}

// appendUnits writes units to the live segment, which it begins if need be and ends
// when it is full.
func (a *Archive) appendUnits(packed []byte, units []Unit, first, last *Block) error {
	begun := a.live == nil
	if begun {
		j, err := createJournal(a.opts.FS, a.path(segmentName(first.Height, liveSuffix)), a.opts.Kind, first.Height)
		if err != nil {
			return err
		}
		a.live = j
	}
	offsets, err := a.live.append(packed, units)
	if begun && err == nil {
		err = a.opts.FS.SyncDir(a.dir)
	}
	if begun && err != nil {
		// The file never was: the next call begins it again.
		err = errors.Join(err, a.live.f.Close(), a.opts.FS.Remove(a.live.path))
		a.live = nil
	}
	if err != nil {
		return err
	}
	a.grow(begun, offsets, units, first, last)
	if a.live.size >= a.opts.SegmentBytes {
		err := a.closeLive()
		if err != nil {
			a.opts.Logger.Warn("A full segment was not closed well; its blocks are on disk.", "error", err)
		}
		a.wake()
	}
	return nil
}

// closeLive closes the live segment: the next blocks begin one.
func (a *Archive) closeLive() error {
	last, id, _ := a.Last()
	err := a.live.close(last, id)
	a.mu.Lock()
	if n := len(a.segs); n > 0 {
		a.segs[n-1].size = a.live.size
	}
	a.mu.Unlock()
	a.live = nil
	return err
}

// grow shows units that are on disk to readers.
func (a *Archive) grow(begun bool, offsets []int64, units []Unit, first, last *Block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if begun {
		s := &segment{name: segmentName(first.Height, liveSuffix), journal: true}
		s.first, s.parent, s.firstID = first.Height, first.Parent, first.ID
		a.segs = append(a.segs[:len(a.segs):len(a.segs)], s)
	}
	s := a.segs[len(a.segs)-1]
	for i, u := range units {
		s.places = append(s.places, place{first: u.First, offset: offsets[i], length: int32(u.Len)})
	}
	s.last, s.lastID, s.size = last.Height, last.ID, a.live.size
}
