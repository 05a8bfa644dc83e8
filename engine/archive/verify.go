package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"quorate/engine/archive/vfs"
)

// Verify reads the whole archive and returns all that is damaged, in order of height;
// damage to notes is last, with [Damage.Notes]. progress, if not nil, is called with the
// bytes that have been read and those that there are.
func (a *Archive) Verify(ctx context.Context, progress func(done, of int64)) ([]Damage, error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	v := verifier{a: a, ctx: ctx, of: a.Size(), progress: progress}
	for next := uint64(0); ; {
		s, ref, ok := a.find(next)
		if !ok {
			first, more := a.above(next)
			if !more {
				break
			}
			if low, _, _ := a.First(); next > low {
				v.found = append(v.found, Damage{From: next, To: first - 1, Err: errMissing})
				v.prev = nil
			}
			next = first
			continue
		}
		was := len(v.found)
		err := v.segment(&s, ref, next)
		if (err != nil || len(v.found) > was) && a.changed(s.first, ref) {
			v.found = v.found[:was] // it was written again meanwhile: look again
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			v.found, err = append(v.found, Damage{From: s.first, To: s.last, File: s.name, Err: errMissing}), nil
		}
		if err != nil {
			return v.found, err
		}
		v.done += s.size
		progress(v.done, v.of)
		if next = s.last + 1; next == 0 {
			break
		}
	}
	err := v.notes()
	a.stats.damages.Add(float64(len(v.found)))
	return v.found, err
}

// verifier is one run of Verify.
type verifier struct {
	a        *Archive
	ctx      context.Context
	done, of int64
	progress func(done, of int64)
	found    []Damage
	prev     *[32]byte // ID of the block before the next one; nil if it is not known
}

// segment verifies a segment from a height on.
func (v *verifier) segment(s *segment, ref *segment, from uint64) error {
	file, err := v.a.opts.FS.Open(v.a.path(s.name))
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	if hurt, err := v.a.structure(s, file); err != nil {
		return err
	} else if hurt != nil {
		v.found = append(v.found, Damage{From: s.first, To: s.last, File: s.name, Structure: true, Err: hurt})
	}
	places, err := v.a.placesOf(s, ref, file)
	if d := (*Damage)(nil); errors.As(err, &d) {
		v.found, v.prev = append(v.found, *d), nil
		return nil
	}
	if err != nil {
		return err
	}
	for i, p := range places {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		last := s.last
		if i+1 < len(places) {
			last = places[i+1].first - 1
		}
		if last < from {
			continue
		}
		blocks, err := v.a.readPlace(file, p, last)
		if err == nil && v.prev != nil && blocks[0].Parent != *v.prev {
			err = fmt.Errorf("%w unit: %w", errForm, ErrFork)
		}
		if err != nil {
			d := (*Damage)(nil)
			if err = wound(err, p.first, last, s.name); !errors.As(err, &d) {
				return err
			}
			v.found, v.prev = append(v.found, *d), nil
			continue
		}
		v.prev = &blocks[len(blocks)-1].ID
		v.progress(min(v.done+p.offset+int64(p.length), v.of), v.of)
	}
	return nil
}

// structure says what is wrong with a file beside its blocks.
func (a *Archive) structure(s *segment, file vfs.File) (hurt, err error) {
	if s.hurt != nil {
		return s.hurt, nil
	}
	if s.journal {
		return recordHeads(file, s.size, a.opts.Kind, s.first)
	}
	head, err := readAt(file, 0, fileHeadLen)
	if err == nil {
		err = checkFileHead(head, segmentMagic, a.opts.Kind, s.first)
	}
	if err == nil {
		var f foot
		if f, _, err = readFoot(file); err == nil {
			_, err = readIndex(file, &f)
		}
	}
	if errors.Is(err, errForm) || errors.Is(err, ErrKind) {
		return err, nil
	}
	return nil, err
}

// recordHeads checks what a journal has beside its units: it is needed when it is
// opened. Of a file that grows only the first size bytes are looked at.
func recordHeads(file vfs.File, size int64, kind Kind, first uint64) (hurt, err error) {
	// Units are longer than the record of a close: what has its length was one.
	unit := func(_ int64, b []byte) bool { return len(b) != closingLen }
	found, err := scanJournal(prefix{file, size}, journalMagic, kind, first, unit)
	switch {
	case errors.Is(err, ErrKind):
		return err, nil
	case err != nil:
		return nil, err
	case found.head != nil:
		return found.head, nil
	}
	for _, r := range found.records {
		if r.bad {
			return fmt.Errorf("%w journal: %d bytes from %d on are no record", errForm, r.length, r.offset), nil
		}
	}
	if found.end != size {
		return fmt.Errorf("%w journal: %d bytes from %d on are no record", errForm, size-found.end, found.end), nil
	}
	return nil, nil
}

// prefix is the first bytes of a file.
type prefix struct {
	vfs.File
	size int64
}

// Size implements [vfs.File].
func (p prefix) Size() (int64, error) {
	n, err := p.File.Size()
	return min(n, p.size), err
}

// notes verifies the journals of notes.
func (v *verifier) notes() error {
	files := v.a.notes.all()
	for i := range files {
		nf := &files[i]
		err := nf.hurt
		if err == nil {
			err = v.a.noteHeads(nf)
		}
		if err == nil {
			err = v.a.readNotes(v.ctx, nf, func(Note) error { return nil }, nil)
		}
		if errors.Is(err, errForm) || errors.Is(err, ErrKind) || errors.Is(err, fs.ErrNotExist) {
			v.found = append(v.found, Damage{File: nf.name, Notes: true, Err: err})
		} else if err != nil {
			return err
		}
		v.done += nf.size
		v.progress(min(v.done, v.of), v.of)
	}
	return nil
}

// noteHeads checks what a journal of notes has beside its notes.
func (a *Archive) noteHeads(nf *noteFile) error {
	file, err := a.opts.FS.Open(a.path(nf.name))
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	hurt, err := recordHeads(file, nf.size, a.opts.Kind, nf.number)
	return errors.Join(hurt, err)
}

// Mend writes again each file whose head, index or end is damaged, from its own
// blocks; and the files of notes that are damaged, from those notes that are not. It
// asks no node for blocks: see [Archive.Repair].
func (a *Archive) Mend(ctx context.Context, found []Damage) error {
	for i := range found {
		d := &found[i]
		var err error
		switch {
		case d.Notes:
			err = a.mendNotes(ctx, d.File)
		case d.Structure:
			err = a.mendSegment(ctx, d.From)
		}
		if err != nil {
			return fmt.Errorf("archive: mend %s: %w", d.File, err)
		}
	}
	return nil
}

func (a *Archive) mendSegment(ctx context.Context, height uint64) error {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	a.appending.Lock()
	defer a.appending.Unlock()
	if err := a.writable(ctx); err != nil {
		return err
	}
	_, s, ok := a.find(height)
	if !ok {
		return nil
	}
	if s == a.lastSegment() {
		if err := a.rest(); err != nil {
			return err
		}
	}
	return a.replaceSegment(ctx, s, change{last: s.last})
}

// repairBlocks bounds the blocks that are fetched at once for a file that is missing.
const repairBlocks = 256

// Repair mends what Verify found. fetch returns the blocks of a range, which has been
// read from a node and checked again. Notes that were lost are not fetched.
func (a *Archive) Repair(ctx context.Context, found []Damage, fetch func(ctx context.Context, from, to uint64) ([]Block, error)) error {
	// Blocks first: a file that is written again for another reason keeps its damage.
	for i := range found {
		d := &found[i]
		if d.Notes || d.Structure {
			continue
		}
		missing := errors.Is(d.Err, errMissing)
		if missing && d.File != "" {
			a.forget(d.From)
		}
		for from := d.From; from <= d.To; {
			to := d.To
			if missing {
				to = min(to, from+repairBlocks-1)
			}
			blocks, err := fetch(ctx, from, to)
			if err == nil {
				err = a.Replace(ctx, blocks)
			}
			if err != nil {
				return fmt.Errorf("archive: repair blocks %d to %d: %w", from, to, err)
			}
			a.opts.Logger.Info("Damaged blocks were fetched again.", "from", from, "to", to, "file", d.File)
			from = to + 1
		}
	}
	return a.Mend(ctx, found)
}

// forget drops a segment whose file is missing.
func (a *Archive) forget(height uint64) {
	if _, s, ok := a.find(height); ok {
		a.swap([]*segment{s})
	}
}
