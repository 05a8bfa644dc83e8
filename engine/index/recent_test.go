package index

import (
	"fmt"
	"sync"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	"quorate/engine/metric"
)

// A cache never holds more bytes than it may, forgets what was not used for
// longest, and refuses what is large.
func TestRecent(t *testing.T) {
	t.Parallel()
	const size = recentShards * 1000
	c, err := newRecent[int, string](size, func(int) uint64 { return 7 }, metric.NewSet(), "test")
	if err != nil {
		t.Fatal(err)
	}
	c.put(-1, "large", 1000/largeShare+1)
	if _, ok := c.get(-1); ok {
		t.Error("a large value was kept")
	}
	for i := range 100 {
		c.put(i, fmt.Sprint(i), 100) // all in one part, which has room for ten
		c.put(i, "again", 100)
		if v, ok := c.get(0); !ok || v != "0" {
			t.Fatalf("after %d: the value used last is %q, %v", i, v, ok)
		}
		if s := c.shard(i); s.bytes > 1000 || s.bytes != s.lru.Len()*100 {
			t.Fatalf("%d bytes for %d values", s.bytes, s.lru.Len())
		}
	}
	for i := range 100 {
		if _, ok := c.get(i); ok != (i == 0 || i > 90) {
			t.Errorf("value %d is kept: %v", i, ok)
		}
	}
	var none *recent[int, string]
	none.put(1, "", 1)
	if _, ok := none.get(1); ok {
		t.Error("no cache has a value")
	}
}

// The size of a transaction grows with all that it refers to.
func TestTxSizes(t *testing.T) {
	t.Parallel()
	s := newTxSizes()
	plain := s.of(&Tx{})
	if plain < 400 || plain > 1000 {
		t.Errorf("%d bytes", plain)
	}
	tx := &Tx{Transfers: make([]Transfer, 10)}
	tx.Input, tx.Calls = make([]byte, 5000), make([]evm.Call, 20)
	if got := s.of(tx); got < plain+5000+10*130+20*80 || got > 2*(plain+5000+10*150+20*120) {
		t.Errorf("%d bytes", got)
	}
}

// Views with and without caches say the same, also while blocks are committed,
// and from the second time on the caches answer.
func TestCached(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 11, Txs: 6}).Blocks(80)
	set := metric.NewSet()
	for _, mb := range []int{-1, 1} {
		c := openChain(t, Options{CacheMB: mb, Metrics: set})
		commit(t, c, blocks[:40], 10)
		for _, upTo := range []int{40, 80} {
			n, _, _ := c.Cursor()
			commit(t, c, blocks[n+1:upTo], 7)
			for _, height := range []uint64{30, uint64(upTo) - 1} {
				want := recompute(blocks[:upTo], height)
				for range 2 {
					v := at(t, c, &height)
					compare(t, v, want, 5)
					v.Close()
				}
			}
		}
	}
	for _, of := range []string{"transactions", "pages"} {
		if hits := set.Value("quorate_index_cache_hits_total", "of", of); hits < 100 {
			t.Errorf("%s: %v", of, hits)
		}
	}
}

// Many views read the same pages at once, at several tips.
func TestCachedAtOnce(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 12, Txs: 6}).Blocks(80)
	c := openChain(t, Options{CacheMB: 1})
	commit(t, c, blocks[:20], 10)
	want := map[evm.Address][]string{}
	for a, list := range recompute(blocks, 19).byAddr {
		want[a] = wanted(list, false)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for a, list := range want {
				height := uint64(19)
				v, err := c.At(&height)
				if err != nil {
					t.Error(err)
					return
				}
				got, _, err := v.AddressTxs(a, Page{Limit: 1000, Ascending: true, To: ^uint64(0)})
				v.Close()
				if err != nil || len(got) != len(list) {
					t.Errorf("%s: %d transactions, want %d, %v", a, len(got), len(list), err)
					return
				}
				for i := range got {
					if gotText(got[i]) != list[i] {
						t.Errorf("%s: transaction %d is %s", a, i, gotText(got[i]))
					}
				}
			}
		})
	}
	commit(t, c, blocks[20:], 3)
	wg.Wait()
}
