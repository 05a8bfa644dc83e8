package feed

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
	"quorate/engine/chain"
)

// Kind is what a record holds. Values are stored: do not change them.
type Kind uint8

// The kinds of records.
const (
	Blocks Kind = 1
	Notes  Kind = 2
	Facts  Kind = 3
	// Absent stands for a block that is too large for the log; the data is its ID.
	Absent Kind = 4
)

const (
	version = 1
	headLen = 88
	sumLen  = 8
	// MaxRecord bounds a record: servers take a MiB with what they put before it.
	MaxRecord = 1<<20 - 8<<10
	// MaxRaw bounds what is packed in a record of blocks or notes.
	MaxRaw = 32 << 20
	// maxWriter bounds the name of a writer.
	maxWriter = 255
)

// ErrRefused is wrapped by the error of a record that is not what it should be. ErrVersion is
// that of one that another release wrote, and this one cannot read.
var (
	ErrRefused = errors.New("record refused")
	ErrVersion = fmt.Errorf("%w: of another version", ErrRefused)
)

// Record is what the log keeps under a position.
type Record struct {
	Kind    Kind
	Of      archive.Kind
	Network uint32
	Chain   chain.ID
	Writer  string
	// Next is the height of the block that comes next, Parent the ID of the one before.
	Next   uint64
	Parent [32]byte
	Data   []byte
}

// Append appends the record's bytes.
func (r *Record) Append(dst []byte) []byte {
	begin, e := len(dst), binary.BigEndian
	dst = append(dst, 'Q', 'F', 'R', version, byte(r.Kind), byte(r.Of), byte(min(len(r.Writer), maxWriter)), 0)
	dst = e.AppendUint32(dst, r.Network)
	dst = append(dst, r.Chain[:]...)
	dst = e.AppendUint64(dst, r.Next)
	dst = append(dst, r.Parent[:]...)
	dst = e.AppendUint32(dst, uint32(len(r.Data)))
	dst = append(dst, r.Writer[:min(len(r.Writer), maxWriter)]...)
	dst = append(dst, r.Data...)
	return e.AppendUint64(dst, xxhash.Sum64(dst[begin:]))
}

// Size returns how many bytes the record has.
func (r *Record) Size() int { return headLen + len(r.Writer) + len(r.Data) + sumLen }

// Decode reads a record, which keeps b. Of what it holds only the sum is checked.
func Decode(b []byte) (r Record, err error) {
	e := binary.BigEndian
	switch {
	case len(b) < headLen+sumLen || len(b) > MaxRecord || string(b[:3]) != "QFR":
		return r, fmt.Errorf("%w: %d bytes that are no record", ErrRefused, len(b))
	case b[3] != version:
		return r, fmt.Errorf("%w: %d", ErrVersion, b[3])
	}
	body := b[:len(b)-sumLen]
	if xxhash.Sum64(body) != e.Uint64(b[len(body):]) {
		return r, fmt.Errorf("%w: its sum differs", ErrRefused)
	}
	writer, data := int(b[6]), e.Uint32(b[84:])
	if b[7] != 0 || uint64(headLen+writer)+uint64(data) != uint64(len(body)) {
		return r, fmt.Errorf("%w: %d bytes where it says %d", ErrRefused, len(body), data)
	}
	return Record{
		Kind: Kind(b[4]), Of: archive.Kind(b[5]), Network: e.Uint32(b[8:]), Chain: chain.ID(b[12:]),
		Writer: string(body[headLen:][:writer]), Next: e.Uint64(b[44:]), Parent: [32]byte(b[52:]), Data: body[headLen+writer:],
	}, nil
}

// is checks that a record is about what the subject is about.
func (r *Record) is(network uint32, of chain.ID, kind archive.Kind) error {
	if r.Network != network || r.Chain != of || r.Of != kind {
		return fmt.Errorf("%w: it is about chain %s of network %d", ErrRefused, r.Chain, r.Network)
	}
	return nil
}

// units calls f with the units in a record, whose sizes are bounded together.
func (r *Record) units(f func(unit []byte, h *archive.Header) error) error {
	var raw uint64
	for rest := r.Data; len(rest) > 0; {
		unit, h, left, err := archive.SplitUnit(rest)
		if err == nil {
			if raw += uint64(h.Raw) + uint64(h.Parts-1)*archive.MaxBundle; raw > MaxRaw {
				err = fmt.Errorf("%d bytes and more are packed in it", raw)
			}
		}
		if err == nil {
			err = f(unit, &h)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		rest = left
	}
	return nil
}

// blocks returns the blocks of a record, which follow each other and on what it names.
func (r *Record) blocks(c *archive.Codec) (list []archive.Block, err error) {
	if r.Kind == Absent {
		if len(r.Data) != 32 {
			return nil, fmt.Errorf("%w: no ID of the block that it lacks", ErrRefused)
		}
		return []archive.Block{{Height: r.Next, ID: [32]byte(r.Data), Parent: r.Parent}}, nil
	}
	if r.Kind != Blocks {
		return nil, fmt.Errorf("%w: of kind %d, not of blocks", ErrRefused, r.Kind)
	}
	next, parent := r.Next, r.Parent
	err = r.units(func(unit []byte, _ *archive.Header) error {
		return c.Unpack(unit, func(b archive.Block) error {
			if b.Height != next || b.Parent != parent {
				return fmt.Errorf("block %d, parent %x, where block %d follows on %x", b.Height, b.Parent, next, parent)
			}
			next, parent = next+1, b.ID
			list = append(list, b)
			return nil
		})
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: no block is in it", ErrRefused)
	}
	return list, err
}

// notes returns the notes of a record.
func (r *Record) notes(c *archive.Codec) (list []archive.Note, err error) {
	if r.Kind != Notes {
		return nil, fmt.Errorf("%w: of kind %d, not of notes", ErrRefused, r.Kind)
	}
	err = r.units(func(unit []byte, _ *archive.Header) error {
		return c.UnpackNotes(unit, func(n archive.Note) error {
			list = append(list, n)
			return nil
		})
	})
	return list, err
}
