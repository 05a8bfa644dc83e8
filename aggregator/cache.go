package aggregator

import (
	"sync"
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
	s.lru = newLRU(1<<31-1, func(_ K, d *dated[V]) { s.used -= size(d.value) })
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

// newLRU returns a memory for a positive number of entries.
func newLRU[K comparable, V any](most int, gone func(K, V)) *simplelru.LRU[K, V] {
	lru, err := simplelru.NewLRU(most, gone)
	if err != nil {
		panic(err)
	}
	return lru
}

// learned is a memory for so many entries that are saved from time to time. Of more, the
// least used go first. Safe for concurrent use.
type learned[K comparable, V any] struct {
	room    int
	mu      sync.Mutex // guards what follows, and more in what this is part of
	entries *simplelru.LRU[K, V]
	changed map[K]struct{} // since they were saved
}

func newLearned[K comparable, V any](most int) learned[K, V] {
	return learned[K, V]{room: most, entries: newLRU[K, V](most, nil), changed: make(map[K]struct{})}
}

// look returns what is remembered of a key.
func (l *learned[K, V]) look(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries.Get(key)
}

// put stores an entry, to be saved if that is worthwhile. It needs mu.
func (l *learned[K, V]) put(key K, v V, save bool) {
	l.entries.Add(key, v)
	if save && len(l.changed) < l.room { // or nobody saves them
		l.changed[key] = struct{}{}
	}
}

// takeChanged returns what is to be saved since the last call.
func (l *learned[K, V]) takeChanged() map[K]V {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[K]V, len(l.changed))
	for key := range l.changed {
		if v, ok := l.entries.Peek(key); ok {
			out[key] = v
		}
	}
	clear(l.changed)
	return out
}

// putBack stores what an earlier run has saved.
func (l *learned[K, V]) putBack(key K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.entries.Contains(key) {
		l.entries.Add(key, v)
	}
}
