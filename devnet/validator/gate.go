package validator

import (
	"context"
	"sync"
)

// gate stops everything that passes it while it is shut, as a process that is
// not scheduled stops: nothing is answered, nothing is lost.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open; nil means open
}

// shut stops what comes next. It does not wait for what has passed.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
}

// release lets everything go on.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// pass waits until the gate is open, and is false when ctx ends before.
func (g *gate) pass(ctx context.Context) bool {
	for ctx.Err() == nil {
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		if open == nil {
			return true
		}
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
	return false
}
