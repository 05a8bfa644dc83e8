package archive

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// Block is a block of a chain.
type Block struct {
	Height     uint64
	ID, Parent [32]byte
	// Data is the block in the codec of its kind. Of a block that was read it may be
	// kept, but not changed; it keeps up to 1 MiB of its neighbours in memory.
	Data []byte
}

// NoteType says what a note is about. The codec of the kind of block defines them.
type NoteType uint8

// Note is what a node answered beside the blocks.
type Note struct {
	Height uint64 // the block to which it belongs
	Type   NoteType
	Data   []byte
}

// Unit is a unit in bytes that hold several.
type Unit struct {
	First, Last uint64
	Offset, Len int
	Raw         int // bytes before they were packed
}

// Codec packs blocks and notes into bundles and unpacks them. All methods may be
// called at once.
type Codec struct {
	kind Kind
	size int // where a bundle ends: MaxBundle, but in tests
	dec  *zstd.Decoder
}

// NewCodec returns a codec for blocks of a kind.
func NewCodec(kind Kind) *Codec {
	// These options are never refused. A window beyond a bundle would only take memory.
	dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(min(4, runtime.GOMAXPROCS(0))),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxBundle), zstd.WithDecoderMaxWindow(MaxBundle))
	return &Codec{kind: kind, size: MaxBundle, dec: dec}
}

// Encoders of all codecs. Their tables take up to a MiB and more for each bundle that is
// packed at once, and what they make of a bundle depends on that bundle alone.
var (
	usual = sync.OnceValue(func() *zstd.Encoder { return newEncoder(zstd.SpeedDefault) })
	// fast is for blocks of IDs, signatures and addresses, of which a longer search finds
	// little more to save.
	fast = sync.OnceValue(func() *zstd.Encoder { return newEncoder(zstd.SpeedFastest) })
)

func newEncoder(level zstd.EncoderLevel) *zstd.Encoder {
	// These options are never refused. Checksums are the bundle's own.
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithWindowSize(MaxBundle),
		zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(min(4, runtime.GOMAXPROCS(0))),
		zstd.WithLowerEncoderMem(true))
	return enc
}

func (c *Codec) encoder() *zstd.Encoder {
	switch c.kind {
	case KindPlatform, KindAVM, KindVertex:
		return fast()
	}
	return usual()
}

// entryOverhead is the most that an entry needs beside its data.
const entryOverhead = 32 + 3*binary.MaxVarintLen64

// Pack appends consecutive blocks as units, as few as there can be. It does not
// check that they follow each other.
func (c *Codec) Pack(dst []byte, blocks []Block) ([]byte, []Unit, error) {
	var units []Unit
	var raw []byte
	for len(blocks) > 0 {
		n, size := 0, 0
		for n < len(blocks) && (n == 0 || size+len(blocks[n].Data)+entryOverhead <= c.size) {
			size += len(blocks[n].Data) + entryOverhead
			n++
		}
		if len(blocks[0].Data) > MaxBlock {
			return dst, units, fmt.Errorf("block %d has %d bytes, at most %d can be archived", blocks[0].Height, len(blocks[0].Data), MaxBlock)
		}
		raw = slices.Grow(raw[:0], size)
		for i := range blocks[:n] {
			raw = binary.AppendUvarint(raw, uint64(len(blocks[i].Data)))
			raw = append(append(raw, blocks[i].ID[:]...), blocks[i].Data...)
		}
		h := Header{
			Kind: c.kind, Content: ContentBlocks, First: blocks[0].Height, Last: blocks[n-1].Height, Entries: uint32(n),
			FirstID: blocks[0].ID, LastID: blocks[n-1].ID, Parent: blocks[0].Parent,
		}
		var u Unit
		dst, u = c.pack(dst, h, raw)
		units = append(units, u)
		blocks = blocks[n:]
	}
	return dst, units, nil
}

// PackNotes appends notes as units: each holds notes of one type that followed each other.
func (c *Codec) PackNotes(dst []byte, notes []Note) ([]byte, []Unit, error) {
	var units []Unit
	var raw []byte
	for len(notes) > 0 {
		h := Header{Kind: c.kind, Content: ContentNotes, NoteType: notes[0].Type, First: notes[0].Height, Last: notes[0].Height}
		n, size := 0, 0
		for n < len(notes) && notes[n].Type == h.NoteType && (n == 0 || size+len(notes[n].Data)+entryOverhead <= c.size) {
			size += len(notes[n].Data) + entryOverhead
			h.First, h.Last = min(h.First, notes[n].Height), max(h.Last, notes[n].Height)
			n++
		}
		if len(notes[0].Data) > MaxBlock {
			return dst, units, fmt.Errorf("a note on block %d has %d bytes, at most %d can be archived", notes[0].Height, len(notes[0].Data), MaxBlock)
		}
		raw = slices.Grow(raw[:0], size)
		for i := range notes[:n] {
			raw = binary.AppendUvarint(raw, notes[i].Height)
			raw = binary.AppendUvarint(raw, uint64(len(notes[i].Data)))
			raw = append(raw, notes[i].Data...)
		}
		h.Entries = uint32(n)
		var u Unit
		dst, u = c.pack(dst, h, raw)
		units = append(units, u)
		notes = notes[n:]
	}
	return dst, units, nil
}

// pack appends raw, in several bundles if it is large.
func (c *Codec) pack(dst []byte, h Header, raw []byte) ([]byte, Unit) {
	u := Unit{First: h.First, Last: h.Last, Offset: len(dst), Raw: len(raw)}
	h.Parts = uint32((len(raw) + c.size - 1) / c.size)
	for ; h.Part < h.Parts; h.Part++ {
		part := raw[:min(len(raw), c.size)]
		raw = raw[len(part):]
		at := len(dst)
		dst = append(dst, make([]byte, HeaderLen)...)
		dst = c.encoder().EncodeAll(part, dst)
		packed := dst[at+HeaderLen:]
		h.Packed, h.Raw, h.Sum = uint32(len(packed)), uint32(len(part)), xxhash.Sum64(packed)
		h.put(dst[at:])
	}
	u.Len = len(dst) - u.Offset
	return dst, u
}

// unpack checks a unit and returns the header of its first bundle and what was packed.
func (c *Codec) unpack(unit []byte) (head Header, raw []byte, err error) {
	for part := uint32(0); part == 0 || part < head.Parts; part++ {
		h, err := ParseHeader(unit)
		if err != nil {
			return h, nil, err
		}
		if part == 0 {
			head = h
		}
		if err := checkBundle(unit, &h, &head, part, c.kind); err != nil {
			return h, nil, err
		}
		packed := unit[HeaderLen : HeaderLen+int(h.Packed)]
		// The decoder takes no more memory than a bundle may: parts are joined here.
		content, err := c.dec.DecodeAll(packed, make([]byte, 0, h.Raw))
		if err != nil {
			return h, nil, fmt.Errorf("%w bundle: %w", errForm, err)
		}
		if len(content) != int(h.Raw) {
			return h, nil, fmt.Errorf("%w bundle: %d bytes unpacked, not %d", errForm, len(content), h.Raw)
		}
		if raw == nil {
			raw = content
		} else {
			raw = append(raw, content...)
		}
		unit = unit[HeaderLen+int(h.Packed):]
	}
	if len(unit) != 0 {
		return head, nil, fmt.Errorf("%w bundle: %d bytes too many", errForm, len(unit))
	}
	return head, raw, nil
}

// checkBundle checks the bundle at the start of b against its header and the first
// of its unit.
func checkBundle(b []byte, h, head *Header, part uint32, kind Kind) error {
	switch {
	case h.Kind != kind:
		return fmt.Errorf("%w bundle: of kind %d, not %d", errForm, h.Kind, kind)
	case h.Part != part || h.Parts != head.Parts || h.First != head.First || h.FirstID != head.FirstID || h.Content != head.Content:
		return fmt.Errorf("%w bundle: not the next part of block %d", errForm, head.First)
	case uint64(len(b)) < HeaderLen+uint64(h.Packed):
		return fmt.Errorf("%w bundle: cut short", errForm)
	case xxhash.Sum64(b[HeaderLen:HeaderLen+int(h.Packed)]) != h.Sum:
		return fmt.Errorf("%w bundle: the checksum differs", errForm)
	}
	return nil
}

// CheckUnit checks the checksums of a unit without unpacking it, and returns the
// header of its first bundle.
func (c *Codec) CheckUnit(unit []byte) (head Header, err error) {
	for part := uint32(0); part == 0 || part < head.Parts; part++ {
		h, err := ParseHeader(unit)
		if err != nil {
			return h, err
		}
		if part == 0 {
			head = h
		}
		if err := checkBundle(unit, &h, &head, part, c.kind); err != nil {
			return h, err
		}
		unit = unit[HeaderLen+int(h.Packed):]
	}
	if len(unit) != 0 {
		return head, fmt.Errorf("%w bundle: %d bytes too many", errForm, len(unit))
	}
	return head, nil
}

// Unpack calls f with each block of a unit, in order of height, until f fails. It
// checks the unit first.
func (c *Codec) Unpack(unit []byte, f func(Block) error) error {
	h, raw, err := c.unpack(unit)
	if err != nil {
		return err
	}
	if h.Content != ContentBlocks {
		return fmt.Errorf("%w bundle: it holds no blocks", errForm)
	}
	blocks, err := splitBlocks(&h, raw)
	if err != nil {
		return err
	}
	for i := range blocks {
		if err := f(blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// splitBlocks returns the blocks in raw, which keep it.
func splitBlocks(h *Header, raw []byte) ([]Block, error) {
	if uint64(h.Entries) > uint64(len(raw))/33 {
		return nil, fmt.Errorf("%w bundle: %d blocks in %d bytes", errForm, h.Entries, len(raw))
	}
	blocks := make([]Block, h.Entries)
	parent := h.Parent
	for i := range blocks {
		n, used := binary.Uvarint(raw)
		if used <= 0 || len(raw)-used < 32 || n > uint64(len(raw)-used-32) {
			return nil, fmt.Errorf("%w bundle: block %d is cut short", errForm, h.First+uint64(i))
		}
		raw = raw[used:]
		end := 32 + int(n)
		blocks[i] = Block{Height: h.First + uint64(i), ID: [32]byte(raw), Parent: parent, Data: raw[32:end:end]}
		parent, raw = blocks[i].ID, raw[end:]
	}
	if len(raw) != 0 || blocks[0].ID != h.FirstID || parent != h.LastID {
		return nil, fmt.Errorf("%w bundle: the blocks are not those of the header", errForm)
	}
	return blocks, nil
}

// UnpackNotes is [Codec.Unpack] for notes.
func (c *Codec) UnpackNotes(unit []byte, f func(Note) error) error {
	h, raw, err := c.unpack(unit)
	if err != nil {
		return err
	}
	if h.Content != ContentNotes {
		return fmt.Errorf("%w bundle: it holds no notes", errForm)
	}
	for range h.Entries {
		height, a := binary.Uvarint(raw)
		n, b := binary.Uvarint(raw[max(a, 0):])
		if a <= 0 || b <= 0 || n > uint64(len(raw)-a-b) {
			return fmt.Errorf("%w bundle: a note is cut short", errForm)
		}
		end := a + b + int(n)
		if err := f(Note{Height: height, Type: h.NoteType, Data: raw[a+b : end : end]}); err != nil {
			return err
		}
		raw = raw[end:]
	}
	if len(raw) != 0 {
		return fmt.Errorf("%w bundle: %d bytes too many behind its notes", errForm, len(raw))
	}
	return nil
}
