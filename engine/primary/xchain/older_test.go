package xchain

import (
	"context"
	"slices"
	"testing"

	"quorate/engine/primary"
)

// inArchive are the blocks or vertices that rows are made again from.
type inArchive []*primary.Block

func (a inArchive) Read(ctx context.Context, from, to uint64, f func(*primary.Block) error) error {
	for _, b := range a {
		if h := b.Link().Height; h >= from && h <= to {
			if err := f(b); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Rows of before there were live lists are served, take blocks and are made again.
func TestOlderLists(t *testing.T) {
	t.Parallel()
	size := 60
	w := newWorld(t, 9, size, size)
	db := openDB(t)
	vertices, err := openVertices(db, network, w.genesis, 4)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := openBlocks(db, network, w.genesis, vertices, 4)
	if err != nil {
		t.Fatal(err)
	}
	most := w.stop + size/2
	for _, part := range []struct {
		to    *primary.Chain
		items []*primary.Block
	}{{vertices, w.items[:w.stop]}, {blocks, w.items[w.stop:most]}} {
		if err := part.to.Commit(t.Context(), part.items); err != nil {
			t.Fatal(err)
		}
	}
	blocks, vertices = openChains(t, db, w.genesis)
	if !blocks.Stale() || !vertices.Stale() {
		t.Fatal("not stale")
	}
	check := func() {
		t.Helper()
		v, err := Open(blocks, vertices)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		w.check(v)
	}
	if err := blocks.Commit(t.Context(), w.items[most:]); err != nil {
		t.Fatal(err)
	}
	check()
	for _, c := range []*primary.Chain{vertices, blocks} {
		from := inArchive(w.items[:w.stop])
		if c == blocks {
			from = w.items[w.stop:]
		}
		if err := c.Rebuild(t.Context(), from, nil); err != nil || c.Stale() {
			t.Fatal(err, c.Stale())
		}
		check()
	}
	b, v := w.commit(openDB(t), 50)
	if got, want := digests(t, blocks, vertices), digests(t, b, v); !slices.Equal(got, want) {
		t.Error("another digest")
	}
}
