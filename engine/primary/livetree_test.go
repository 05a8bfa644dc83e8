package primary

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	store "quorate/engine/store/index"
)

// lively is a machine with live lists of which each block changes some rows.
type lively struct {
	change func(rows *Overlay, height uint64) error
}

func (lively) Load(*Overlay) error { return nil }

func (m lively) Apply(rows *Overlay, b *Block) error { return m.change(rows, b.Platform.Height) }

func openLively(t *testing.T, db *store.DB, live uint16, change func(rows *Overlay, height uint64) error) *Chain {
	t.Helper()
	c, err := OpenChain(db, Config{ID: RowsID(9, PChain), Version: 1, Reads: 1, Live: live, Machine: func() Machine { return lively{change} }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const liveTable = store.PlatformSets

// A live list has what was put into it and not removed, in the order of the keys, in
// whatever direction, from whatever place and within whatever bounds it is read.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	for _, seed := range []uint64{0, 1, 6, 7, 2, 3, 4, 5} {
		rnd := rand.New(rand.NewPCG(seed, 3))
		have, keys := map[string][]byte{}, 4<<seed
		key := func() []byte {
			return Key(nil).U32(rnd.Uint32N(uint32(keys))).Bytes(bytes.Repeat([]byte{1}, int(seed%3)))
		}
		most := []int{1, 60, 500, 3000}[seed%4]
		c := openLively(t, openDB(t, t.TempDir()), 1, func(rows *Overlay, height uint64) error {
			list := rows.Key(liveTable).U8(7)
			for range 40 {
				k := key()
				if remove := rnd.IntN(8); remove < 3 || height > 60 && remove < 6 {
					delete(have, string(k))
					if err := rows.DeleteLive(list, k); err != nil {
						return err
					}
				} else {
					v := bytes.Repeat([]byte{byte(height)}, rnd.IntN(most))
					have[string(k)] = v
					if err := rows.PutLive(list, k, v); err != nil {
						return err
					}
				}
				k = key()
				if v, found, err := rows.GetLive(list, k); err != nil || found != (have[string(k)] != nil) || !bytes.Equal(v, have[string(k)]) {
					return fmt.Errorf("row %x: %x, %v, %w", k, v, found, err)
				}
			}
			return nil
		})
		for at := uint64(1); at <= 120; at += 8 {
			commit(t, c, blocks(at, at+7))
			sameList(t, c, rnd, have, key)
		}
	}
}

// sameList reads a list in pages.
func sameList(t *testing.T, c *Chain, rnd *rand.Rand, have map[string][]byte, key func() []byte) {
	t.Helper()
	v, err := c.View(PChain)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, asc := range []bool{true, false} {
		l := &Lists{Live: []Key{v.Key(liveTable).U8(7)}}
		if rnd.IntN(2) == 0 {
			l.From = key()
		}
		if rnd.IntN(2) == 0 {
			l.To = key()
		}
		var want, got []string
		size := 0
		for _, k := range slices.Sorted(maps.Keys(have)) {
			size += 2 + len(k) + len(have[k])
			if bytes.Compare([]byte(k), l.From) >= 0 && (l.To == nil || bytes.Compare([]byte(k), l.To) < 0) {
				want = append(want, k)
			}
		}
		if !asc {
			slices.Reverse(want)
		}
		for p := (Page{Asc: asc}); ; {
			p.Limit = 1 + rnd.IntN(30)
			next, err := v.List(l, &p, func(order, value []byte) (Result, error) {
				if !bytes.Equal(have[string(order)], value) {
					t.Errorf("row %x: %x", order, value)
				}
				got = append(got, string(order))
				return Taken, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if p.After = next; next == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("asc %v: %d rows, want %d", asc, len(got), len(want))
		}
		if nodes := count(t, c, store.PrimaryTrees); nodes > 4+8*size/nodeMost && nodes > 2*len(have) {
			t.Errorf("%d nodes for %d rows of %d bytes", nodes, len(have), size)
		}
	}
}

// liveCost makes a list of as many rows after so many changes, and returns the most that
// a page of it reads: rows and places, and what an iterator passes over.
func liveCost(t *testing.T, live uint16, steps uint64) (cost int) {
	t.Helper()
	const rows = 200 // at once
	c := openLively(t, openDB(t, t.TempDir()), live, func(o *Overlay, height uint64) error {
		list := o.Key(liveTable).U8(7)
		for i := height * 10; i < height*10+10; i++ {
			if err := o.PutLive(list, Key(nil).U64(i), bytes.Repeat([]byte{1}, 32)); err != nil {
				return err
			}
			// Most rows go soon, one in ten late.
			gone := i - rows/2
			if gone%10 == 0 {
				gone = i - 5*rows
			}
			if err := o.DeleteLive(list, Key(nil).U64(gone)); err != nil {
				return err
			}
		}
		return nil
	})
	for at := uint64(1); at <= steps; at += 120 {
		commit(t, c, blocks(at, at+119))
	}
	v, err := c.View(PChain)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	hidden, err := v.snap.Versions(v.Key(liveTable))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, asc := range []bool{true, false} {
		for p := (Page{Asc: asc, Limit: 50}); ; {
			reads, seeks := v.Cost()
			next, err := v.List(&Lists{Live: []Key{v.Key(liveTable).U8(7)}}, &p, func([]byte, []byte) (Result, error) { n++; return Taken, nil })
			if err != nil {
				t.Fatal(err)
			}
			r, s := v.Cost()
			cost = max(cost, r-reads+s-seeks)
			if p.After = next; next == nil {
				break
			}
		}
	}
	return cost + max(0, hidden-n/2)
}

// TestTreeHistory: what a page of a live list costs does not grow with what was removed
// from it. It does where such lists are rows of their own, as they were before.
func TestTreeHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	more := 100
	short, long := liveCost(t, 1, 120), liveCost(t, 1, 120*uint64(more))
	t.Logf("%d rows, and %d of %d times the history", short, long, more)
	if float64(long) > 1.2*float64(short) {
		t.Errorf("%d rows, and %d of %d times the history", short, long, more)
	}
	if short, long := liveCost(t, 2, 120), liveCost(t, 2, 1200); long < 5*short {
		t.Errorf("rows of their own: %d, and %d of 10 times the history: this test finds nothing", short, long)
	}
}
