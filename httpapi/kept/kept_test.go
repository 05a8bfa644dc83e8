package kept

import (
	"math/rand/v2"
	"sync"
	"testing"
)

type thing struct{ hash uint64 }

// TestCache: it stays within its bound, keeps what is used, and returns only
// what was put.
func TestCache(t *testing.T) {
	t.Parallel()
	const size = 100
	c := New[thing](50*size, 256)
	put := func(h uint64) { c.Put(h, &thing{h}, size) }
	r := rand.New(rand.NewPCG(1, 2))
	hot := make([]uint64, 8)
	for i := range hot {
		hot[i] = r.Uint64()
	}
	missed := 0
	for range 20_000 {
		put(r.Uint64N(5000) * 0x9e3779b97f4a7c15)
		for _, h := range hot {
			if c.Get(h) == nil {
				missed++
				put(h)
			}
		}
		if got := c.Bytes(); got > 50*size {
			t.Fatalf("%d bytes are kept", got)
		}
	}
	if missed > 100 { // of 160,000; the first time each is missed
		t.Errorf("values that are used all the time were given up %d times", missed)
	}
	sum := int64(0)
	for i := range c.slots {
		if e := c.slots[i].Load(); e != nil {
			sum += e.size
			if got := c.Get(e.hash); got == nil || got.hash != e.hash {
				t.Error("a value is kept where it is not found")
			}
		}
	}
	if sum != c.Bytes() || sum < 40*size {
		t.Errorf("%d bytes are kept, counted as %d", sum, c.Bytes())
	}
	newer := &thing{hot[0]}
	c.Put(hot[0], newer, 1)
	if c.Get(hot[0]) != newer {
		t.Error("an older value stays")
	}
	c.Put(5, &thing{5}, 51*size)
	if got := c.Bytes(); got > 50*size {
		t.Errorf("%d bytes are kept for a value that is too large", got)
	}
}

// TestAtOnce: many readers and writers leave a count that is right.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	c := New[thing](1000, 64)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 7))
			for range 20_000 {
				h := r.Uint64N(200) * 0x9e3779b97f4a7c15
				if got := c.Get(h); got != nil && got.hash != h {
					t.Errorf("%d for %d", got.hash, h)
					return
				}
				c.Put(h, &thing{h}, 10+int(r.Uint64N(20)))
			}
		})
	}
	wg.Wait()
	sum := int64(0)
	for i := range c.slots {
		if e := c.slots[i].Load(); e != nil {
			sum += e.size
		}
	}
	if sum != c.Bytes() || sum > 1000 {
		t.Errorf("%d bytes are kept, counted as %d", sum, c.Bytes())
	}
}
