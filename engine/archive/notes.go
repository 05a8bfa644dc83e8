package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"quorate/engine/archive/vfs"
)

// noteFile is a journal of notes.
type noteFile struct {
	name   string
	number uint64
	units  []noteUnit
	size   int64
	hurt   error
}

// noteUnit is where a unit of notes lies.
type noteUnit struct {
	offset int64
	length int32
	kind   NoteType
}

// notes are the notes of an archive.
type notes struct {
	writing sync.Mutex // held while notes are added; guards live
	live    *journal

	mu    sync.RWMutex // guards files
	files []noteFile   // in the order in which they were written
}

// load reads the journals.
func (n *notes) load(a *Archive, files []vfs.FileInfo) error {
	for _, file := range files {
		number, _ := parseName(file.Name, notesSuffix)
		nf, err := a.loadNotes(file.Name, number)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if nf != nil {
			n.files = append(n.files, *nf)
		}
	}
	slices.SortFunc(n.files, func(x, y noteFile) int { return cmp.Compare(x.number, y.number) })
	if len(n.files) == 0 || a.opts.ReadOnly {
		return nil
	}
	last := n.files[len(n.files)-1]
	if last.hurt != nil || last.size >= a.opts.SegmentBytes {
		return nil // the next notes begin a file
	}
	f, err := a.opts.FS.OpenWrite(a.path(last.name))
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), a.opts.FS.SyncDir(a.dir)); err != nil {
		return errors.Join(err, f.Close())
	}
	n.live = &journal{fs: a.opts.FS, path: a.path(last.name), f: f, size: last.size}
	return nil
}

// loadNotes reads a journal of notes. One in which nothing was acknowledged is removed.
func (a *Archive) loadNotes(name string, number uint64) (*noteFile, error) {
	f, err := a.opts.FS.Open(a.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	types := make(map[int64]NoteType)
	found, err := scanJournal(f, journalMagic, a.opts.Kind, number, func(offset int64, unit []byte) bool {
		h, err := a.codec.CheckUnit(unit)
		types[offset] = h.NoteType
		return err == nil && h.Content == ContentNotes
	})
	if err != nil {
		return nil, err
	}
	nf := &noteFile{name: name, number: number, size: found.end}
	for _, r := range found.records {
		if r.bad {
			nf.hurt = fmt.Errorf("%w journal: %d bytes from %d on are no record", errForm, r.length, r.offset)
			continue
		}
		nf.units = append(nf.units, noteUnit{offset: r.offset, length: int32(r.length), kind: types[r.offset]})
	}
	if len(found.records) == 0 {
		return nil, a.remove(name)
	}
	if found.head != nil {
		if err := a.mendHead(name, number, found.head); err != nil {
			return nil, err
		}
		if a.opts.ReadOnly {
			nf.hurt = found.head
		}
	}
	if found.size > found.end && !a.opts.ReadOnly {
		a.opts.Logger.Warn("The torn tail of a file of notes was cut off: what a crash left of notes that were not acknowledged, or a damaged record of its close.",
			"file", name, "bytes", found.size-found.end)
		err = a.cut(name, found.end)
	}
	return nf, err
}

// AddNotes adds notes behind those that are there; they are on disk on return. On an
// error none of them is in the archive.
func (a *Archive) AddNotes(ctx context.Context, all []Note) error {
	n := &a.notes
	n.writing.Lock()
	defer n.writing.Unlock()
	if err := a.writable(ctx); err != nil || len(all) == 0 {
		return err
	}
	packed, units, err := a.codec.PackNotes(nil, all)
	if err == nil {
		err = a.appendNotes(packed, units)
	}
	if err != nil {
		return fmt.Errorf("archive: add notes: %w", err)
	}
	return nil
}

func (a *Archive) appendNotes(packed []byte, units []Unit) error {
	n := &a.notes
	begun := n.live == nil
	number := n.next()
	name := segmentName(number, notesSuffix)
	if begun {
		j, err := createJournal(a.opts.FS, a.path(name), a.opts.Kind, number)
		if err != nil {
			return err
		}
		n.live = j
	}
	offsets, err := n.live.append(packed, units)
	if begun && err == nil {
		err = a.opts.FS.SyncDir(a.dir)
	}
	if begun && err != nil {
		err = errors.Join(err, n.live.f.Close(), a.opts.FS.Remove(n.live.path))
		n.live = nil
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	if begun {
		n.files = append(n.files, noteFile{name: name, number: number})
	}
	nf := &n.files[len(n.files)-1]
	for i, u := range units {
		kind := NoteType(packed[u.Offset+6])
		nf.units = append(nf.units, noteUnit{offset: offsets[i], length: int32(u.Len), kind: kind})
	}
	nf.size = n.live.size
	n.mu.Unlock()
	if n.live.size >= a.opts.SegmentBytes {
		err = n.live.close(0, [32]byte{})
		n.mu.Lock()
		n.files[len(n.files)-1].size = n.live.size
		n.mu.Unlock()
		n.live = nil
		if err != nil {
			a.opts.Logger.Warn("A full file of notes was not closed well; its notes are on disk.", "error", err)
		}
	}
	return nil
}

// next returns the number of the next file.
func (n *notes) next() uint64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if len(n.files) == 0 {
		return 0
	}
	return n.files[len(n.files)-1].number + 1
}

func (n *notes) close() error {
	n.writing.Lock()
	defer n.writing.Unlock()
	if n.live == nil {
		return nil
	}
	err := n.live.close(0, [32]byte{})
	n.live = nil
	return err
}

func (n *notes) size() (bytes int64) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for i := range n.files {
		bytes += n.files[i].size
	}
	return bytes
}

func (n *notes) all() []noteFile {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Clone(n.files)
}

// Notes calls f with all notes of the given types, without one of all types, in the
// order in which they were added. Notes that are damaged are left out, and the error
// is a [*Damage] then, when all others have been read.
func (a *Archive) Notes(ctx context.Context, f func(Note) error, types ...NoteType) error {
	var damage error
	files := a.notes.all()
	for i := range files {
		err := a.readNotes(ctx, &files[i], f, types)
		if errors.Is(err, errForm) || errors.Is(err, fs.ErrNotExist) {
			damage = cmp.Or(damage, error(&Damage{File: files[i].name, Notes: true, Err: err}))
		} else if err != nil {
			return fmt.Errorf("archive: %s: %w", files[i].name, err)
		}
	}
	return damage
}

// readNotes reads a journal of notes, and returns what was wrong at the end.
func (a *Archive) readNotes(ctx context.Context, nf *noteFile, f func(Note) error, types []NoteType) error {
	file, err := a.opts.FS.Open(a.path(nf.name))
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	var damage error
	for _, u := range nf.units {
		if len(types) > 0 && !slices.Contains(types, u.kind) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		unit, err := readAt(file, u.offset, int(u.length))
		if err == nil {
			err = a.codec.UnpackNotes(unit, f)
		}
		if errors.Is(err, errForm) {
			damage = err
		} else if err != nil {
			return err
		}
	}
	return damage
}

// mendNotes writes a journal of notes again, without what cannot be read.
func (a *Archive) mendNotes(ctx context.Context, name string) error {
	n := &a.notes
	n.writing.Lock()
	defer n.writing.Unlock()
	if err := a.writable(ctx); err != nil {
		return err
	}
	files := n.all()
	i := slices.IndexFunc(files, func(nf noteFile) bool { return nf.name == name })
	if i < 0 {
		return nil
	}
	if i == len(files)-1 && n.live != nil {
		err := n.live.close(0, [32]byte{})
		if n.live = nil; err != nil {
			return err
		}
	}
	with, err := a.copyNotes(ctx, &files[i])
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.files = slices.Clone(n.files)
	n.files[i] = *with
	n.mu.Unlock()
	return nil
}

// copyNotes writes the readable notes of a journal to one in its place.
func (a *Archive) copyNotes(ctx context.Context, nf *noteFile) (*noteFile, error) {
	path := a.path(nf.name)
	j, err := createJournal(a.opts.FS, path+tmpSuffix, a.opts.Kind, nf.number)
	if err != nil {
		return nil, err
	}
	with := &noteFile{name: nf.name, number: nf.number}
	err = a.readNotes(ctx, nf, func(note Note) error {
		packed, units, err := a.codec.PackNotes(nil, []Note{note})
		if err != nil {
			return err
		}
		offsets, err := j.append(packed, units)
		if err == nil {
			with.units = append(with.units, noteUnit{offset: offsets[0], length: int32(units[0].Len), kind: note.Type})
		}
		return err
	}, nil)
	if errors.Is(err, errForm) || errors.Is(err, fs.ErrNotExist) {
		err = nil // that is why it is copied
	}
	err = errors.Join(err, j.f.Sync(), j.close(0, [32]byte{}))
	if with.size = j.size; err == nil {
		err = a.opts.FS.Rename(path+tmpSuffix, path)
	}
	if err == nil {
		err = a.opts.FS.SyncDir(a.dir)
	}
	return with, err
}
