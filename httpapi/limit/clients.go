package limit

import (
	"hash/maphash"
	"net/netip"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// clientShards keeps requests of different clients from waiting for each other.
const clientShards = 64

// address is a client's: an IPv4 address mapped into IPv6, or the first 8 bytes of
// an IPv6 address.
type address [16]byte

// clients has the buckets of addresses.
type clients struct {
	seed   maphash.Seed // random, so that nobody can aim at one shard
	shards [clientShards]clientShard
}

type clientShard struct {
	mu sync.Mutex
	// recent is guarded by mu; the buckets are not.
	recent *simplelru.LRU[address, *bucket]
	_      [64]byte // the next shard's lock is in another cache line
}

func (c *clients) init(size int) {
	c.seed = maphash.MakeSeed()
	for i := range c.shards {
		// fails only for a size below 1
		c.shards[i].recent, _ = simplelru.NewLRU[address, *bucket]((size+clientShards-1)/clientShards, nil)
	}
}

// bucket returns the bucket of a key, a new one for a key that is not remembered.
func (c *clients) bucket(key address) *bucket {
	s := &c.shards[maphash.Bytes(c.seed, key[:])%clientShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.recent.Get(key)
	if !ok {
		b = new(bucket)
		s.recent.Add(key, b)
	}
	return b
}

// networks are the prefixes that an IPv6 address counts for, and how many times the rate of
// one client each has: whoever is given a /48 has as many /64s as there are buckets.
var networks = [levels]struct{ bits, times int }{{64, 1}, {56, 4}, {48, 16}}

// levels bounds the buckets that one request takes units from.
const levels = 3

// clientOf returns the key of an address, or of a network that it is in.
func clientOf(a netip.Addr, level int) address {
	if !a.IsValid() {
		return address{}
	}
	key := address(a.As16())
	if !a.Unmap().Is4() {
		clear(key[networks[level].bits/8:])
		key[len(key)-1] = byte(level) // networks that begin alike
	}
	return key
}
