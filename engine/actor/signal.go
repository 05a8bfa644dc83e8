package actor

import "sync"

// Signal wakes all that wait for the next change of something. The zero value is ready.
// All methods may be called at once.
type Signal struct {
	mu sync.Mutex
	ch chan struct{} // nil while there are no waiters
}

// Wait returns a channel that the next [Signal.Tell] closes. Take it before looking at
// what may change, and no change is missed.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Tell says that there was a change.
func (s *Signal) Tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
