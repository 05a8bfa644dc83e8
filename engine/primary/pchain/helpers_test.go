package pchain_test

import (
	"testing"

	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

func openDB(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openStore(dir string) (*store.DB, error) {
	return store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
}

func open(t testing.TB, db *store.DB, cfg pchain.Config) *pchain.Chain {
	t.Helper()
	c, err := pchain.Open(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func commit(t testing.TB, c *pchain.Chain, blocks []*primary.Block) {
	t.Helper()
	for len(blocks) > 0 {
		n := min(len(blocks), 256)
		if err := c.Commit(t.Context(), blocks[:n]); err != nil {
			t.Fatal(err)
		}
		blocks = blocks[n:]
	}
}

func view(t testing.TB, c *pchain.Chain) *pchain.View {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}
