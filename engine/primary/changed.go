package primary

import "sync"

// signal wakes those that wait for the next change. The zero value is ready.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody waits
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// setAt makes at what views open.
func (c *Chain) setAt(at *position) {
	c.at.Store(at)
	c.changed.tell()
}

// Changed returns a channel that is closed when there are further blocks, or other rows
// of the same ones. Take it before looking at the chain, and no change is missed.
func (c *Chain) Changed() <-chan struct{} { return c.changed.wait() }
