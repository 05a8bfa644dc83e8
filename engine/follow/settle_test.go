package follow

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// evmRig is the archive and the index of an EVM chain, opened anew after each end.
type evmRig struct {
	*Sink[*evm.Block]
	index *index.Chain
	close func() error
}

func openRig(t *testing.T, dir string) *evmRig {
	t.Helper()
	a, err := archive.Open(dir+"/archive", archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(dir+"/index", store.Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	x, err := index.Open(db, chain.ID{1}, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &evmRig{Sink: NewSink(a, index.Sink{Chain: x}, evmarchive.Append, evmarchive.NewReader(a), func() error { return nil }), index: x}
	r.rewind = func(ctx context.Context, to uint64) error { return x.Rewind(ctx, r.reader, to) }
	r.close = func() error {
		cancel()
		return errors.Join(<-done, db.CloseWithin(time.Minute), a.Close())
	}
	return r
}

// mustBe checks that the index has the rows of blocks, made from them without the archive.
func (r *evmRig) mustBe(t *testing.T, what string, blocks []*evm.Block) {
	t.Helper()
	if err := r.CatchUp(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.index.Rebuild(t.Context(), r.reader, r.index.Stale(), nil); err != nil {
		t.Fatal(err)
	}
	rows, err := r.index.Check(t.Context(), listed(blocks), nil, func(d index.Difference) { t.Errorf("%s: %+v", what, d) })
	if err != nil || rows == 0 {
		t.Errorf("%s: %d rows, %v", what, rows, err)
	}
}

// listed are blocks in memory.
type listed []*evm.Block

func (l listed) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, b := range l[from : to+1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// A correction that ends anywhere leaves the false rows or the true ones, never a mixture,
// and made once more leaves the true ones.
func TestCorrect(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 4}).Blocks(31)
	bad := uint64(slices.IndexFunc(blocks, func(b *evm.Block) bool { return b.Number > 9 && len(b.Txs) > 0 && len(b.Txs[0].Logs) > 0 }))
	lie := *blocks[bad]
	lie.Txs = slices.Clone(lie.Txs)
	lie.Txs[0].Logs, lie.Txs[0].GasUsed = nil, lie.Txs[0].GasUsed-1
	lie.GasUsed--
	told := slices.Clone(blocks)
	told[bad] = &lie
	if sameResults(&lie, blocks[bad]) || !sameResults(blocks[bad], blocks[bad]) {
		t.Fatal("the lie is none")
	}
	notes := []archive.Note{{Height: bad, Type: evmarchive.NoteCorrection, Data: evmarchive.Append(nil, blocks[bad])}}
	end := errors.New("end")
	for name, c := range map[string]struct {
		ends func(r *evmRig) error // how far a first try comes
		is   []*evm.Block          // what the index has after it
	}{
		"before": {func(*evmRig) error { return end }, told},
		"the index has gone back": {func(r *evmRig) error {
			return errors.Join(r.rewind(t.Context(), bad-1), end)
		}, told},
		"the archive knows": {func(r *evmRig) error {
			return r.renew(t.Context(), bad, func() error { return errors.Join(r.archive.AddNotes(t.Context(), notes), end) })
		}, blocks},
		"done": {func(r *evmRig) error {
			return errors.Join(r.renew(t.Context(), bad, func() error { return r.archive.AddNotes(t.Context(), notes) }), end)
		}, blocks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := openRig(t, dir)
			if err := r.Commit(t.Context(), told); err != nil {
				t.Fatal(err)
			}
			if err := c.ends(r); !errors.Is(err, end) {
				t.Fatal(err)
			}
			if err := r.close(); err != nil {
				t.Fatal(err)
			}
			r = openRig(t, dir)
			r.mustBe(t, "after the end", c.is)
			if err := r.renew(t.Context(), bad, func() error { return r.archive.AddNotes(t.Context(), notes) }); err != nil {
				t.Fatal(err)
			}
			r.mustBe(t, "once more", blocks)
			if err := r.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
