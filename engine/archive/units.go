package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Units calls f with the units that have blocks of a range, in order, as they are packed, and
// with the headers of their first bundles. Damage in one is the error. f may keep the unit.
func (a *Archive) Units(ctx context.Context, from, to uint64, f func(unit []byte, h Header) error) error {
	for next := from; next <= to; {
		now, ref, ok := a.find(next)
		if !ok {
			return a.noBlock(next)
		}
		err := a.unitsOf(ctx, &now, ref, next, to, func(unit []byte, h Header) error {
			next = h.Last + 1
			return f(unit, h)
		})
		if d := (*Damage)(nil); errors.As(err, &d) && a.changed(next, ref) {
			continue // it was sealed, pruned or mended meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) unitsOf(ctx context.Context, s, ref *segment, from, to uint64, f func([]byte, Header) error) error {
	file, err := a.opts.FS.Open(a.path(s.name))
	if errors.Is(err, fs.ErrNotExist) {
		return &Damage{From: s.first, To: s.last, File: s.name, Err: errMissing}
	}
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	places, err := a.placesOf(s, ref, file)
	if err != nil {
		return err
	}
	for i, p := range places {
		last := s.last
		if i+1 < len(places) {
			last = places[i+1].first - 1
		}
		if last < from || p.first > to {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		unit, err := readUnit(file, p)
		var h Header
		if err == nil {
			h, err = a.codec.CheckUnit(unit)
		}
		if err == nil && (h.First != p.first || h.Last != last) {
			err = fmt.Errorf("%w unit: blocks %d to %d where %d to %d should be", errForm, h.First, h.Last, p.first, last)
		}
		if err != nil {
			return wound(err, p.first, last, s.name)
		}
		if err := f(unit, h); err != nil {
			return err
		}
	}
	return nil
}

// SplitUnit returns the unit of blocks, or of notes, that b begins with, the header of its
// first bundle, and what follows. Only the lengths are checked: see [Codec.Unpack].
func SplitUnit(b []byte) (unit []byte, head Header, rest []byte, err error) {
	rest = b
	for part := uint32(0); part == 0 || part < head.Parts; part++ {
		h, err := ParseHeader(rest)
		if err == nil && len(rest) < HeaderLen+int(h.Packed) {
			err = fmt.Errorf("%w bundle: cut short", errForm)
		}
		if err != nil {
			return nil, head, nil, err
		}
		if part == 0 {
			head = h
		}
		rest = rest[HeaderLen+int(h.Packed):]
	}
	return b[:len(b)-len(rest)], head, rest, nil
}

// AppendUnits is [Archive.Append] of blocks that another archive has packed, and whose units
// were unpacked once and found good.
func (a *Archive) AppendUnits(ctx context.Context, packed []byte) error {
	var units []Unit
	var first, last Block
	for rest := packed; len(rest) > 0; {
		unit, h, left, err := SplitUnit(rest)
		if err != nil {
			return fmt.Errorf("archive: append units: %w", err)
		}
		if len(units) == 0 {
			first = Block{Height: h.First, ID: h.FirstID, Parent: h.Parent}
		}
		last = Block{Height: h.Last, ID: h.LastID}
		units = append(units, Unit{First: h.First, Last: h.Last, Offset: len(packed) - len(rest), Len: len(unit), Raw: int(h.Raw)})
		rest = left
	}
	a.appending.Lock()
	defer a.appending.Unlock()
	if err := a.writable(ctx); err != nil || len(units) == 0 {
		return err
	}
	if err := a.follows(&first); err != nil {
		return err
	}
	if err := a.appendUnits(packed, units, &first, &last); err != nil {
		return fmt.Errorf("archive: append blocks %d to %d: %w", first.Height, last.Height, err)
	}
	return nil
}

// NotesAt is a position between the notes of an archive: behind so many units of a journal
// and all journals before it. The zero value is before all.
type NotesAt struct {
	File  uint64 `json:"file"`
	Units int    `json:"units"`
}

// NoteUnits calls f with the units of notes behind a position, as they are packed, until it
// returns false, and returns the position behind the last one. What is damaged is left out.
func (a *Archive) NoteUnits(ctx context.Context, at NotesAt, f func(unit []byte) bool) (NotesAt, error) {
	for _, nf := range a.notes.all() {
		if nf.number < at.File || nf.number == at.File && at.Units >= len(nf.units) {
			continue
		}
		if nf.number > at.File {
			at = NotesAt{File: nf.number}
		}
		file, err := a.opts.FS.Open(a.path(nf.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return at, err
		}
		for more := true; more && at.Units < len(nf.units) && err == nil; {
			err = ctx.Err()
			u := nf.units[at.Units]
			unit, wrong := readAt(file, u.offset, int(u.length))
			if wrong == nil {
				_, wrong = a.codec.CheckUnit(unit)
			}
			if at.Units++; wrong == nil && err == nil {
				more = f(unit)
			}
			if !more {
				return at, file.Close()
			}
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return at, err
		}
	}
	return at, nil
}

// NotesEnd returns the position behind all notes.
func (a *Archive) NotesEnd() (at NotesAt) {
	for _, nf := range a.notes.all() {
		at = NotesAt{nf.number, len(nf.units)}
	}
	return at
}
