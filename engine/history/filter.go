package history

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/engine/chain/evm"
)

const (
	// spanBlocks is how many blocks share a filter: as many as a bundle of usual blocks has,
	// about, which is what has to be unpacked at least.
	spanBlocks = 128
	// bitsPerItem and hashes give one false answer in a hundred.
	bitsPerItem, hashes = 10, 7
	// maxFilter bounds a filter, and maxFilters all of a chain, in bytes. Of full blocks of
	// transfers these are those of a million blocks.
	maxFilter  = 64 << 10
	maxFilters = 16 << 20
)

// Filter says which logs are asked for: of any of some addresses, none for all, and with any
// of some topics at each place, of which none stand for all.
type Filter struct {
	From, To  uint64 // both belong to it
	Addresses []evm.Address
	Topics    [][]evm.Hash
}

// Match reports whether a log is one of them.
func (f *Filter) Match(l *evm.Log) bool {
	if len(f.Addresses) > 0 && !slices.Contains(f.Addresses, l.Address) || len(f.Topics) > len(l.Topics) {
		return false
	}
	for i, any := range f.Topics {
		if len(any) > 0 && !slices.Contains(any, l.Topics[i]) {
			return false
		}
	}
	return true
}

// may reports false if a span has no such log for certain.
func (f *Filter) may(b bloom) bool {
	if len(f.Addresses) > 0 && !slices.ContainsFunc(f.Addresses, func(a evm.Address) bool { return b.has(item(0, a[:])) }) {
		return false
	}
	for i, any := range f.Topics {
		if len(any) > 0 && !slices.ContainsFunc(any, func(t evm.Hash) bool { return b.has(item(1+i, t[:])) }) {
			return false
		}
	}
	return true
}

// item is a contract that logged, at place 0, or a topic at its own.
func item(place int, value []byte) uint64 {
	return xxhash.Sum64(value) + uint64(place)*0x9e3779b97f4a7c15
}

// bloom is a Bloom filter: a power of two of bytes.
type bloom []byte

// newBloom makes the filter of some items.
func newBloom(items map[uint64]struct{}) bloom {
	size := 1 << bits.Len(uint(len(items)*bitsPerItem/8))
	b := make(bloom, min(size, maxFilter))
	for i := range items {
		for range hashes {
			i = next(i)
			at := i % uint64(len(b)*8)
			b[at/8] |= 1 << (at % 8)
		}
	}
	return b
}

func (b bloom) has(i uint64) bool {
	for range hashes {
		i = next(i)
		if at := i % uint64(len(b)*8); b[at/8]&(1<<(at%8)) == 0 {
			return false
		}
	}
	return true
}

// next mixes the bits of a number, as splitmix64 does.
func next(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// filters are those of the spans that were asked for lately.
type filters struct {
	mu    sync.Mutex
	spans *lru.LRU[uint64, bloom]
	bytes int
	// age changes when filters are dropped: one that was begun before may be false.
	age uint64
}

func newFilters() *filters {
	f := &filters{}
	// Their bytes bound them, and each has one at least. It fails only for sizes below 1.
	f.spans, _ = lru.NewLRU(maxFilters, func(_ uint64, b bloom) { f.bytes -= len(b) })
	return f
}

// get returns the filter of a span, nil if there is none, and the age to keep one with.
func (f *filters) get(span uint64) (b bloom, age uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, _ = f.spans.Get(span)
	return b, f.age
}

// keep keeps the filter of a span.
func (f *filters) keep(span uint64, b bloom, age uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if age != f.age {
		return
	}
	f.spans.Remove(span)
	f.spans.Add(span, b)
	for f.bytes += len(b); f.bytes > maxFilters; {
		f.spans.RemoveOldest()
	}
}

func (f *filters) drop(span uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age++
	f.spans.Remove(span)
}

func (f *filters) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age++
	f.spans.Purge()
}
