package depot

import (
	"bufio"
	"context"
	"errors"
	"io"

	"quorate/engine/archive"
)

// spanWriter writes a span: units that lie in it are copied as they are packed, small ones
// become large ones, and of those at its borders the blocks within are packed again. What it
// writes follows from the blocks, but for how large units were packed.
type spanWriter struct {
	codec       *archive.Codec
	w           io.Writer
	first, last uint64
	pending     []archive.Block // to be packed
	raw         int             // bytes of pending
	packed      []byte
}

// writeSpan writes blocks of an archive.
func writeSpan(ctx context.Context, a *archive.Archive, w io.Writer, first, last uint64) error {
	s := &spanWriter{codec: a.Codec(), w: w, first: first, last: last}
	if err := a.Units(ctx, first, last, s.unit); err != nil {
		return err
	}
	return s.flush()
}

func (s *spanWriter) unit(unit []byte, h archive.Header) error {
	if s.first <= h.First && h.Last <= s.last && h.Raw >= archive.MaxBundle/2 {
		if err := s.flush(); err != nil {
			return err
		}
		_, err := s.w.Write(unit)
		return err
	}
	return s.codec.Unpack(unit, func(b archive.Block) error {
		if b.Height < s.first || b.Height > s.last {
			return nil
		}
		if s.raw+len(b.Data) > archive.MaxBundle {
			if err := s.flush(); err != nil {
				return err
			}
		}
		s.pending, s.raw = append(s.pending, b), s.raw+len(b.Data)
		return nil
	})
}

// flush packs what is pending.
func (s *spanWriter) flush() (err error) {
	if len(s.pending) == 0 {
		return nil
	}
	if s.packed, _, err = s.codec.Pack(s.packed[:0], s.pending); err != nil {
		return err
	}
	clear(s.pending)
	s.pending, s.raw = s.pending[:0], 0
	_, err = s.w.Write(s.packed)
	return err
}

// eachUnit calls f with the units of a file. It has the memory of one of them, whatever the
// file says.
func eachUnit(ctx context.Context, f *fetched, each func(unit []byte, h archive.Header) error) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(reader{ctx, f}, 256<<10)
	for {
		unit, head, err := readUnit(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(unit, head)
		}
		if err != nil {
			return err
		}
	}
}

// readUnit reads a unit; its error is [io.EOF] only at the end.
func readUnit(r *bufio.Reader) (unit []byte, head archive.Header, err error) {
	for part := uint32(0); part == 0 || part < head.Parts; part++ {
		b, err := r.Peek(archive.HeaderLen)
		if errors.Is(err, io.EOF) && len(b)+len(unit) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, head, err
		}
		h, err := archive.ParseHeader(b)
		if err != nil {
			return nil, head, err
		}
		if part == 0 {
			head = h
		}
		at := len(unit)
		unit = append(unit, make([]byte, archive.HeaderLen+int(h.Packed))...)
		if _, err = io.ReadFull(r, unit[at:]); err != nil {
			return nil, head, io.ErrUnexpectedEOF
		}
	}
	return unit, head, nil
}

// appendRest appends the blocks of a unit from a height on.
func appendRest(ctx context.Context, a *archive.Archive, unit []byte, next uint64) error {
	var rest []archive.Block
	err := a.Codec().Unpack(unit, func(b archive.Block) error {
		if b.Height >= next {
			rest = append(rest, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.Append(ctx, rest)
}
