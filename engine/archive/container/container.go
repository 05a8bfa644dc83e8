// Package container is the codec of the primary network's blocks in an archive: the
// containers as nodes keep them, see [primary.AppendArchived].
package container

import (
	"bytes"
	"context"
	"fmt"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/primary"
)

// kinds are the archives' kinds by chain.
var kinds = map[primary.Kind]archive.Kind{
	primary.PChain: archive.KindPlatform, primary.XChain: archive.KindAVM,
	primary.XVertices: archive.KindVertex, primary.CChain: archive.KindCore,
}

// KindOf returns the kind of archive that keeps the blocks of a chain.
func KindOf(k primary.Kind) archive.Kind { return kinds[k] }

// ChainOf returns the chain whose blocks an archive of a kind keeps; ok is false for
// those that keep others.
func ChainOf(kind archive.Kind) (k primary.Kind, ok bool) {
	for k, of := range kinds {
		if of == kind {
			return k, true
		}
	}
	return 0, false
}

// BlockOf returns a block as an archive keeps it.
func BlockOf(b *primary.Block) archive.Block {
	l := b.Link()
	return archive.Block{Height: l.Height, ID: l.ID, Parent: l.Parent, Data: primary.AppendArchived(nil, b)}
}

// Reader reads the blocks of an archive.
type Reader struct {
	archive *archive.Archive
	chain   primary.Kind
}

// NewReader returns a reader of an archive with the blocks of a chain.
func NewReader(a *archive.Archive, k primary.Kind) *Reader { return &Reader{a, k} }

// Read calls f with the blocks of a range, in order. f may keep them. It ends as
// [archive.Archive.Read] does; a block that can be read and not decoded is damage, too.
func (r *Reader) Read(ctx context.Context, from, to uint64, f func(*primary.Block) error) error {
	return r.archive.Read(ctx, from, to, func(kept archive.Block) error {
		b, err := primary.ParseArchived(r.chain, kept.Height, kept.Parent, kept.Data)
		if err == nil {
			if l := b.Link(); l.ID != kept.ID || l.Parent != kept.Parent {
				err = fmt.Errorf("%w: of block %s", primary.ErrForm, chain.ID(kept.ID))
			}
		}
		if err != nil {
			return &archive.Damage{From: kept.Height, To: kept.Height, Err: err}
		}
		return f(b)
	})
}

// Recode decodes the blocks of a range with all that is in them, and returns how many are
// the same bytes when they are encoded again. The first that is not is damage.
func (r *Reader) Recode(ctx context.Context, from, to uint64) (n int, err error) {
	err = r.Read(ctx, from, to, func(b *primary.Block) error {
		again, err := primary.Recode(r.chain, b.Raw)
		if err == nil && !bytes.Equal(again, b.Raw) {
			err = fmt.Errorf("%w: what it is decoded to is encoded as other bytes, so not all of it is understood", primary.ErrForm)
		}
		if err != nil {
			at := b.Link().Height
			return &archive.Damage{From: at, To: at, Err: err}
		}
		n++
		return nil
	})
	return n, err
}
