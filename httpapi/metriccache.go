package httpapi

import "sync/atomic"

const (
	// chunkSlots is the number of chunks that can be kept, a power of two: half as
	// many again as there is room for in bytes when all are full.
	chunkSlots = 1 << 13
	// chunkWays is the number of slots that a chunk can be in.
	chunkWays = 4
)

// chunkCache keeps the chunks that were used last, bounded in bytes. Readers
// and writers take no lock; when several put the same chunk, one of them stays.
type chunkCache struct {
	slots []atomic.Pointer[chunk]
	max   int64
	bytes atomic.Int64
	hand  atomic.Uint32 // the slot that was looked at last for one to give up
}

func newChunkCache(size int64, slots int) *chunkCache {
	return &chunkCache{slots: make([]atomic.Pointer[chunk], slots), max: size}
}

// ways gives the slots for a hash.
func (c *chunkCache) ways(hash uint64) []atomic.Pointer[chunk] {
	first := hash >> 32 & uint64(len(c.slots)-1) &^ (chunkWays - 1)
	return c.slots[first : first+chunkWays]
}

// get gives a chunk with the hash, nil if there is none.
func (c *chunkCache) get(hash uint64) *chunk {
	ways := c.ways(hash)
	for i := range ways {
		if k := ways[i].Load(); k != nil && k.hash == hash {
			if !k.used.Load() { // a write would take the line from other cores
				k.used.Store(true)
			}
			return k
		}
	}
	return nil
}

// put keeps a chunk in place of one with the same hash, or of one that was not
// used for a while.
func (c *chunkCache) put(k *chunk) {
	ways := c.ways(k.hash)
	to := &ways[k.hash>>30&(chunkWays-1)]
	free := false
	for i := range ways {
		old := ways[i].Load()
		if old != nil && old.hash == k.hash {
			to = &ways[i]
			break
		}
		if !free && (old == nil || !old.used.Swap(false)) {
			to, free = &ways[i], true
		}
	}
	if old := to.Swap(k); old != nil {
		c.bytes.Add(-int64(old.size))
	}
	c.bytes.Add(int64(k.size))
	for c.bytes.Load() > c.max {
		c.giveUp()
	}
}

// giveUp takes out the chunk at the hand, unless it was used since the hand came
// by last.
func (c *chunkCache) giveUp() {
	slot := &c.slots[c.hand.Add(1)%uint32(len(c.slots))]
	k := slot.Load()
	if k != nil && !k.used.Swap(false) && slot.CompareAndSwap(k, nil) {
		c.bytes.Add(-int64(k.size))
	}
}
