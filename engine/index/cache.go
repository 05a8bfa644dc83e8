package index

// cache remembers what was used of late, in two generations: when the young
// one is full it becomes the old one, and what was not used since is forgotten.
type cache[K comparable, V any] struct {
	size       int
	young, old map[K]V
}

func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, young: map[K]V{}}
}

func (c *cache[K, V]) len() int { return len(c.young) + len(c.old) }

func (c *cache[K, V]) get(k K) (V, bool) {
	v, ok := c.young[k]
	if ok {
		return v, true
	}
	if v, ok = c.old[k]; ok {
		c.put(k, v)
	}
	return v, ok
}

func (c *cache[K, V]) put(k K, v V) {
	if len(c.young) >= c.size {
		c.young, c.old = make(map[K]V, c.size), c.young
	}
	c.young[k] = v
}
