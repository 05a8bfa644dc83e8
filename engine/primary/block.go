package primary

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
)

// ErrForm is wrapped by errors about bytes that are no block of their chain.
var ErrForm = errors.New("malformed block")

// UnknownError is about a container that is not malformed, as far as this release can see,
// but of a form that it does not know: that of a later upgrade. It wraps [ErrForm].
type UnknownError struct {
	Header *proposer.Header // around the block; nil: there is none, or its own kind is unknown
	// Framed: unless a header of an unknown kind is around it, it is malformed.
	Framed bool
	Err    error
}

// Error says what is not known.
func (e *UnknownError) Error() string { return e.Err.Error() }

// Unwrap returns what is not known, and [ErrForm].
func (e *UnknownError) Unwrap() []error { return []error{ErrForm, e.Err} }

// Block is a block of the P-, X- or C-Chain, or a vertex, as consensus accepted it.
// Byte strings within it are parts of Raw, which must not change.
type Block struct {
	Chain Kind
	// Raw is the container as the node gave it, with the proposer's header if it has one.
	Raw []byte
	// Bare: the node keeps no containers, and returned the block itself. Whether it has
	// a proposer's header, and which, is not known.
	Bare bool
	// Accepted is when the node that gave it had accepted it, in Unix seconds, by that
	// node's word alone; zero if it did not say.
	Accepted uint64
	// Place is the index of a vertex in the order in which the node accepted them: it
	// is the vertex' height among what is followed, and Before the ID of the vertex at
	// the place before. No vertex says either.
	Place  uint64
	Before chain.ID

	// Outer is the ID of the container: that of the header, or of the block without one.
	Outer  chain.ID
	Header *proposer.Header // nil without one

	// Exactly one of these is set.
	Platform *platform.Block
	AVM      *avm.Block
	Vertex   *avm.Vertex
	EVM      *CoreBlock
}

// CoreBlock is what the primary network knows of a block of the C-Chain. What happened
// in the EVM is read from the chain's own API: see engine/source/evm.
type CoreBlock struct {
	Number    uint64
	Hash      evm.Hash // of the header; consensus calls it the block's ID
	Parent    evm.Hash
	TimeMilli uint64 // Unix milliseconds
	Size      int    // bytes, without the proposer's header
	Txs       int    // transactions of the EVM
	// Atomic are the imports and exports, with their IDs.
	Atomic []atomic.Tx
}

// Parse reads a container: a block with the proposer's header around it or, from
// before there were headers, without one; or a vertex. The error wraps [ErrForm], and an
// [*UnknownError] where a later release may read it.
func Parse(kind Kind, raw []byte) (*Block, error) {
	b := &Block{Chain: kind, Raw: raw}
	var err error
	switch kind {
	case PChain:
		b.Header, b.Platform, err = proposer.Open(raw, platform.ParseBlock)
	case XChain:
		b.Header, b.AVM, err = proposer.Open(raw, avm.ParseBlock)
	case CChain:
		b.Header, b.EVM, err = proposer.Open(raw, parseCore)
	case XVertices:
		b.Vertex, err = avm.ParseVertex(raw)
	default:
		return nil, fmt.Errorf("%w: chain %d", ErrForm, kind)
	}
	if err != nil {
		return nil, formError(kind, raw, b.Header, err)
	}
	b.Outer = b.ID()
	if b.Header != nil {
		b.Outer = b.Header.ID
	}
	return b, nil
}

// formError returns the error about a container that cannot be read; h is the header around
// the block that err is about, if there is one.
func formError(kind Kind, raw []byte, h *proposer.Header, err error) error {
	if kind == XVertices { // there are no new ones
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	if h != nil || errors.Is(err, codec.ErrType) || errors.Is(err, codec.ErrVersion) {
		return &UnknownError{Header: h, Err: err}
	}
	if _, frame := proposer.Parse(raw); errors.Is(frame, codec.ErrType) {
		return &UnknownError{Framed: true, Err: fmt.Errorf("%w; without a header: %w", frame, err)}
	}
	return fmt.Errorf("%w: %w", ErrForm, err)
}

func parseCore(raw []byte) (*CoreBlock, error) {
	parts, err := consensus.ParseBlock(raw)
	if err != nil {
		return nil, err
	}
	var h consensus.Header
	if err := h.Parse(parts.Header); err != nil {
		return nil, err
	}
	if err := parts.Check(&h); err != nil {
		return nil, err
	}
	c := &CoreBlock{
		Number: h.Number, Hash: evm.Keccak(parts.Header), Parent: h.Parent, TimeMilli: h.Milli(), Size: len(raw), Txs: len(parts.Txs),
	}
	if c.Atomic, err = atomic.Parse(parts.ExtData); err != nil {
		return nil, err
	}
	return c, nil
}

// ID returns the ID of the block itself, without the header.
func (b *Block) ID() chain.ID { return b.Link().ID }

// Link returns what the block is in its chain: the IDs of blocks without headers, and
// heights. It says nothing of the time of P-Chain blocks that have none. The parent of a
// vertex is the one before it in the order of acceptance, not one that it names.
func (b *Block) Link() chain.Link {
	switch {
	case b.Platform != nil:
		p := b.Platform
		return chain.Link{Head: chain.Head{Height: p.Height, ID: p.ID, TimeMilli: p.Time * 1000}, Parent: p.Parent, Txs: len(p.Txs)}
	case b.AVM != nil:
		x := b.AVM
		return chain.Link{Head: chain.Head{Height: x.Height, ID: x.ID, TimeMilli: x.Time * 1000}, Parent: x.Parent, Txs: len(x.Txs)}
	case b.Vertex != nil:
		v := b.Vertex
		return chain.Link{Head: chain.Head{Height: b.Place, ID: v.ID, TimeMilli: b.Accepted * 1000}, Parent: b.Before, Orphan: b.Place == 0, Txs: len(v.Txs)}
	default:
		c := b.EVM
		return chain.Link{
			Head:   chain.Head{Height: c.Number, ID: chain.ID(c.Hash), TimeMilli: c.TimeMilli},
			Parent: chain.ID(c.Parent), Orphan: c.Number == 0, Txs: c.Txs + len(c.Atomic),
		}
	}
}

// decoded is how many bytes a parsed block takes for each byte of its encoding, rather
// too many.
const decoded = 6

// Memory estimates the bytes that the block takes in memory.
func (b *Block) Memory() int { return int(unsafe.Sizeof(*b)) + (1+decoded)*len(b.Raw) }

// The form in which an archive keeps a block: flags, when it was accepted if that is
// known, and the container.
const (
	flagBare     = 1 << iota
	flagAccepted // 8 bytes behind the flags
	flagsKnown   = flagBare | flagAccepted
)

// AppendArchived appends what the archive keeps of a block.
func AppendArchived(dst []byte, b *Block) []byte {
	flags := byte(0)
	if b.Bare {
		flags |= flagBare
	}
	if b.Accepted != 0 {
		flags |= flagAccepted
	}
	dst = append(dst, flags)
	if b.Accepted != 0 {
		dst = binary.BigEndian.AppendUint64(dst, b.Accepted)
	}
	return append(dst, b.Raw...)
}

// ArchivedBare reports whether the archive keeps a block bare.
func ArchivedBare(data []byte) bool { return len(data) > 0 && data[0]&flagBare != 0 }

// ParseArchived reads what the archive keeps of the block at a height, of which it knows
// the one before. The block has parts of data, which must not change.
func ParseArchived(kind Kind, height uint64, before chain.ID, data []byte) (*Block, error) {
	if len(data) == 0 || data[0]&^byte(flagsKnown) != 0 {
		return nil, fmt.Errorf("%w: flags that are not known here", ErrForm)
	}
	flags, raw, accepted := data[0], data[1:], uint64(0)
	if flags&flagAccepted != 0 {
		if len(raw) < 8 || binary.BigEndian.Uint64(raw) == 0 {
			return nil, fmt.Errorf("%w: no time", ErrForm)
		}
		accepted, raw = binary.BigEndian.Uint64(raw), raw[8:]
	}
	b, err := Parse(kind, raw)
	if err != nil {
		return nil, err
	}
	b.Accepted, b.Bare = accepted, flags&flagBare != 0
	if kind == XVertices {
		b.Place, b.Before = height, before
	}
	switch got := b.Link().Height; {
	case got != height:
		return nil, fmt.Errorf("%w: block %d in place of %d", ErrForm, got, height)
	case b.Bare && (b.Header != nil || kind == XVertices):
		return nil, fmt.Errorf("%w: a header where none is", ErrForm)
	}
	return b, nil
}

// GenesisID returns the ID of a network's genesis: the parent of its P-Chain's first block.
func GenesisID(genesis []byte) chain.ID { return sha256.Sum256(genesis) }
