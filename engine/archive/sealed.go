package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive/vfs"
)

const (
	footLen      = 152
	indexItemLen = 16
	// maxIndex bounds the units of a segment: a foot that says more is damaged.
	maxIndex = 1 << 24
)

var (
	segmentMagic = [8]byte{'Q', 'A', 'S', 'E', 'G', 'M', 'T', '1'}
	footMagic    = [8]byte{'Q', 'A', 'F', 'O', 'O', 'T', 'E', '1'}
)

// place is where a unit lies in a segment. Its last height is the one before the
// next place's first.
type place struct {
	first  uint64
	offset int64
	length int32
	bad    bool // what lies there is known not to be the unit
}

// ends names a segment's blocks.
type ends struct {
	first, last             uint64
	parent, firstID, lastID [32]byte
}

// appendFoot appends the index and the foot of a segment whose index begins at offset.
func appendFoot(dst []byte, e ends, places []place, offset int64) []byte {
	b := binary.BigEndian
	at := len(dst)
	for _, p := range places {
		dst = b.AppendUint64(dst, p.first)
		dst = b.AppendUint64(dst, uint64(p.offset))
	}
	sum := xxhash.Sum64(dst[at:])
	at = len(dst)
	dst = b.AppendUint64(dst, e.first)
	dst = b.AppendUint64(dst, e.last)
	dst = b.AppendUint64(dst, uint64(offset))
	dst = b.AppendUint32(dst, uint32(len(places)))
	dst = b.AppendUint32(dst, 0)
	dst = append(append(append(dst, e.firstID[:]...), e.lastID[:]...), e.parent[:]...)
	dst = b.AppendUint64(dst, sum)
	dst = append(dst, footMagic[:]...)
	dst = b.AppendUint32(dst, 0)
	return b.AppendUint32(dst, crc(dst[at:]))
}

// foot is the end of a sealed segment.
type foot struct {
	ends
	offset int64 // of the index
	units  int
	sum    uint64 // of the index
}

// parseFoot reads the foot of a file of that size.
func parseFoot(b []byte, size int64) (f foot, err error) {
	e := binary.BigEndian
	if len(b) != footLen || [8]byte(b[136:]) != footMagic || crc(b[:148]) != e.Uint32(b[148:]) {
		return f, fmt.Errorf("%w segment: no foot", errForm)
	}
	f = foot{
		ends: ends{
			first: e.Uint64(b), last: e.Uint64(b[8:]),
			firstID: [32]byte(b[32:]), lastID: [32]byte(b[64:]), parent: [32]byte(b[96:]),
		},
		offset: int64(e.Uint64(b[16:])), units: int(e.Uint32(b[24:])), sum: e.Uint64(b[128:]),
	}
	if f.units == 0 || f.units > maxIndex || f.first > f.last || f.offset < fileHeadLen ||
		f.offset+int64(f.units)*indexItemLen+footLen != size {
		return f, fmt.Errorf("%w segment: impossible foot", errForm)
	}
	return f, nil
}

// parseIndex reads an index.
func parseIndex(b []byte, f *foot) ([]place, error) {
	if len(b) != f.units*indexItemLen || xxhash.Sum64(b) != f.sum {
		return nil, fmt.Errorf("%w segment: the checksum of the index differs", errForm)
	}
	e := binary.BigEndian
	places := make([]place, f.units)
	for i := range places {
		places[i] = place{first: e.Uint64(b[i*indexItemLen:]), offset: int64(e.Uint64(b[i*indexItemLen+8:]))}
	}
	end := f.offset
	for i := len(places) - 1; i >= 0; i-- {
		p := &places[i]
		ordered := i == 0 || places[i-1].first < p.first
		if p.offset < fileHeadLen || p.offset > end || end-p.offset > 1<<31-1 || !ordered || p.first > f.last {
			return nil, fmt.Errorf("%w segment: impossible index", errForm)
		}
		p.length, end = int32(end-p.offset), p.offset
	}
	if places[0].first != f.first || places[0].offset != fileHeadLen {
		return nil, fmt.Errorf("%w segment: impossible index", errForm)
	}
	return places, nil
}

// readFoot reads the foot of a sealed segment.
func readFoot(f vfs.File) (ft foot, size int64, err error) {
	if size, err = f.Size(); err != nil {
		return ft, 0, err
	}
	if size < fileHeadLen+footLen {
		return ft, size, fmt.Errorf("%w segment: cut short", errForm)
	}
	b, err := readAt(f, size-footLen, footLen)
	if err != nil {
		return ft, size, err
	}
	ft, err = parseFoot(b, size)
	return ft, size, err
}

// readIndex reads the index of a sealed segment.
func readIndex(f vfs.File, ft *foot) ([]place, error) {
	b, err := readAt(f, ft.offset, ft.units*indexItemLen)
	if err != nil {
		return nil, err
	}
	return parseIndex(b, ft)
}

// readAt returns n bytes of a file. That they are not all there is damage.
func readAt(f vfs.File, offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := f.ReadAt(b, offset); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w file: it ends before byte %d", errForm, offset+int64(n))
	} else if err != nil {
		return nil, err
	}
	return b, nil
}

// builder writes a sealed segment beside the name that it will have.
type builder struct {
	fs     vfs.FS
	path   string
	f      vfs.File
	w      *bufio.Writer
	size   int64
	ends   ends
	places []place
}

// build begins a segment.
func build(fs vfs.FS, path string, kind Kind, first uint64) (*builder, error) {
	f, err := fs.Create(path + tmpSuffix)
	if err != nil {
		return nil, err
	}
	b := &builder{fs: fs, path: path, f: f, ends: ends{first: first}}
	b.w = bufio.NewWriterSize(io.NewOffsetWriter(f, 0), 256<<10)
	if err := b.write(fileHead(segmentMagic, kind, first)); err != nil {
		return nil, errors.Join(err, b.abort())
	}
	return b, nil
}

func (b *builder) write(p []byte) error {
	n, err := b.w.Write(p)
	b.size += int64(n)
	return err
}

// add writes a unit that begins with a height.
func (b *builder) add(first uint64, unit []byte) error {
	b.places = append(b.places, place{first: first, offset: b.size, length: int32(len(unit))})
	return b.write(unit)
}

// finish writes index and foot, and has the file on disk under its name on return.
// What had the name before is gone.
func (b *builder) finish(dir string) (size int64, err error) {
	if err = b.write(appendFoot(nil, b.ends, b.places, b.size)); err == nil {
		err = b.w.Flush()
	}
	if err == nil {
		err = b.f.Sync()
	}
	if err != nil {
		return 0, errors.Join(err, b.abort())
	}
	if err = b.f.Close(); err == nil {
		err = b.fs.Rename(b.path+tmpSuffix, b.path)
	}
	if err != nil {
		return 0, errors.Join(err, b.fs.Remove(b.path+tmpSuffix))
	}
	return b.size, b.fs.SyncDir(dir)
}

// abort removes what was written.
func (b *builder) abort() error {
	return errors.Join(b.f.Close(), b.fs.Remove(b.path+tmpSuffix))
}
