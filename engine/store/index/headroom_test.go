package index

import (
	"errors"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestCompactions: what two compactions write at most, from level 0 into the base
// level and a table with those below it.
func TestCompactions(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	level := func(size, file int64, base bool) badger.LevelInfo {
		return badger.LevelInfo{Size: size * mb, TargetFileSize: file * mb, IsBaseLevel: base}
	}
	f := func(flush, want int64, levels ...badger.LevelInfo) {
		t.Helper()
		if got := compactions(levels, flush*mb); got != want*mb {
			t.Errorf("%d MiB, want %d", got/mb, want)
		}
	}
	f(0, 0)
	f(0, 0, level(0, 64, false), level(0, 2, true))
	f(100, 100, level(0, 64, false), level(0, 2, true))
	// All of level 0 into an empty base level.
	f(10, 10+300, level(300, 64, false), level(0, 2, false), level(0, 64, true))
	// A small base level is written as a whole, by either.
	f(10, 10+300+50+50, level(300, 64, false), level(0, 2, false), level(50, 64, true))
	// Of a large level a table and what it overlaps: thirteen of 64 MiB.
	f(0, 300+80+13*64, level(300, 64, false), level(80, 2, true), level(90_000, 64, false))
}

// TestHeadroom: it grows with what was committed and not written to tables yet.
func TestHeadroom(t *testing.T) {
	t.Parallel()
	d, err := Open(t.TempDir(), Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Batch()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Set([]byte("key"), make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := d.Headroom(); got < 2<<20 {
		t.Errorf("%d bytes", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.headroom.Store(nil)
	if got := d.Headroom(); got != 0 {
		t.Errorf("%d bytes of a database that is closed", got)
	}
}

// TestRoom: without room no transaction begins; with it again all is well.
func TestRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	var room error
	d, err := Open(t.TempDir(), Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true, Room: func() error { return room }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	room = full
	if _, err := d.Batch(); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
	room = nil
	b, err := d.Batch()
	if err != nil {
		t.Fatal(err)
	}
	b.Discard()
}
