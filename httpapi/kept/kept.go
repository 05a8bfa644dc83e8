// Package kept is a cache in memory, bounded in bytes, for values that cost
// more to make than to keep. Readers and writers take no lock.
//
// A value is found by a hash of its key alone: its owner compares the key, since
// keys with the same hash push each other out. Which values stay is decided by a
// clock: one that was used since the hand came by last gets another turn.
package kept

import "sync/atomic"

// ways is the number of slots that a value can be in.
const ways = 4

// Cache keeps the values that were used last. Values do not change once they
// are put.
type Cache[T any] struct {
	slots []atomic.Pointer[entry[T]]
	max   int64
	bytes atomic.Int64
	hand  atomic.Uint32 // the slot that was looked at last for one to give up
}

type entry[T any] struct {
	hash  uint64
	value *T
	size  int64
	used  atomic.Bool // since the hand came by last
}

// New returns a cache of at most size bytes and slots values; slots is a power
// of two, best half as many again as there is room for.
func New[T any](size int64, slots int) *Cache[T] {
	return &Cache[T]{slots: make([]atomic.Pointer[entry[T]], slots), max: size}
}

// Bytes returns the sum of the sizes of all values.
func (c *Cache[T]) Bytes() int64 { return c.bytes.Load() }

func (c *Cache[T]) ways(hash uint64) []atomic.Pointer[entry[T]] {
	first := hash >> 32 & uint64(len(c.slots)-1) &^ (ways - 1)
	return c.slots[first : first+ways]
}

// Get returns the value put last with the hash, nil if it is not kept.
func (c *Cache[T]) Get(hash uint64) *T {
	set := c.ways(hash)
	for i := range set {
		if e := set[i].Load(); e != nil && e.hash == hash {
			if !e.used.Load() { // a write would take the line from other cores
				e.used.Store(true)
			}
			return e.value
		}
	}
	return nil
}

// Put keeps a value of size bytes in place of one with the same hash, or of one
// that was not used for a while. When several put the same, one of them stays.
func (c *Cache[T]) Put(hash uint64, value *T, size int) {
	set := c.ways(hash)
	to := &set[hash>>30&(ways-1)]
	free := false
	for i := range set {
		old := set[i].Load()
		if old != nil && old.hash == hash {
			to = &set[i]
			break
		}
		if !free && (old == nil || !old.used.Swap(false)) {
			to, free = &set[i], true
		}
	}
	if old := to.Swap(&entry[T]{hash: hash, value: value, size: int64(size)}); old != nil {
		c.bytes.Add(-old.size)
	}
	c.bytes.Add(int64(size))
	for c.bytes.Load() > c.max {
		c.giveUp()
	}
}

// giveUp takes out the value at the hand, unless it was used since the hand came
// by last.
func (c *Cache[T]) giveUp() {
	slot := &c.slots[c.hand.Add(1)%uint32(len(c.slots))]
	e := slot.Load()
	if e != nil && !e.used.Swap(false) && slot.CompareAndSwap(e, nil) {
		c.bytes.Add(-e.size)
	}
}

// Mix spreads v over all bits, after what was mixed before.
func Mix(h, v uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h = (h ^ v) * odd
	return (h ^ h>>32) * odd
}
