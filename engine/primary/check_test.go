package primary

import (
	"context"
	"errors"
	"slices"
	"testing"

	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// put changes a row behind the back of a chain; nil removes it.
func put(t *testing.T, c *Chain, key Key, value []byte) {
	t.Helper()
	b, err := c.db.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if value == nil {
		err = b.Delete(key)
	} else {
		err = b.Set(key, value)
	}
	if err == nil {
		err = b.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// check returns the differences that a check finds.
func check(t *testing.T, c *Chain, from Blocks) (rows uint64, list []string) {
	t.Helper()
	rows, err := c.Check(t.Context(), from, nil, func(d Difference) { list = append(list, d.String()) })
	if err != nil {
		t.Fatal(err)
	}
	return rows, list
}

// A check finds what is wrong, missing or too much, leaves nothing behind, and Remake
// makes it good.
func TestCheck(t *testing.T) {
	t.Parallel()
	list := blocks(1, 40)
	c := openTally(t, openDB(t, t.TempDir()), 1)
	if rows, differ := check(t, c, inArchive(list)); rows != 0 || differ != nil {
		t.Fatalf("an empty chain: %d rows, %v", rows, differ)
	}
	commit(t, c, list)
	want := digest(t, c)
	all, differ := check(t, c, inArchive(list))
	if all < 200 || differ != nil {
		t.Fatalf("%d rows, %v", all, differ)
	}
	put(t, c, c.Space().Key(tallyTable), Key(nil).U64(7))
	put(t, c, c.Space().Key(listTable).U8(3).U64(20).U32(1), nil)
	put(t, c, c.Space().Key(listTable).U8(9), []byte{})
	rows, differ := check(t, c, inArchive(list))
	if rows != all+1 || !slices.Equal(differ, []string{
		"table 0x50: row  is 0x0000000000000007, want 0x000000000000567c",
		"table 0x51: row 03000000000000001400000001 is missing",
		"table 0x51: row 09 follows from no block",
	}) {
		t.Errorf("%d rows, %q", rows, differ)
	}
	if digest(t, c) == want {
		t.Error("a check has mended rows")
	}
	if err := c.Remake(t.Context(), inArchive(list), nil); err != nil {
		t.Fatal(err)
	}
	if _, differ := check(t, c, inArchive(list)); differ != nil || digest(t, c) != want {
		t.Errorf("made again: %q", differ)
	}
	edition := c.Space().Edition
	for _, other := range []uint8{edition - 1, edition + 1} {
		c.at.Load().space.Edition = other
		for table := byte(store.PrimaryCursor); table < store.PrimaryEnd; table++ {
			if n := count(t, c, table); n > 0 && table != store.PrimaryEditions {
				t.Errorf("%d rows of edition %d in table %#x", n, other, table)
			}
		}
	}
}

// A check that was ended has no effect on one that comes after it, nor on a rebuild,
// and takes blocks that come meanwhile.
func TestCheckEnded(t *testing.T) {
	t.Parallel()
	most := 1200
	list := blocks(1, uint64(most+100))
	db := openDB(t, t.TempDir())
	c := openTally(t, db, 1)
	commit(t, c, list[:most])
	for _, half := range []func(ctx context.Context, stop func(done, of uint64)) error{
		func(ctx context.Context, stop func(done, of uint64)) error {
			_, err := c.Check(ctx, inArchive(list), stop, nil)
			return err
		},
		func(ctx context.Context, stop func(done, of uint64)) error {
			return c.Remake(ctx, inArchive(list), stop)
		},
	} {
		ctx, stop := context.WithCancel(t.Context())
		if err := half(ctx, func(uint64, uint64) { stop() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		c = openTally(t, db, 1)
	}
	came := false
	_, err := c.Check(t.Context(), inArchive(list), func(uint64, uint64) {
		if !came {
			came = true
			commit(t, c, list[most:])
		}
	}, func(d Difference) { t.Error(d) })
	if err != nil || !came {
		t.Fatal(came, err)
	}
	if err := c.Remake(t.Context(), inArchive(list), nil); err != nil {
		t.Fatal(err)
	}
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	if digest(t, one) != digest(t, openTally(t, db, 1)) {
		t.Error("another digest")
	}
}

// Rows that were half made again by older rules, and rows of which some are gone again,
// are never continued.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	list := blocks(1, uint64(1300))
	db := openDB(t, t.TempDir())
	commit(t, openTally(t, db, 1), list)
	half := func(c *Chain) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		if err := c.Rebuild(ctx, inArchive(list), func(uint64, uint64) { stop() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	wrong := tallyConfig(2)
	wrong.Machine = func() Machine { return &tally{wide: 3, sum: 5} }
	c, err := OpenChain(db, wrong)
	if err != nil {
		t.Fatal(err)
	}
	half(c)
	c = openTally(t, db, 3)
	half(c)
	// The process ends while the build is removed: its cursor is gone, its rows are not.
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.dropBuild(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	put(t, c, Space{c.ordinal, c.Space().Edition + 1}.Key(store.PrimaryCursor), nil)
	c = openTally(t, db, 3)
	if err := c.Rebuild(t.Context(), inArchive(list), nil); err != nil || c.Stale() {
		t.Fatal(c.Stale(), err)
	}
	one := openTally(t, openDB(t, t.TempDir()), 3)
	commit(t, one, list)
	if digest(t, one) != digest(t, c) {
		t.Error("another digest")
	}
}

// TestServedStays: rows that are served by what is on disk are not removed by one who
// does not know it, as after a switch that seemed to fail.
func TestServedStays(t *testing.T) {
	t.Parallel()
	list := blocks(1, 600)
	db := openDB(t, t.TempDir())
	c := openTally(t, db, 1)
	commit(t, c, list)
	want := digest(t, c)
	if err := openTally(t, db, 1).Remake(t.Context(), inArchive(list), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Remake(t.Context(), inArchive(list), nil); err == nil {
		t.Error("served rows were removed")
	}
	if digest(t, openTally(t, db, 1)) != want || digest(t, c) != want {
		t.Error("another digest")
	}
	if err := c.Remake(t.Context(), inArchive(list), nil); err != nil || digest(t, c) != want {
		t.Error("another digest, or", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.dropEdition(ctx, c.Space().Edition+1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What rows follow from beside blocks is kept with them. They are made again when a
// genesis becomes known, or other times of upgrades, and not when it is not named any more.
func TestGiven(t *testing.T) {
	t.Parallel()
	list := blocks(1, 10)
	db := openDB(t, t.TempDir())
	open := func(g Given, stale bool) *Chain {
		t.Helper()
		cfg := tallyConfig(1)
		cfg.Given = g
		c, err := OpenChain(db, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if c.Stale() != stale {
			t.Errorf("given %v: stale is %v", g, c.Stale())
		}
		return c
	}
	none, known, other := Given{}, Given{Genesis: chain.ID{1}}, Given{Genesis: chain.ID{1}}
	other.Upgrades.Etna = 9
	moved := other
	moved.Upgrades.Helicon = 10
	c := open(none, false)
	if _, ok, err := GivenOf(db, 9, PChain); ok || err != nil {
		t.Error("an empty chain follows from something", err)
	}
	commit(t, c, list)
	open(none, false)
	for _, g := range []Given{known, other, moved} {
		c = open(g, true)
		if err := c.Rebuild(t.Context(), inArchive(list), nil); err != nil || c.Stale() {
			t.Fatal(c.Stale(), err)
		}
		open(g, false)
		if got, ok, err := GivenOf(db, 9, PChain); !ok || err != nil || got != g {
			t.Errorf("given %v, want %v: %v", got, g, err)
		}
	}
	none.Upgrades = moved.Upgrades
	open(none, false)
}

// Rows that begin above the first block are made again from below, in as many goes as it
// takes, and are those of a chain that has begun there.
func TestDeepen(t *testing.T) {
	t.Parallel()
	most := 1200
	list := blocks(1, uint64(most+100))
	db := openDB(t, t.TempDir())
	c := openTally(t, db, 1)
	commit(t, c, list[700:most])
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Deepen(ctx, inArchive(list), 401, func(uint64, uint64) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	c = openTally(t, db, 1)
	if first, _ := c.First(); first != 701 {
		t.Errorf("begins at %d before it is whole", first)
	}
	came := false
	if err := c.Deepen(t.Context(), inArchive(list), 1, func(uint64, uint64) {
		if !came {
			came = true
			commit(t, c, list[most:])
		}
	}); err != nil {
		t.Fatal(err)
	}
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	if first, _ := c.First(); first != 1 || digest(t, one) != digest(t, c) {
		t.Errorf("begins at %d, or another digest", first)
	}
}

// The rows of a Deepen that was given up go; those of a Remake that was ended stay, for it
// goes on with them.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	most := 1200
	list := blocks(1, uint64(most))
	c := openTally(t, openDB(t, t.TempDir()), 1)
	if err := c.GiveUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, c, list[100:])
	want := digest(t, c)
	half := func(first uint64) (rows int) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		if err := c.Deepen(ctx, inArchive(list), first, func(uint64, uint64) { stop() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := c.GiveUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		edition := c.Space().Edition
		c.at.Load().space.Edition++
		for table := byte(store.PrimaryCursor); table < store.PrimaryEnd; table++ {
			if table != store.PrimaryEditions {
				rows += count(t, c, table)
			}
		}
		c.at.Load().space.Edition = edition
		return rows
	}
	if n := half(51); n != 0 {
		t.Errorf("%d rows of what was given up", n)
	}
	if n := half(101); n == 0 {
		t.Error("the rows that were half made again are gone")
	}
	if digest(t, c) != want {
		t.Error("the rows that are served are others")
	}
}
