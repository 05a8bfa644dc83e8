package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Kind is the kind of a chain's blocks: it names the codec of [Block.Data].
type Kind uint8

// The kinds of blocks. Values are stored: do not change them.
const (
	KindEVM      Kind = 1
	KindPlatform Kind = 2 // the P-Chain
	KindAVM      Kind = 3 // the X-Chain
	KindVertex   Kind = 4 // the X-Chain before its linearisation; heights are places
	KindCore     Kind = 5 // the C-Chain with the proposer's headers, beside KindEVM
)

// Content is what a bundle holds.
type Content uint8

// The contents of bundles. Values are stored: do not change them.
const (
	ContentBlocks Content = 1
	ContentNotes  Content = 2
)

const (
	// MaxBundle bounds a bundle before it is packed.
	MaxBundle = 1 << 20
	// MaxBlock bounds a block or a note.
	MaxBlock = 64 << 20
	// HeaderLen is the length of a bundle's header.
	HeaderLen = 152
	// maxPacked bounds what is packed: what zstd makes of bytes that it cannot shrink.
	maxPacked = MaxBundle + MaxBundle/64
	maxParts  = MaxBlock/MaxBundle + 1
)

var bundleMagic = [4]byte{'Q', 'A', 'B', '1'}

// Header is in front of each bundle:
//
//	  0  magic 4, kind 1, content 1, type of notes 1, zero 1
//	  8  first height 8, last height 8: of notes the least and the greatest
//	 24  part 4, parts 4: 0 of 1 but for blocks above 1 MiB
//	 32  length packed 4, unpacked 4
//	 40  ID of the first block 32, of the last 32, of the first's parent 32; of notes zero
//	136  sum of what is packed 8
//	144  entries 4: blocks or notes in it; of parts 1
//	148  crc of the header 4
type Header struct {
	Kind        Kind
	Content     Content
	NoteType    NoteType
	First, Last uint64
	Part, Parts uint32
	Packed, Raw uint32
	FirstID     [32]byte
	LastID      [32]byte
	Parent      [32]byte
	Sum         uint64
	Entries     uint32
}

// errForm is wrapped by errors about bytes that are not what they should be.
var errForm = errors.New("malformed")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc returns the CRC-32C of b.
func crc(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// put writes the header to b, which has [HeaderLen] bytes.
func (h *Header) put(b []byte) {
	e := binary.BigEndian
	copy(b, bundleMagic[:])
	b[4], b[5], b[6], b[7] = byte(h.Kind), byte(h.Content), byte(h.NoteType), 0
	e.PutUint64(b[8:], h.First)
	e.PutUint64(b[16:], h.Last)
	e.PutUint32(b[24:], h.Part)
	e.PutUint32(b[28:], h.Parts)
	e.PutUint32(b[32:], h.Packed)
	e.PutUint32(b[36:], h.Raw)
	copy(b[40:], h.FirstID[:])
	copy(b[72:], h.LastID[:])
	copy(b[104:], h.Parent[:])
	e.PutUint64(b[136:], h.Sum)
	e.PutUint32(b[144:], h.Entries)
	e.PutUint32(b[148:], crc(b[:148]))
}

// ParseHeader reads and checks the header at the start of b. It does not look at
// what follows.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < HeaderLen || [4]byte(b) != bundleMagic {
		return h, fmt.Errorf("%w bundle: no header", errForm)
	}
	e := binary.BigEndian
	if crc(b[:148]) != e.Uint32(b[148:]) {
		return h, fmt.Errorf("%w bundle: the header's checksum differs", errForm)
	}
	h = Header{
		Kind: Kind(b[4]), Content: Content(b[5]), NoteType: NoteType(b[6]),
		First: e.Uint64(b[8:]), Last: e.Uint64(b[16:]),
		Part: e.Uint32(b[24:]), Parts: e.Uint32(b[28:]), Packed: e.Uint32(b[32:]), Raw: e.Uint32(b[36:]),
		FirstID: [32]byte(b[40:]), LastID: [32]byte(b[72:]), Parent: [32]byte(b[104:]),
		Sum: e.Uint64(b[136:]), Entries: e.Uint32(b[144:]),
	}
	return h, h.check(b[7])
}

func (h *Header) check(zero byte) error {
	if zero != 0 || h.Content != ContentBlocks && h.Content != ContentNotes ||
		h.First > h.Last || h.Packed > maxPacked || h.Raw > MaxBundle || h.Entries == 0 ||
		h.Part >= h.Parts || h.Parts > maxParts || h.Parts > 1 && h.Entries != 1 {
		return fmt.Errorf("%w bundle: impossible header", errForm)
	}
	if h.Content == ContentBlocks && h.Last-h.First != uint64(h.Entries-1) {
		return fmt.Errorf("%w bundle: %d blocks from %d to %d", errForm, h.Entries, h.First, h.Last)
	}
	return nil
}
