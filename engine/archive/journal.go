package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"quorate/engine/archive/vfs"
)

const (
	fileHeadLen   = 32
	recordHeadLen = 20
	version       = 1
)

var (
	journalMagic = [8]byte{'Q', 'A', 'J', 'O', 'U', 'R', 'N', '1'}
	recordMagic  = [4]byte{'Q', 'A', 'R', '1'}
)

// fileHead returns the first bytes of a file.
func fileHead(magic [8]byte, kind Kind, first uint64) []byte {
	b := make([]byte, fileHeadLen)
	copy(b, magic[:])
	binary.BigEndian.PutUint16(b[8:], version)
	b[10] = byte(kind)
	binary.BigEndian.PutUint64(b[12:], first)
	binary.BigEndian.PutUint32(b[28:], crc(b[:28]))
	return b
}

// ErrKind is wrapped when a file holds blocks of another kind, or is of a version
// that is not known here.
var ErrKind = errors.New("not an archive of this kind")

// checkFileHead checks the first bytes of a file.
func checkFileHead(b []byte, magic [8]byte, kind Kind, first uint64) error {
	if len(b) < fileHeadLen || crc(b[:28]) != binary.BigEndian.Uint32(b[28:]) || [8]byte(b) != magic {
		return fmt.Errorf("%w file: its first %d bytes are not those of an archive", errForm, fileHeadLen)
	}
	if v := binary.BigEndian.Uint16(b[8:]); v != version || Kind(b[10]) != kind {
		return fmt.Errorf("%w: version %d with blocks of kind %d; want %d and %d", ErrKind, v, b[10], version, kind)
	}
	if n := binary.BigEndian.Uint64(b[12:]); n != first {
		return fmt.Errorf("%w file: it says that it begins with %d, its name %d", errForm, n, first)
	}
	return nil
}

// record is a record of a journal.
type record struct {
	offset int64 // of its bytes, behind the record's head
	length int
	synced int64
	bad    bool // the bytes from offset on could not be read as a record
}

// scan is what a journal holds.
type scan struct {
	records []record
	end     int64 // where the next record goes: behind the last that is whole
	size    int64 // of the file; beyond end is a torn tail
	head    error // what is wrong with the file's head
	// closing is what the last record says, if the journal was closed.
	closing []byte
}

// scanJournal reads a journal from its start. good reports whether a record's bytes
// are what was written, and is called in order. Records that follow each other and
// are bad are one. What follows the last good record is damage if a later record
// says that it was synced, and torn otherwise.
func scanJournal(f vfs.File, magic [8]byte, kind Kind, first uint64, good func(offset int64, unit []byte) bool) (*scan, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &scan{end: fileHeadLen, size: size}
	r := &window{f: f, size: size}
	head, err := r.at(0, fileHeadLen)
	if err != nil {
		return nil, err
	}
	if s.head = checkFileHead(head, magic, kind, first); errors.Is(s.head, ErrKind) {
		return nil, s.head
	}
	synced := int64(0) // up to here the file was acknowledged
	var found []record
	var closing []byte
	for at := int64(fileHeadLen); at < size; {
		rec, next, err := r.record(at, good)
		if err != nil {
			return nil, err
		}
		if rec.bad {
			if n := len(found); n > 0 && found[n-1].bad {
				found[n-1].length += int(next - at)
			} else {
				found = append(found, rec)
			}
			at = next
			continue
		}
		synced = max(synced, rec.synced)
		found = append(found, rec)
		if at = next; rec.length == closingLen {
			b, err := r.at(rec.offset, closingLen)
			if err != nil {
				return nil, err
			}
			closing = bytes.Clone(b)
		}
	}
	s.take(found, synced, closing)
	return s, nil
}

// take splits what was found into records and a torn tail.
func (s *scan) take(found []record, synced int64, closing []byte) {
	for _, rec := range found {
		if rec.bad && rec.offset >= synced {
			return // of the last call, which was not acknowledged
		}
		s.end = rec.offset + int64(rec.length)
		if s.closing = nil; !rec.bad && rec.length == closingLen {
			s.closing = closing
			continue
		}
		s.records = append(s.records, rec)
	}
}

// window reads a file through a buffer.
type window struct {
	f     vfs.File
	size  int64
	start int64
	buf   []byte
}

// windowLen is how much of a journal is read at once.
const windowLen = 1 << 20

// at returns n bytes at an offset, fewer at the end of the file. They are good until
// the next call.
func (w *window) at(offset int64, n int) ([]byte, error) {
	n = int(min(int64(n), max(0, w.size-offset)))
	if offset < w.start || offset+int64(n) > w.start+int64(len(w.buf)) {
		length := int(min(int64(max(n, windowLen)), w.size-offset))
		if cap(w.buf) < length {
			w.buf = make([]byte, length)
		}
		w.buf, w.start = w.buf[:length], offset
		got, err := w.f.ReadAt(w.buf, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			w.buf = w.buf[:0]
			return nil, err
		}
		w.buf = w.buf[:got]
		n = min(n, got)
	}
	return w.buf[offset-w.start:][:n], nil
}

// record reads the record at an offset. What is not one is bad up to the next place
// where a record's head could be.
func (w *window) record(at int64, good func(int64, []byte) bool) (rec record, next int64, err error) {
	head, err := w.at(at, recordHeadLen)
	if err != nil {
		return rec, 0, err
	}
	if length, synced, ok := parseRecordHead(head); ok && at+recordHeadLen+int64(length) <= w.size && synced <= at {
		unit, err := w.at(at+recordHeadLen, length)
		if err != nil {
			return rec, 0, err
		}
		if len(unit) == length && (isClosing(unit) || good(at+recordHeadLen, unit)) {
			return record{offset: at + recordHeadLen, length: length, synced: synced}, at + recordHeadLen + int64(length), nil
		}
	}
	next, err = w.nextRecord(at + 1)
	return record{offset: at, length: int(next - at), bad: true}, next, err
}

// nextRecord returns the next place from an offset on with the head of a record.
func (w *window) nextRecord(at int64) (int64, error) {
	return w.seek(at, recordHeadLen, recordMagic, func(b []byte) bool {
		_, _, ok := parseRecordHead(b)
		return ok
	})
}

// seek returns the next place from an offset on with so many bytes that begin with
// magic and are good; without one the file's size.
func (w *window) seek(at int64, length int, magic [4]byte, good func([]byte) bool) (int64, error) {
	for at < w.size {
		b, err := w.at(at, windowLen)
		if err != nil {
			return 0, err
		}
		for i := 0; i+length <= len(b); i++ {
			if b[i] == magic[0] && [4]byte(b[i:]) == magic && good(b[i:i+length]) {
				return at + int64(i), nil
			}
		}
		if len(b) < length || at+int64(len(b)) >= w.size {
			break
		}
		at += int64(len(b) - length + 1)
	}
	return w.size, nil
}

func parseRecordHead(b []byte) (length int, synced int64, ok bool) {
	if len(b) < recordHeadLen || [4]byte(b) != recordMagic || crc(b[:16]) != binary.BigEndian.Uint32(b[16:]) {
		return 0, 0, false
	}
	n, s := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])
	return int(n), int64(s), n <= maxParts*(HeaderLen+maxPacked) && s < 1<<62
}

// appendRecord appends a record to dst.
func appendRecord(dst, unit []byte, synced int64) []byte {
	at := len(dst)
	dst = append(dst, recordMagic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(unit)))
	dst = binary.BigEndian.AppendUint64(dst, uint64(synced))
	dst = binary.BigEndian.AppendUint32(dst, crc(dst[at:]))
	return append(dst, unit...)
}

// journal is a journal that is written.
type journal struct {
	fs   vfs.FS
	path string
	f    vfs.File
	size int64 // up to here everything is on disk
	// torn: a write failed, what lies beyond size is unknown.
	torn bool
	buf  []byte
}

// createJournal makes a journal. Its name is on disk after the first call of append,
// and not before.
func createJournal(fs vfs.FS, path string, kind Kind, first uint64) (*journal, error) {
	f, err := fs.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err = f.WriteAt(fileHead(journalMagic, kind, first), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &journal{fs: fs, path: path, f: f, size: fileHeadLen}, nil
}

// append writes the units as records and returns when they are on disk. On an error
// none of them is in the journal.
func (j *journal) append(data []byte, units []Unit) (offsets []int64, err error) {
	if err := j.mend(); err != nil {
		return nil, err
	}
	j.buf = j.buf[:0]
	for _, u := range units {
		offsets = append(offsets, j.size+int64(len(j.buf))+recordHeadLen)
		j.buf = appendRecord(j.buf, data[u.Offset:u.Offset+u.Len], j.size)
	}
	if err := j.write(); err != nil {
		return nil, err
	}
	return offsets, nil
}

// write writes what is in the buffer.
func (j *journal) write() error {
	_, err := j.f.WriteAt(j.buf, j.size)
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		j.torn = true
		return errors.Join(err, j.mend())
	}
	j.size += int64(len(j.buf))
	if cap(j.buf) > 4*MaxBundle {
		j.buf = nil
	}
	return nil
}

// mend cuts off what a failed write left.
func (j *journal) mend() error {
	if !j.torn {
		return nil
	}
	err := j.f.Truncate(j.size)
	if err == nil {
		err = j.f.Sync()
	}
	j.torn = err != nil
	return err
}

// closingLen is the length of the record that says that a journal was closed: height
// and ID of the last block, of notes zero, and the crc of these.
const closingLen = 8 + 32 + 4

func isClosing(b []byte) bool {
	return len(b) == closingLen && crc(b[:closingLen-4]) == binary.BigEndian.Uint32(b[closingLen-4:])
}

// close marks the journal as closed, so that damage to its last record is not taken
// for a torn tail, and closes the file.
func (j *journal) close(last uint64, id [32]byte) error {
	err := j.mend()
	if err == nil && j.size > fileHeadLen {
		b := append(binary.BigEndian.AppendUint64(nil, last), id[:]...)
		b = binary.BigEndian.AppendUint32(b, crc(b))
		j.buf = appendRecord(j.buf[:0], b, j.size)
		err = j.write()
	}
	return errors.Join(err, j.f.Close())
}
