package primary

import (
	"context"
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/proposer"
	store "quorate/engine/store/index"
)

// lister is a machine that lists blocks.
type lister struct{}

func (lister) Load(*Overlay) error { return nil }

func (lister) Apply(rows *Overlay, b *Block) error {
	l := b.Link()
	rows.PutBlock(&BlockInfo{Chain: PChain, Height: l.Height, ID: l.ID, Parent: l.Parent, Time: l.TimeMilli / 1000, Type: "any", Proposer: rows.Proposer(b)})
	return nil
}

func openLister(t *testing.T) (*Chain, *store.DB) {
	t.Helper()
	db := openDB(t, t.TempDir())
	c, err := OpenChain(db, Config{ID: RowsID(9, PChain), Version: 1, Reads: 1, Machine: func() Machine { return lister{} }})
	if err != nil {
		t.Fatal(err)
	}
	return c, db
}

// headed returns blocks with headers.
func headed(from, to uint64) []*Block {
	list := blocks(from, to)
	for _, b := range list {
		h := byte(b.Platform.Height)
		b.Header = &proposer.Header{ID: chain.ID{8, h}, Parent: chain.ID{8, h - 1}, Time: int64(h), PChainHeight: 3, Certificate: []byte{h % 4}}
	}
	return list
}

// Blocks that were indexed without a header have it in the end as if they had always had
// it, also in rows that were being made again.
func TestComplete(t *testing.T) {
	t.Parallel()
	const some = 40
	last := uint64(1300)
	honest, _ := openLister(t)
	whole := append(headed(5, some), blocks(some+1, last)...)
	commit(t, honest, whole)
	want := digest(t, honest)

	c, db := openLister(t)
	commit(t, c, blocks(5, last))
	if digest(t, c) == want {
		t.Fatal("headers leave no trace in rows")
	}
	// Rows that were half made again without headers are not gone on with.
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Remake(ctx, inArchive(blocks(5, last)), func(uint64, uint64) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for range 2 {
		called := false
		if err := c.Complete(t.Context(), headed(3, some), func() error { called = true; return nil }); err != nil || !called {
			t.Fatal(err)
		}
		if digest(t, c) != want {
			t.Error("the rows are others")
		}
	}
	if err := c.Complete(t.Context(), headed(last, last+2), func() error { return errRefused }); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	foreign := headed(7, 7)
	foreign[0].Platform.ID = chain.ID{1}
	if err := c.Complete(t.Context(), foreign, nil); !errors.Is(err, ErrOrder) {
		t.Errorf("another block: %v", err)
	}
	whole[len(whole)-1] = headed(last, last)[0]
	if err := c.Remake(t.Context(), inArchive(whole), nil); err != nil {
		t.Fatal(err)
	}
	commit(t, honest, nil)
	if err := honest.Complete(t.Context(), headed(last, last), func() error { return nil }); err != nil || digest(t, c) != digest(t, honest) {
		t.Errorf("made again: the rows are others, %v", err)
	}
	again, err := OpenChain(db, c.cfg)
	if err != nil || digest(t, again) != digest(t, honest) {
		t.Errorf("opened again: the rows are others, %v", err)
	}
	empty, _ := openLister(t)
	if err := empty.Complete(t.Context(), headed(1, 2), func() error { return nil }); err != nil {
		t.Errorf("without rows: %v", err)
	}
}
