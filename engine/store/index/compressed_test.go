package index

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4/options"

	"quorate/engine/store"
)

// A folder whose tables are compressed, as those of before are, is opened with a cache
// for them, read and written to. One without such tables needs none.
func TestCompressedTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := Options{MemTableMB: 8, NoSync: true}
	if err := opts.fill(); err != nil {
		t.Fatal(err)
	}
	old := settings(dir, &opts).WithCompression(options.Snappy).WithBlockCacheSize(1 << 20)
	bdb, _, err := store.Open(old, opts.Logger)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CheckFormat(bdb, name, oldest, version); err != nil {
		t.Fatal(err)
	}
	const rows = 3000
	b := bdb.NewWriteBatch()
	for i := range rows {
		if err := b.Set(fmt.Appendf(nil, "r%06d", i), fmt.Appendf(nil, "old %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Flush(), bdb.Close()); err != nil {
		t.Fatal(err)
	}

	cache := func(d *DB) int64 {
		bdb, err := d.use()
		if err != nil {
			t.Fatal(err)
		}
		defer d.unuse()
		return bdb.Opts().BlockCacheSize
	}
	for from := 0; from < rows; from += rows / 2 {
		d := openSmall(t, dir, Options{})
		if got := cache(d); got != 4<<20 {
			t.Errorf("a cache of %d bytes", got)
		}
		holds(t, d, rows, func(i int) string {
			if i < from {
				return fmt.Sprintf("new %d", i)
			}
			return fmt.Sprintf("old %d", i)
		})
		sorted(t, d, from, from+rows/2, "new")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	dir = t.TempDir()
	for range 2 {
		d := openSmall(t, dir, Options{})
		if got := cache(d); got != 0 {
			t.Errorf("a cache of %d bytes without a compressed table", got)
		}
		write(t, d, map[string]string{"row": "value"})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
