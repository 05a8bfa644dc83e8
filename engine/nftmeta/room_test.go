package nftmeta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// itself is a URI that is its own document.
func itself(id int) string { return fmt.Sprintf("data:,%%7B%%22name%%22:%%22%d%%22%%7D", id) }

// bounded has a world fail the test when there ever are more records than allowed.
func bounded(w *world, most int) {
	w.cfg.Most = most
	w.store.check = func(rows map[string][]byte) {
		n := 0
		for k := range rows {
			if k[0] == keyRecord {
				n++
			}
		}
		if n > most {
			w.t.Errorf("%d records of %d", n, most)
		}
	}
}

// TestHostileCollection: a collection with more tokens than there may be records leaves
// room to others that come later, and keeps what they do not need; nothing is fetched
// twice, also over restarts.
func TestHostileCollection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 300)
		w.add(addr(1), 800, at("hostile.example"))
		w.cfg.SitePause = 10 * time.Millisecond
		m, stop := w.run()
		w.settle(25 * time.Minute)
		if n := w.store.count(keyRecord); n < 290 {
			t.Errorf("%d records where nobody else needs the room", n)
		}
		for n := byte(2); n < 22; n++ {
			w.add(addr(n), 10, at(fmt.Sprintf("small%d.example", n)))
		}
		w.settle(4 * time.Hour)
		for round := range 3 {
			for n := byte(2); n < 22; n++ {
				for id := range uint64(10) {
					if got := token(t, m, addr(n), id+1); got.Status != Indexed {
						t.Fatalf("round %d: %d of %d waits for a hostile collection: %+v", round, id+1, n, got)
					}
				}
			}
			if n := w.store.count(keyRecord); n < 280 {
				t.Errorf("round %d: only %d records", round, n)
			}
			stop()
			m, stop = w.run()
			w.settle(2 * time.Hour)
		}
		stop()
		seen, hostile := map[string]int{}, 0
		for _, u := range w.requests() {
			if seen[u]++; seen[u] > 1 {
				t.Fatalf("%s was fetched again", u)
			}
			if strings.Contains(u, "hostile") {
				hostile++
			}
		}
		if hostile > 300 {
			t.Errorf("%d requests of the hostile collection", hostile)
		}
	})
}

// TestAskedStays: what clients ask for is fetched though its collection has its share, and
// stays when others have to go.
func TestAskedStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 300)
		size := 800 // more than there is room for
		w.add(addr(1), size, itself)
		m, stop := w.run()
		w.settle(5 * time.Minute)
		last := uint64(size)
		asked := []uint64{1, 2, 3, last - 2, last - 1, last} // the first ones have the oldest records
		for _, id := range asked {
			if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id)); err != nil {
				t.Fatal(err)
			}
		}
		w.settle(30 * time.Minute)
		for n := byte(2); n < 22; n++ {
			w.add(addr(n), 9, itself)
		}
		w.settle(4 * time.Hour)
		for range 2 {
			for _, id := range asked {
				if got := token(t, m, addr(1), id); got.Status != Indexed {
					t.Errorf("%d was asked for, and is not there: %+v", id, got)
				}
			}
			for n := byte(2); n < 22; n++ {
				if got := token(t, m, addr(n), 9); got.Status != Indexed {
					t.Errorf("of %d: %+v", n, got)
				}
			}
			stop()
			m, stop = w.run()
			w.settle(time.Hour)
		}
		stop()
		if n := len(m.asked); n > 0 {
			t.Errorf("%d are still asked for", n)
		}
	})
}

// TestAskedBeyond: what clients ask for may be more than the share of its collection, as
// far as others leave room, and has nothing else dropped and fetched in turns.
func TestAskedBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 100) // 94 after a sweep, so 4 of each of 20 collections
		for n := byte(1); n <= 20; n++ {
			w.add(addr(n), 50, at(fmt.Sprintf("a%d.example", n)))
		}
		m, stop := w.run()
		w.settle(time.Hour)
		for id := uint64(50); id > 20; id-- {
			if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id)); err != nil {
				t.Fatal(err)
			}
			w.settle(5 * time.Minute)
		}
		w.settle(4 * time.Hour)
		stop()
		for id := uint64(21); id < 21+18; id++ {
			if got := token(t, m, addr(1), id); got.Status != Indexed {
				t.Errorf("%d was asked for, and is not there: %+v", id, got)
			}
		}
		kept := w.perCollection()
		for n := byte(2); n <= 20; n++ {
			if kept[addr(n)] != 4 {
				t.Errorf("%d records of %d", kept[addr(n)], n)
			}
		}
		seen := map[string]bool{}
		for _, u := range w.requests() {
			if seen[u] {
				t.Errorf("%s was fetched again", u)
			}
			seen[u] = true
		}
	})
}

// TestSweepKilled: wherever a sweep ends, by a kill or by the disk, it is completed later,
// and what it dropped is not fetched again.
func TestSweepKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		removed int
		killed  bool
	}{{0, true}, {1, true}, {4, true}, {0, false}, {3, false}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			bounded(w, 100)
			w.add(addr(1), 300, at("large.example"))
			_, stop := w.run()
			w.settle(20 * time.Minute)
			var left *kept
			calls := 0
			w.store.mu.Lock()
			w.store.fails = func() bool { // each removal asks
				if w.store.rows[string(rune(keyLevel))] == nil {
					return false
				}
				if calls++; calls != c.removed+1 {
					return false
				}
				left = &kept{rows: maps.Clone(w.store.rows), check: w.store.check}
				return !c.killed
			}
			w.store.mu.Unlock()
			for n := byte(2); n < 12; n++ {
				w.add(addr(n), 1, itself)
			}
			w.settle(11 * time.Minute)
			if left == nil || left.count(keyLevel) != 1 {
				t.Fatal("there was no sweep, or its level was not committed first")
			}
			if c.killed {
				stop()
				w.store = left
				_, stop = w.run()
			}
			m := w.actor()
			w.settle(60 * time.Minute)
			stop()
			for n := byte(2); n < 12; n++ {
				if got := token(t, m, addr(n), 1); got.Status != Indexed {
					t.Errorf("%+v: of %d: %+v", c, n, got)
				}
			}
			if n := len(w.requests()); n > 99 {
				t.Errorf("%+v: %d requests", c, n)
			}
		})
	}
}

// put commits a record as it is after a fetch.
func put(w *world, of chain.ID, token evm.Address, id uint64, r record) {
	w.t.Helper()
	r.Version, r.Due = recordVersion, 1<<40
	raw, _ := r.encode()
	k := key{of, index.NFT{Token: token, ID: *uint256.NewInt(id)}}
	if err := w.store.Put(w.t.Context(), k.bytes(keyRecord), raw); err != nil {
		w.t.Fatal(err)
	}
}

// TestFair: the level is the greatest at which there is room for all.
func TestFair(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := room{sizes: map[chain.ID]map[evm.Address]int{}}
		for range rng.IntN(12) {
			r.add(contract{chain.ID{byte(rng.IntN(2))}, addr(byte(rng.IntN(9)))}, 1+rng.IntN(20))
		}
		kept := func(level int) (n int) {
			for _, of := range r.sizes {
				for _, size := range of {
					n += min(size, level)
				}
			}
			return n
		}
		most := rng.IntN(150)
		got := fair(r.list(), most)
		if r.total <= most != (got == unlimited) || kept(got) > most || got != unlimited && kept(got+1) <= most {
			t.Fatalf("%v: %d for %d", r.sizes, got, most)
		}
	}
}

// TestDroppedFirst: when the bound is lowered, what is lost least by goes first, and the
// rest is as it was; when it is raised again there is room again.
func TestDroppedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 100, at("a.example"))
		now := time.Now().Unix()
		uri := func(id uint64) uint64 { return digest(at("a.example")(int(id))) }
		for id := range uint64(100) {
			r := record{Status: Indexed, URI: uri(id + 1), At: now - int64(id), Tried: now, Doc: &Document{Name: "x"}}
			switch {
			case id < 20: // the latest documents
			case id < 30:
				r = record{Status: Unreachable, URI: r.URI, Tried: now}
			case id >= 90: // the oldest
				r.Asked = now - 86400 - int64(id)
			}
			put(w, home, addr(1), id+1, r)
		}
		put(w, home, addr(2), 1, record{Status: Unreachable, Tried: 1})
		w.cfg.Most = 80 // of which 75 are left: one of the second collection, 74 of the first
		m, stop := w.run()
		w.settle(5 * time.Minute)
		lost := func() (ids []uint64) {
			for id := uint64(1); id <= 100; id++ {
				if token(t, m, addr(1), id).Status == Unindexed {
					ids = append(ids, id)
				}
			}
			return ids
		}
		var want []uint64
		for id := uint64(21); id <= 30; id++ {
			want = append(want, id)
		}
		for id := uint64(75); id <= 90; id++ { // 16 documents, the oldest that nobody asked for
			want = append(want, id)
		}
		if got := lost(); !slices.Equal(got, want) {
			t.Errorf("without %d", got)
		}
		if got, err := m.Check(t.Context()); fmt.Sprint(got) != "{75 0 true 74}" || err != nil || token(t, m, addr(2), 1).Status != Unreachable {
			t.Errorf("%+v, %v", got, err)
		}
		stop()
		w.cfg.Most = 1000
		m, stop = w.run()
		w.settle(5 * time.Minute)
		stop()
		if got := lost(); len(got) > 0 || len(w.requests()) != len(want) {
			t.Errorf("without %d, %d requests", got, len(w.requests()))
		}
		w.cfg.Most = 80
		m, stop = w.run()
		w.settle(time.Hour)
		if got := lost(); len(got) != len(want) {
			t.Errorf("without %d", got)
		}
		stop()
	})
}

// TestForeign: chains that are followed no more give way first, but not before they had
// the time to be followed.
func TestForeign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// left and others are what there is at least.
		for _, c := range []struct{ there, left, others int }{{60, 40, 30}, {10, 10, 85}} {
			w := newWorld(t)
			away := chain.ID{8}
			for id := range uint64(c.there) {
				put(w, away, addr(9), id, record{Status: Indexed, At: 1, Tried: 1, Doc: &Document{Name: "x"}})
			}
			bounded(w, 100)
			w.add(addr(1), 500, itself)
			m, stop := w.run()
			w.settle(foreignAfter - time.Minute)
			if a, h := w.store.count(append([]byte{keyRecord}, away[:]...)...), w.store.count(append([]byte{keyRecord}, home[:]...)...); a < c.left || h < c.others {
				t.Errorf("%d records of a chain that may be followed soon, %d of another", a, h)
			}
			w.settle(foreignAfter)
			if a, h := w.store.count(append([]byte{keyRecord}, away[:]...)...), w.store.count(append([]byte{keyRecord}, home[:]...)...); a > 0 || h < 90 {
				t.Errorf("%d records of a chain that is followed no more, %d of another", a, h)
			}
			if _, err := m.Check(t.Context()); err != nil {
				t.Error(err)
			}
			stop()
		}
	})
}

// TestMoreCollections: with more collections than records, clients still have fetched what
// they ask for, in the place of what nobody asked for.
func TestMoreCollections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 20)
		for n := byte(1); n <= 50; n++ {
			w.add(addr(n), 1, at(fmt.Sprintf("a%d.example", n)))
		}
		_, stop := w.run()
		w.settle(time.Hour)
		if n := w.store.count(keyRecord); n < 18 {
			t.Errorf("%d records", n)
		}
		stop()
		before := len(w.requests())
		var m *Metadata
		m, stop = w.run()
		for n := byte(36); n <= 50; n++ {
			w.settle(time.Second)
			if err := m.Reindex(t.Context(), home, addr(n), *uint256.NewInt(1)); err != nil {
				t.Fatal(err)
			}
		}
		w.settle(4 * time.Hour)
		stop()
		for n := byte(36); n <= 50; n++ {
			if got := token(t, m, addr(n), 1); got.Status != Indexed {
				t.Errorf("of %d: %+v", n, got)
			}
		}
		if n := len(w.requests()) - before; n > 16 || len(m.asked) > 0 {
			t.Errorf("%d requests for fifteen tokens, %d are still asked for", n, len(m.asked))
		}
	})
}

// TestRefusedTurns: collections whose tokens are looked through without being fetched do
// not keep others from their turns.
func TestRefusedTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 300)
		w.cfg.Fetches = 1 // so that each collection has as many records, and no sweep comes earlier
		for n := byte(1); n <= 12; n++ {
			w.add(addr(n), 6000, itself)
		}
		m, stop := w.run()
		defer stop()
		w.settle(4 * time.Second) // there is no room, and many more tokens are being looked through
		for n := byte(100); n < 115; n++ {
			w.add(addr(n), 1, itself)
			m.Changed(home, []index.NFT{{Token: addr(n), ID: *uint256.NewInt(1)}})
		}
		w.settle(2 * passSoon) // there is a sweep, and then a pass
		for n := byte(100); n < 115; n++ {
			if got := token(t, m, addr(n), 1); got.Status != Indexed {
				t.Errorf("of %d: %+v", n, got)
			}
		}
	})
}
