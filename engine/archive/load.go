package archive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"quorate/engine/archive/vfs"
)

// parseName returns the number in a file's name.
func parseName(name, suffix string) (n uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// load reads what is in the folder and puts it in order.
func (a *Archive) load() error {
	files, err := a.opts.FS.List(a.dir)
	if errors.Is(err, fs.ErrNotExist) && a.opts.ReadOnly {
		return nil
	}
	if err != nil {
		return err
	}
	var noteFiles []vfs.FileInfo
	for _, file := range files {
		var s *segment
		if first, ok := parseName(file.Name, sealedSuffix); ok {
			s, err = a.loadSealed(file.Name, first)
		} else if first, ok := parseName(file.Name, liveSuffix); ok {
			s, err = a.loadJournal(file.Name, first)
		} else if _, ok := parseName(file.Name, notesSuffix); ok {
			noteFiles = append(noteFiles, file)
		} else if strings.HasSuffix(file.Name, tmpSuffix) {
			err = a.remove(file.Name)
		}
		if a.opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
			continue // sealed or pruned meanwhile, by the server that owns the folder
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if s != nil {
			a.segs = append(a.segs, s)
		}
	}
	if err := a.arrange(); err != nil {
		return err
	}
	if err := a.resume(); err != nil {
		return err
	}
	return a.notes.load(a, noteFiles)
}

// remove removes a file that is not needed, unless the archive is only read.
func (a *Archive) remove(name string) error {
	if a.opts.ReadOnly {
		return nil
	}
	return a.opts.FS.Remove(a.path(name))
}

// loadSealed reads the head and the foot of a sealed segment.
func (a *Archive) loadSealed(name string, first uint64) (*segment, error) {
	f, err := a.opts.FS.Open(a.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	s := &segment{name: name}
	foot, size, err := readFoot(f)
	s.size = size
	if err == nil && foot.first == first {
		s.ends = foot.ends
		head, err := readAt(f, 0, fileHeadLen)
		if err == nil {
			err = checkFileHead(head, segmentMagic, a.opts.Kind, first)
		}
		if err != nil && !errors.Is(err, errForm) {
			return nil, err
		}
		s.hurt = err
		return s, nil
	}
	if err != nil && !errors.Is(err, errForm) {
		return nil, err
	}
	if err == nil {
		err = fmt.Errorf("%w segment: its foot says that it begins with %d", errForm, foot.first)
	}
	a.opts.Logger.Warn("The end of a segment is damaged; its blocks are looked for.", "file", name, "error", err)
	s.hurt = err
	s.first, s.last = first, first
	if s.places, err = a.search(f, first, 0); err != nil {
		return nil, err
	}
	if len(s.places) == 0 {
		s.places = []place{{first: first, offset: fileHeadLen, bad: true}}
		return s, nil
	}
	return s, a.endsOf(f, s)
}

// endsOf fills in what the units of a segment say about its ends.
func (a *Archive) endsOf(f vfs.File, s *segment) error {
	for i, p := range s.places {
		if p.bad {
			continue
		}
		b, err := readAt(f, p.offset, HeaderLen)
		if err != nil {
			return err
		}
		h, err := ParseHeader(b)
		if err != nil {
			return err
		}
		if i == 0 {
			s.parent, s.firstID = h.Parent, h.FirstID
		}
		s.last, s.lastID = h.Last, h.LastID
	}
	return nil
}

// search looks for the units of a file whose index is lost, from its start on. Where
// none is found between two that do not follow each other there is a bad place.
// last is the last height that must be there, if it is known.
func (a *Archive) search(f vfs.File, first, last uint64) (places []place, err error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	w := &window{f: f, size: size}
	next := first
	gap := int64(fileHeadLen) // where the bytes behind the last unit begin
	for at := gap; at < size; {
		h, length, err := a.unitAt(w, at)
		if err != nil {
			return nil, err
		}
		if length == 0 || h.First < next {
			if at, err = w.nextUnit(at + 1); err != nil {
				return nil, err
			}
			continue
		}
		if h.First > next {
			places = append(places, place{first: next, offset: gap, length: int32(at - gap), bad: true})
		}
		places = append(places, place{first: h.First, offset: at, length: int32(length)})
		next, at = h.Last+1, at+int64(length)
		gap = at
	}
	if len(places) > 0 && last >= next && next != 0 {
		places = append(places, place{first: next, offset: gap, bad: true})
	}
	return places, nil
}

// unitAt returns the first header and the length of the unit of blocks at an offset;
// 0 if there is none.
func (a *Archive) unitAt(w *window, at int64) (head Header, length int, err error) {
	for part := uint32(0); part == 0 || part < head.Parts; part++ {
		b, err := w.at(at+int64(length), HeaderLen)
		if err != nil {
			return head, 0, err
		}
		h, err := ParseHeader(b)
		if err != nil || h.Kind != a.opts.Kind || h.Content != ContentBlocks || h.Part != part {
			return head, 0, nil
		}
		if part == 0 {
			head = h
		}
		length += HeaderLen + int(h.Packed)
		if h.First != head.First || at+int64(length) > w.size {
			return head, 0, nil
		}
	}
	return head, length, nil
}

// nextUnit returns the next place from an offset on where a unit could begin.
func (w *window) nextUnit(at int64) (int64, error) {
	return w.seek(at, HeaderLen, bundleMagic, func(b []byte) bool {
		h, err := ParseHeader(b)
		return err == nil && h.Part == 0
	})
}

// loadJournal reads a journal of blocks. One in which nothing was acknowledged is removed.
func (a *Archive) loadJournal(name string, first uint64) (*segment, error) {
	f, err := a.opts.FS.Open(a.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	s := &segment{name: name, journal: true}
	s.first, s.last = first, first
	heads := make(map[int64]Header)
	next, id := first, (*[32]byte)(nil)
	found, err := scanJournal(f, journalMagic, a.opts.Kind, first, func(offset int64, unit []byte) bool {
		h, err := a.codec.CheckUnit(unit)
		ok := err == nil && h.Content == ContentBlocks && h.First >= next && (id == nil || h.First != next || h.Parent == *id)
		if ok {
			heads[offset], next, id = h, h.Last+1, &h.LastID
		}
		return ok
	})
	if err != nil {
		return nil, err
	}
	if err := a.place(f, s, found, heads); err != nil {
		return nil, err
	}
	if len(s.places) == 0 {
		return nil, a.remove(name)
	}
	if found.head != nil {
		if err := a.mendHead(name, first, found.head); err != nil {
			return nil, err
		}
		if a.opts.ReadOnly {
			s.hurt = found.head
		}
	}
	if found.size > found.end && !a.opts.ReadOnly {
		a.opts.Logger.Warn("The torn tail of the newest segment was cut off: what a crash left of blocks that were not acknowledged.",
			"file", name, "bytes", found.size-found.end)
		err = a.cut(name, found.end)
	}
	return s, err
}

// place fills in a segment's places from the records of its journal.
func (a *Archive) place(f vfs.File, s *segment, found *scan, heads map[int64]Header) error {
	s.size = found.end
	next := s.first
	for i, r := range found.records {
		if !r.bad {
			h := heads[r.offset]
			if n := len(s.places); h.First > next && (n == 0 || !s.places[n-1].bad) {
				s.places = append(s.places, place{first: next, offset: r.offset, bad: true}) // no bytes are left of them
			}
			s.add(h, r.offset, r.length)
			next = h.Last + 1
			continue
		}
		s.hurt = fmt.Errorf("%w journal: %d bytes from %d on are no record", errForm, r.length, r.offset)
		if i+1 < len(found.records) {
			if heads[found.records[i+1].offset].First > next {
				s.places = append(s.places, place{first: next, offset: r.offset, length: int32(r.length), bad: true})
			}
			continue
		}
		// Of the last one only its own header says what it was.
		h, length, err := a.unitAt(&window{f: f, size: found.end}, r.offset+recordHeadLen)
		if err != nil {
			return err
		}
		if length > 0 && h.First == next {
			s.add(h, r.offset+recordHeadLen, length)
			next = h.Last + 1
		}
	}
	if found.closing == nil {
		return nil
	}
	// Of the last records not even the heights may be left.
	if last := binary.BigEndian.Uint64(found.closing); last >= next && s.hurt != nil {
		s.places = append(s.places, place{first: next, offset: found.end, bad: true})
		s.last, s.lastID = last, [32]byte(found.closing[8:])
	}
	return nil
}

// add adds the place of a unit with that header.
func (s *segment) add(h Header, offset int64, length int) {
	if len(s.places) == 0 {
		s.parent, s.firstID = h.Parent, h.FirstID
	}
	s.places = append(s.places, place{first: h.First, offset: offset, length: int32(length)})
	s.last, s.lastID = h.Last, h.LastID
}

// mendHead writes the head of a journal again: a crash may have come before it was
// synced, and all that it says is known.
func (a *Archive) mendHead(name string, first uint64, was error) error {
	if a.opts.ReadOnly {
		return nil
	}
	a.opts.Logger.Warn("The first bytes of a file were damaged, and written again.", "file", name, "error", was)
	f, err := a.opts.FS.OpenWrite(a.path(name))
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(fileHead(journalMagic, a.opts.Kind, first), 0); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// cut shortens a file.
func (a *Archive) cut(name string, size int64) error {
	f, err := a.opts.FS.OpenWrite(a.path(name))
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// arrange sorts the segments and drops those that another one holds as well: what a
// crash left behind a file that was written again.
func (a *Archive) arrange() error {
	// Of a sealed segment and a journal with the same first block the sealed one was
	// made from the journal.
	slices.SortFunc(a.segs, func(x, y *segment) int {
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(rank(x), rank(y)))
	})
	var kept []*segment
	for _, s := range a.segs {
		if n := len(kept); n > 0 && s.first <= kept[n-1].last {
			prev := kept[n-1]
			if s.first != prev.first && s.last > prev.last {
				return fmt.Errorf("%s has blocks %d to %d, and %s %d to %d: move one of them away",
					prev.name, prev.first, prev.last, s.name, s.first, s.last)
			}
			if err := a.remove(s.name); err != nil {
				return err
			}
			continue
		}
		kept = append(kept, s)
	}
	a.segs = kept
	// What a segment lost of its own end, the next one says.
	for i, s := range kept {
		if s.hurt == nil || s.journal || i+1 == len(kept) {
			continue
		}
		if next := kept[i+1]; s.places != nil && s.last < next.first-1 {
			if n := len(s.places); !s.places[n-1].bad {
				s.places = append(s.places, place{first: s.last + 1, offset: s.size, bad: true})
			}
			s.last, s.lastID = next.first-1, next.parent
		}
	}
	return nil
}

func rank(s *segment) int {
	if s.journal {
		return 1
	}
	return 0
}

// resume opens the newest segment to go on with it, if it is a journal.
func (a *Archive) resume() error {
	if len(a.segs) == 0 || a.opts.ReadOnly {
		return nil
	}
	s := a.segs[len(a.segs)-1]
	if !s.journal || s.hurt != nil || s.size >= a.opts.SegmentBytes {
		return nil // sealed in the background
	}
	f, err := a.opts.FS.OpenWrite(a.path(s.name))
	if err != nil {
		return err
	}
	// The name, too: the crash may have come before the folder was synced, and after
	// the blocks were read by someone.
	if err := errors.Join(f.Sync(), a.opts.FS.SyncDir(a.dir)); err != nil {
		return errors.Join(err, f.Close())
	}
	a.live = &journal{fs: a.opts.FS, path: a.path(s.name), f: f, size: s.size}
	return nil
}
