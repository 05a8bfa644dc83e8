package index

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// TestPeek: who only looks at a folder finds the tables that whoever opens it would make
// again, and leaves the folder as it was; one that is in use is not looked at.
func TestPeek(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 16, IndexCacheMB: 8, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = db.Close()
		}
	}()
	var chains []*Chain
	for i := range 3 { // the last one without a block
		c, err := Open(db, chain.ID{byte(i)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if chains = append(chains, c); i < 2 {
			commit(t, c, indextest.New(indextest.Config{Seed: uint64(i), Txs: 3}).Blocks(20), 7)
		}
	}
	if _, err := Peek(dir); err == nil {
		t.Error("a database that is in use was opened")
	}
	old := *chains[1].places()
	old.of[store.TableBlocks].version = 1
	old.of[store.TableItems].version = 0
	if err := chains[1].putRows(row{old.rowKey(rowServing), old.append(nil)}); err != nil {
		t.Fatal(err)
	}
	closed = true
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	list, err := Peek(dir)
	slices.Sort(list)
	want := []Table{Table(store.TableBlocks), Table(store.TableItems)}
	slices.Sort(want)
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, want %v; %v", list, want, err)
	}
	if after := filesOf(t, dir); !slices.Equal(after, before) {
		t.Errorf("%q, before %q", after, before)
	}
	if _, err := Peek(filepath.Join(dir, "none")); err == nil {
		t.Error("no folder, and no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder was made")
	}
}

// filesOf returns the names, sizes and times of files.
func filesOf(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.Name()+" "+info.ModTime().String()+" "+info.Mode().String())
	}
	return list
}
