package evm

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
)

// BlockOf returns a block as an archive keeps it.
func BlockOf(b *evm.Block) archive.Block {
	return archive.Block{Height: b.Number, ID: b.Hash, Parent: b.Parent, Data: Append(nil, b)}
}

// Reader reads the blocks of an archive, with the traces that came late.
type Reader struct{ archive *archive.Archive }

// NewReader returns a reader of an archive of EVM blocks.
func NewReader(a *archive.Archive) *Reader { return &Reader{archive: a} }

// Read calls f with the blocks of a range, in order. f may keep them. It ends as
// [archive.Archive.Read] does; a block that can be read and not decoded is
// damage, too.
func (r *Reader) Read(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
	later, err := r.later(ctx, from, to)
	if err != nil {
		return err
	}
	return r.archive.Read(ctx, from, to, func(kept archive.Block) error {
		b := new(evm.Block)
		if err := decode(&kept, b); err != nil {
			return &archive.Damage{From: kept.Height, To: kept.Height, Err: err}
		}
		for _, n := range later[b.Number] {
			if err := r.apply(&kept, &n, b); err != nil {
				return fmt.Errorf("block %d: %w", b.Number, err)
			}
		}
		return f(b)
	})
}

// decode reads a block of the archive.
func decode(kept *archive.Block, b *evm.Block) error {
	err := Decode(kept.Data, b)
	if err == nil && (b.Number != kept.Height || b.Hash != kept.ID || b.Parent != kept.Parent) {
		err = fmt.Errorf("%w payload of a block: of block %d, %s", errForm, b.Number, b.Hash)
	}
	return err
}

// apply puts what a note says of a block into it. One about another block at its height,
// which the chain gave up, says nothing.
func (r *Reader) apply(kept *archive.Block, n *archive.Note, b *evm.Block) error {
	if n.Type == NoteTrace {
		if err := DecodeTrace(n.Data, b); !errors.Is(err, ErrOtherBlock) {
			return err
		}
		return nil
	}
	var is evm.Block
	if err := Decode(n.Data, &is); err != nil {
		return err
	}
	if is.Hash == kept.ID && (is.Unverified == "" || b.Unverified != "") { // what is known of it now counts
		*b = is
	}
	return nil
}

// later returns what was learned of the blocks of a range after they were archived, in
// that order. It is little: a chain whose traces cannot be had waits, and lies are rare.
func (r *Reader) later(ctx context.Context, from, to uint64) (map[uint64][]archive.Note, error) {
	notes := make(map[uint64][]archive.Note)
	err := r.archive.Notes(ctx, func(n archive.Note) error {
		if from <= n.Height && n.Height <= to {
			notes[n.Height] = append(notes[n.Height], n)
		}
		return nil
	}, NoteTrace, NoteBlock, NoteCorrection)
	if d := (*archive.Damage)(nil); errors.As(err, &d) {
		err = nil // without it the block is untraced
	}
	return notes, err
}
