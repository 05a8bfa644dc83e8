package index

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"quorate/engine/yield"
)

// Compactions rest between two tables while requests arrive and others rest: Badger
// logs each table, in the goroutine that makes it.
func TestCompactionsRest(t *testing.T) {
	s := yield.New(16)
	d := openSmall(t, t.TempDir(), Options{Spare: s, CompactionMB: 60})
	db, err := d.use()
	if err != nil {
		t.Fatal(err)
	}
	defer d.unuse()
	const rows = 1000
	value := make([]byte, 512)
	rand.NewChaCha8([32]byte{1}).Read(value) // does not compress
	w, own := s.Worker(), time.Duration(0)
	rested := func() bool { // others than this worker, after a request
		s.Requested()
		began := time.Now()
		w.Rest(nil)
		own += time.Since(began)
		return s.Rested() > own
	}
	for i := 0; !rested(); i++ {
		if i == 4000 {
			t.Fatal("no compaction has rested")
		}
		if err := d.Load(rows, func(k int) (key, v []byte) { return fmt.Appendf(nil, "r%04d %d", k, i), value }); err != nil {
			t.Fatal(err)
		}
		// However fast the disk is, there are not so many tables that compactions hurry.
		for db.Levels()[0].NumTables > level0 && !rested() {
			<-time.After(time.Millisecond)
		}
	}
	for _, l := range db.Levels()[1:] {
		if l.TargetFileSize != 512<<10 {
			t.Errorf("level %d: tables of %d bytes", l.Level, l.TargetFileSize)
		}
	}
}

// A large database has larger tables, so that there are never more than can be mapped.
func TestTableSize(t *testing.T) {
	for _, c := range []struct {
		memory     int
		disk, want int64
	}{{60, 0, 512 << 10}, {239, 0, 1 << 20}, {512, 10 << 30, 4 << 20}, {60, 300 << 30, 300 << 30 / maxTables}} {
		if got := tableSize(c.memory, c.disk); got != c.want {
			t.Errorf("%d MiB, %d bytes on disk: tables of %d bytes, want %d", c.memory, c.disk, got, c.want)
		}
	}
}

// What is held shows, and is nothing once the database is closed.
func TestHeld(t *testing.T) {
	d := openSmall(t, t.TempDir(), Options{})
	sorted(t, d, 0, 1000, "v")
	if _, tables := d.Held(); tables < 8<<20 || tables > 12<<20 {
		t.Errorf("one table in memory takes %d bytes", tables)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if blocks, tables := d.Held(); blocks != 0 || tables != 0 {
		t.Errorf("%d and %d bytes when closed", blocks, tables)
	}
}
