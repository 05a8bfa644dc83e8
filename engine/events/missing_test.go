package events

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// take removes the row of a block, as if the chain were about to go back, and returns what
// puts it back.
func take(t testing.TB, db *store.DB, height uint64) (put func()) {
	t.Helper()
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	it, err := s.Rows([]byte{store.TableBlocks}, false)
	if err != nil {
		t.Fatal(err)
	}
	it.Seek([]byte{store.TableBlocks})
	for ; it.Valid() && !bytes.HasSuffix(it.Key(), binary.BigEndian.AppendUint64(nil, height)); it.Next() {
	}
	if !it.Valid() {
		t.Fatalf("block %d has no row", height)
	}
	var value []byte
	key := bytes.Clone(it.Key())
	if err := it.Value(func(b []byte) error { value = bytes.Clone(b); return nil }); err != nil {
		t.Fatal(err)
	}
	change := func(f func(b *store.Batch) error) {
		b, err := db.Batch()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		if err := errors.Join(f(b), b.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	change(func(b *store.Batch) error { return b.Delete(key) })
	return func() { change(func(b *store.Batch) error { return b.Set(key, value) }) }
}

// A row that is missing for a moment, while the chain goes back, costs a follower nothing:
// neither what was read before it nor its position is lost.
func TestMissingRow(t *testing.T) {
	t.Parallel()
	c, db := openChainIn(t, "missing")
	blocks := indextest.New(indextest.Config{Seed: 1, Txs: 2}).Blocks(windowBlocks + 30)
	commit(t, c, blocks...)
	hub := NewHub(c)
	r := hub.Follow(Filter{Blocks: true}, Before(0))
	defer r.Close()
	next := uint64(0)
	follow := func(r *Follower, most int) error {
		for {
			b, err := r.Next(most)
			if err != nil && len(b.Events) > 0 || b.Retracted {
				t.Fatalf("%+v, %v", b, err)
			}
			for _, e := range b.Events {
				if e.Block.Number != next {
					t.Fatalf("block %d, not %d", e.Block.Number, next)
				}
				next++
			}
			if err != nil || !b.More {
				return err
			}
		}
	}
	put := take(t, db, 10)
	if err := follow(r, 7); err == nil || errors.Is(err, ErrLost) || next > 10 {
		t.Fatalf("without block 10, up to %d: %v", next, err)
	}
	put()
	if err := follow(r, 7); err != nil || next != uint64(len(blocks)) {
		t.Fatalf("with it, up to %d: %v", next, err)
	}

	next = 0
	from := hub.Follow(Filter{Blocks: true}, Before(0))
	defer from.Close()
	b, err := from.Next(11)
	if err != nil {
		t.Fatal(err)
	}
	next = 11
	put = take(t, db, 10)
	on := hub.Follow(Filter{Blocks: true}, b.After)
	defer on.Close()
	if err := follow(on, 7); err == nil || errors.Is(err, ErrLost) {
		t.Fatalf("at block 10, which is missing: %v", err)
	}
	put()
	if err := follow(on, 7); err != nil || next != uint64(len(blocks)) {
		t.Fatalf("with it, up to %d: %v", next, err)
	}
}

// A position near the beginning of a chain is gone on from however far the chain goes back.
func TestDeepNearBegin(t *testing.T) {
	t.Parallel()
	for _, height := range []int{1, 2, 3, 5, 15, 16, 33, 63, 64, 65} {
		c := openChain(t, "deep")
		blocks := indextest.New(indextest.Config{Seed: 1, Txs: 2}).Blocks(height + 1)
		commit(t, c, blocks...)
		at, _, err := NewHub(c).Tip()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Rewind(t.Context(), read(blocks), 0); err != nil {
			t.Fatal(err)
		}
		commit(t, c, fork(blocks, 0, height+3, 99)[1:]...)
		r := NewHub(c).Follow(Filter{Blocks: true}, at)
		if b, err := r.Next(10); err != nil || !b.Retracted || b.Stands.Number != 0 {
			t.Errorf("from %d: %+v, %v", height, b, err)
		}
		r.Close()
	}
}
