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
	traces, err := r.traces(ctx, from, to)
	if err != nil {
		return err
	}
	return r.archive.Read(ctx, from, to, func(kept archive.Block) error {
		b := new(evm.Block)
		err := Decode(kept.Data, b)
		if err == nil && (b.Number != kept.Height || b.Hash != kept.ID || b.Parent != kept.Parent) {
			err = fmt.Errorf("%w payload of a block: of block %d, %s", errForm, b.Number, b.Hash)
		}
		if err != nil {
			return &archive.Damage{From: kept.Height, To: kept.Height, Err: err}
		}
		for _, trace := range traces[b.Number] {
			if err := DecodeTrace(trace, b); err != nil && !errors.Is(err, ErrOtherBlock) {
				return fmt.Errorf("block %d: %w", b.Number, err)
			}
		}
		return f(b)
	})
}

// traces returns the late traces of a range. There are few: a chain whose traces
// cannot be had waits.
func (r *Reader) traces(ctx context.Context, from, to uint64) (map[uint64][][]byte, error) {
	traces := make(map[uint64][][]byte)
	err := r.archive.Notes(ctx, func(n archive.Note) error {
		if from <= n.Height && n.Height <= to {
			traces[n.Height] = append(traces[n.Height], n.Data)
		}
		return nil
	}, NoteTrace)
	if d := (*archive.Damage)(nil); errors.As(err, &d) {
		err = nil // without it the block is untraced
	}
	return traces, err
}
