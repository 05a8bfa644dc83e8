package nftmeta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// TestRandomRoom: whatever order tokens, requests, failures of the disk, stops and kills
// come in, there never are more records than allowed, the room is shared fairly, what
// clients ask for is fetched, and nothing else is fetched twice.
func TestRandomRoom(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2}
	if text := os.Getenv("QUORATE_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range n {
			seeds = append(seeds, seed+3)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { randomRoom(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func randomRoom(t *testing.T, rng *rand.Rand) {
	w := newWorld(t)
	most := 20 + rng.IntN(180)
	bounded(w, most)
	w.cfg.SitePause, w.cfg.Refresh = 20*time.Millisecond, 365*24*time.Hour
	m, stop := w.run()
	asks, wasted := map[string]int{}, 0
	sizes := map[byte]int{}
	for range 40 {
		switch n := rng.IntN(10); {
		case n < 5: // new tokens
			of := byte(1 + rng.IntN(40)*rng.IntN(2))
			sizes[of] += 1 + rng.IntN(1+rng.IntN(200))
			w.add(addr(of), sizes[of], at(fmt.Sprintf("a%d.example", of)))
			m.Changed(home, []index.NFT{{Token: addr(of), ID: *uint256.NewInt(uint64(sizes[of]))}})
		case n < 7: // clients ask
			for _, of := range slices.Sorted(maps.Keys(sizes)) {
				id := 1 + rng.IntN(sizes[of])
				if rng.IntN(4) == 0 && m.Reindex(t.Context(), home, addr(of), *uint256.NewInt(uint64(id))) == nil {
					asks[at(fmt.Sprintf("a%d.example", of))(id)]++
				}
			}
		case n < 8: // the disk fails
			w.store.mu.Lock()
			w.store.fails = func() bool { return rng.IntN(3) == 0 }
			w.store.mu.Unlock()
			before := len(w.requests())
			w.settle(time.Duration(rng.IntN(1000)) * time.Millisecond)
			wasted += len(w.requests()) - before + w.cfg.Fetches
			w.store.mu.Lock()
			w.store.fails = nil
			w.store.mu.Unlock()
		case n < 9: // a stop, or a kill
			left := w.store.killed()
			stop()
			if rng.IntN(2) == 0 {
				w.store = left
			}
			wasted += 2 * 16
			m, stop = w.run()
		}
		w.settle(time.Duration(rng.IntN(1+rng.IntN(1200))) * time.Second)
	}
	w.settle(8 * time.Hour) // all rests
	calm := len(w.requests())
	w.settle(time.Hour)
	defer stop()
	if n := len(w.requests()) - calm; n > 0 {
		t.Errorf("%d requests though nothing happens", n)
	}
	tokens, kept := room{sizes: map[chain.ID]map[evm.Address]int{}}, w.perCollection()
	for of, n := range sizes {
		tokens.add(contract{home, addr(of)}, n)
	}
	_, level := m.kept()
	share := fair(slices.Collect(maps.Values(kept)), w.cfg.target())
	if fair := fair(tokens.list(), w.cfg.target()); level < fair {
		t.Errorf("collections may have %d records where %d would do", level, fair)
	}
	for of, n := range sizes {
		if kept[addr(of)] < min(n, level, share) {
			t.Errorf("%d records of %d of %d, the level is %d, the share %d", kept[addr(of)], n, of, level, share)
		}
	}
	seen, again := map[string]int{}, 0
	for _, u := range w.requests() {
		if seen[u]++; seen[u] > 1+asks[u] {
			again++
		}
	}
	if again > wasted {
		t.Errorf("%d requests for what was there, of %d", again, len(w.requests()))
	}
	if len(m.asked) > 0 {
		t.Errorf("%d are still asked for", len(m.asked))
	}
}

// perCollection returns how many records there are.
func (w *world) perCollection() map[evm.Address]int {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	n := map[evm.Address]int{}
	for k := range w.store.rows {
		if name, ok := readKey([]byte(k)); ok && k[0] == keyRecord {
			n[name.Token]++
		}
	}
	return n
}
