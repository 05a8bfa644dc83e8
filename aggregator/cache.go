package aggregator

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// unusedFor is how long what nobody uses stays in memory where there is more than
	// alwaysKept bytes of it: a result is on disk, and whoever asks for what was signed
	// ahead does so within minutes. Otherwise a server that signs a few messages a second
	// would fill its share for hours.
	unusedFor  = 5 * time.Minute
	alwaysKept = 4 << 20
)

// sized is an LRU bounded by the bytes of its values. Beyond alwaysKept of them it
// forgets what was not used for unusedFor, when something is put to it.
type sized[K comparable, V any] struct {
	lru       *simplelru.LRU[K, *dated[V]]
	size      func(V) int
	used, cap int
	now       func() time.Time
}

type dated[V any] struct {
	value V
	used  time.Time
}

func newSized[K comparable, V any](capBytes int, size func(V) int) *sized[K, V] {
	s := &sized[K, V]{size: size, cap: capBytes, now: time.Now}
	lru, err := simplelru.NewLRU[K, *dated[V]](1<<31-1, func(_ K, d *dated[V]) { s.used -= size(d.value) })
	if err != nil {
		panic(err) // the size is a positive constant
	}
	s.lru = lru
	return s
}

func (s *sized[K, V]) get(k K) (v V, ok bool) {
	d, ok := s.lru.Get(k)
	if !ok {
		return v, false
	}
	d.used = s.now()
	return d.value, true
}

func (s *sized[K, V]) put(k K, v V) {
	now := s.now()
	s.lru.Remove(k)
	s.lru.Add(k, &dated[V]{v, now})
	s.used += s.size(v)
	for s.used > min(s.cap, alwaysKept) && s.lru.Len() > 1 {
		if _, oldest, _ := s.lru.GetOldest(); s.used <= s.cap && now.Sub(oldest.used) < unusedFor {
			return
		}
		s.lru.RemoveOldest()
	}
}
