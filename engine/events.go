package engine

import (
	"slices"
	"sync"

	"quorate/engine/chain"
	"quorate/engine/events"
	"quorate/engine/follow"
)

// hubs are those of events, each made when it is asked for first.
type hubs struct {
	mu   sync.Mutex
	list map[*follow.EVM]*events.Hub
}

// Hub returns the events of an EVM chain, false if it is not followed.
func (e *Engine) Hub(id chain.ID) (*events.Hub, bool) {
	list := e.EVMs()
	i := slices.IndexFunc(list, func(c *follow.EVM) bool { return c.ID() == id })
	if i < 0 {
		return nil, false
	}
	e.hubs.mu.Lock()
	defer e.hubs.mu.Unlock()
	h := e.hubs.list[list[i]]
	if h == nil {
		if e.hubs.list == nil {
			e.hubs.list = make(map[*follow.EVM]*events.Hub)
		}
		h = events.NewHub(list[i].Index())
		e.hubs.list[list[i]] = h
	}
	return h, true
}
