package index

import (
	"math"
	"reflect"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
)

const (
	defaultCacheMB = 64
	// pagesShare is the share of a chain's cache that pages have, as 1/pagesShare.
	pagesShare = 8
	// recentShards is the number of parts of a recent, each with a lock of its own.
	recentShards = 16
	// largeShare is the share of a part, as 1/largeShare, above which a value is not kept.
	largeShare = 8
	// entryBytes is what an entry takes besides key and value, about: its place in
	// the map and in the order of use.
	entryBytes = 128
)

// recent keeps the values that were read last, bounded in bytes. It is for
// values that never change: none is ever taken out because it was wrong. All
// methods may be called at once; a nil one keeps nothing. What it gives is
// shared by all readers, who do not change it.
type recent[K comparable, V any] struct {
	hits, misses metric.Counter
	spread       func(K) uint64
	shardBytes   int
	shards       [recentShards]recentShard[K, V]
}

type recentShard[K comparable, V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[K, sized[V]]
	bytes int
}

type sized[V any] struct {
	value V
	size  int
}

// newRecent makes a cache of at most size bytes. Keys with different spread lie
// in different parts, mostly.
func newRecent[K comparable, V any](size int, spread func(K) uint64, set *metric.Set, what string) (*recent[K, V], error) {
	c := &recent[K, V]{
		hits:       set.Counter("quorate_index_cache_hits_total", "Reads of the index answered from memory.", "of", what),
		misses:     set.Counter("quorate_index_cache_misses_total", "Reads of the index that went to the database.", "of", what),
		spread:     spread,
		shardBytes: size / recentShards,
	}
	for i := range c.shards {
		lru, err := simplelru.NewLRU[K, sized[V]](math.MaxInt, nil) // bytes bound it
		if err != nil {
			return nil, err
		}
		c.shards[i].lru = lru
	}
	return c, nil
}

func (c *recent[K, V]) shard(k K) *recentShard[K, V] {
	h := c.spread(k) * 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	return &c.shards[h>>60]
}

func (c *recent[K, V]) get(k K) (v V, ok bool) {
	if c == nil {
		return v, false
	}
	s := c.shard(k)
	s.mu.Lock()
	kept, ok := s.lru.Get(k)
	s.mu.Unlock()
	if !ok {
		c.misses.Inc()
		return v, false
	}
	c.hits.Inc()
	return kept.value, true
}

// put keeps a value of size bytes, which nobody changes from now on.
func (c *recent[K, V]) put(k K, v V, size int) {
	if c == nil || size > c.shardBytes/largeShare {
		return
	}
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lru.Contains(k) {
		return // another reader was faster
	}
	for s.bytes+size > c.shardBytes {
		_, old, ok := s.lru.RemoveOldest()
		if !ok {
			break
		}
		s.bytes -= old.size
	}
	s.lru.Add(k, sized[V]{v, size})
	s.bytes += size
}

// txPlace is where a transaction is.
type txPlace struct {
	number uint64
	index  uint32
}

// pageKey names a page of an address' transactions. Heights up to the cursor get
// no further rows, so the same key always gives the same page: views of another
// tip ask for another one, unless the page ends below both.
type pageKey struct {
	addr      evm.Address
	lo, hi    uint64 // heights
	limit     int
	ascending bool
	begun     bool
	after     [heightLen + 4]byte // if begun
}

// txPage is such a page.
type txPage struct {
	places []txPlace
	next   []byte
}

// caches hold what views of a chain have read.
type caches struct {
	txs   *recent[txPlace, *Tx] // at or below the cursor; whether a view may see it is decided before it is asked for
	pages *recent[pageKey, txPage]
	sizes txSizes
}

// newCaches gives caches that keep nothing if mb is below 0.
func newCaches(mb int, set *metric.Set) (c caches, err error) {
	if mb < 0 {
		return c, nil
	}
	if mb == 0 {
		mb = defaultCacheMB
	}
	if set == nil {
		set = metric.NewSet()
	}
	size := mb << 20
	c.sizes = newTxSizes()
	c.txs, err = newRecent[txPlace, *Tx](size-size/pagesShare, func(p txPlace) uint64 {
		return p.number<<20 + uint64(p.index)
	}, set, "transactions")
	if err != nil {
		return c, err
	}
	c.pages, err = newRecent[pageKey, txPage](size/pagesShare, func(k pageKey) uint64 {
		return k.lo ^ k.hi ^ uint64(k.addr[0])<<24 ^ uint64(k.addr[evm.AddressLen-1])<<16 ^ uint64(k.after[heightLen-1])
	}, set, "pages")
	return c, err
}

func (c *caches) putTx(at txPlace, tx *Tx) { c.txs.put(at, tx, c.sizes.of(tx)) }

func (c *caches) putPage(k pageKey, p txPage) {
	c.pages.put(k, p, c.sizes.page+cap(p.places)*c.sizes.place+cap(p.next))
}

// txSizes are the sizes of entries and of their parts in memory.
type txSizes struct{ tx, transfer, call, amount, page, place int }

func newTxSizes() txSizes {
	return txSizes{
		tx:       int(reflect.TypeFor[Tx]().Size()) + entryBytes,
		transfer: int(reflect.TypeFor[Transfer]().Size()),
		call:     int(reflect.TypeFor[evm.Call]().Size()),
		amount:   int(reflect.TypeFor[uint256.Int]().Size()),
		page:     2*int(reflect.TypeFor[pageKey]().Size()) + entryBytes,
		place:    int(reflect.TypeFor[txPlace]().Size()),
	}
}

// of gives what a decoded transaction takes in memory with all it refers to, about.
func (s *txSizes) of(tx *Tx) int {
	n := s.tx + cap(tx.Input) + cap(tx.Transfers)*s.transfer + cap(tx.Calls)*s.call
	for _, v := range []*uint256.Int{tx.Block.BaseFee, tx.MaxFee, tx.MaxPriorityFee} {
		if v != nil {
			n += s.amount
		}
	}
	return n
}
