package ui

import (
	"sync"
	"time"
)

// shareAge is for how long pages share what was asked for them: what their viewers cost
// the API does not grow with their number, nor with the hosts and prefixes that they name.
const shareAge = 250 * time.Millisecond

// maxShared bounds the keys of a sharedBy.
const maxShared = 256

// shared is data that all viewers of a page see. Whoever gets them must not change them.
type shared[T any] struct {
	mu    sync.Mutex // held while they are asked for, so that one viewer does it for all
	until time.Time
	data  *T
}

// get returns the data, filled in again when they are too old.
func (s *shared[T]) get(fill func() (*T, error)) (*T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data != nil && time.Now().Before(s.until) {
		return s.data, nil
	}
	data, err := fill()
	if err != nil {
		return nil, err
	}
	s.data, s.until = data, time.Now().Add(shareAge)
	return data, nil
}

// sharedBy is shared data by a key.
type sharedBy[T any] struct {
	mu  sync.Mutex
	all map[string]*shared[T]
}

func (s *sharedBy[T]) of(key string) *shared[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.all[key]
	if it == nil {
		if s.all == nil || len(s.all) >= maxShared {
			s.all = make(map[string]*shared[T])
		}
		it = new(shared[T])
		s.all[key] = it
	}
	return it
}

// forAll returns a request that asks the API on behalf of all viewers: it has nothing of
// r's own, and nobody is charged.
func (r *Request) forAll() *Request {
	nothing := func(string) string { return "" }
	return &Request{site: r.site, in: Input{Path: r.in.Path, Operator: r.in.Operator, Param: nothing, Query: nothing}}
}
