package events

import (
	"bytes"
	"sync"
	"time"
)

// State is a set of values of which only the present counts, such as the validators.
// All who watch it share one look at it in a while.
type State struct {
	read  func() (map[string][]byte, error)
	every time.Duration

	mu     sync.Mutex
	looked time.Time
	last   *Values
	err    error
}

// Values is a state at one time. It is shared: do not change it.
type Values struct {
	Items map[string][]byte
	// Version counts the changes. Changed and Removed are what is other than in the
	// version before.
	Version          uint64
	Changed, Removed []string
}

// NewState returns a state that read returns, asked at most once in a while.
func NewState(every time.Duration, read func() (map[string][]byte, error)) *State {
	return &State{read: read, every: every}
}

// Now returns the present values: the same ones as long as nothing changes.
func (s *State) Now() (*Values, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.looked) < s.every {
		return s.last, s.err
	}
	items, err := s.read()
	s.looked, s.err = time.Now(), err
	if err != nil {
		return s.last, err
	}
	if s.last == nil {
		s.last = &Values{Items: items}
		return s.last, nil
	}
	next := &Values{Items: items, Version: s.last.Version + 1}
	next.Changed, next.Removed = diff(s.last.Items, items)
	if len(next.Changed)+len(next.Removed) > 0 {
		s.last = next
	}
	return s.last, nil
}

// Since returns what is other than in earlier values: nil are none.
func (v *Values) Since(old *Values) (changed, removed []string) {
	switch {
	case old == nil:
		return diff(nil, v.Items)
	case old == v:
		return nil, nil
	case old.Version+1 == v.Version:
		return v.Changed, v.Removed
	}
	return diff(old.Items, v.Items)
}

// diff returns which values of b are not in a, and which of a are not in b any more.
func diff(a, b map[string][]byte) (changed, removed []string) {
	for k, v := range b {
		if old, ok := a[k]; !ok || !bytes.Equal(old, v) {
			changed = append(changed, k)
		}
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			removed = append(removed, k)
		}
	}
	return changed, removed
}
