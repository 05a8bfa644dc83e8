package nftmeta

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

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
		w.settle(5 * time.Minute)
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
		w.add(addr(1), 800, itself)
		m, stop := w.run()
		w.settle(5 * time.Minute)
		asked := []uint64{1, 2, 3, 798, 799, 800} // the first ones have the oldest records
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

// TestRefusedTurns: collections whose tokens are looked through without being fetched do
// not keep others from their turns.
func TestRefusedTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded(w, 300)
		for n := byte(1); n <= 12; n++ {
			w.add(addr(n), 3000, itself)
		}
		m, stop := w.run()
		defer stop()
		w.settle(4 * time.Second) // each has its share, and many more tokens are being looked through
		for n := byte(100); n < 115; n++ {
			w.add(addr(n), 1, itself)
			m.Changed(home, []index.NFT{{Token: addr(n), ID: *uint256.NewInt(1)}})
		}
		w.settle(3 * time.Second)
		for n := byte(100); n < 115; n++ {
			if got := token(t, m, addr(n), 1); got.Status != Indexed {
				t.Errorf("of %d: %+v", n, got)
			}
		}
	})
}
