package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"quorate/engine/chain"
	"quorate/engine/events"
	"quorate/engine/follow"
	"quorate/engine/history"
	"quorate/engine/network"
)

// EVMs are the EVM chains that are served: the C-Chains in the order of their networks,
// then the configured chains in theirs. Chains may be added.
type EVMs struct {
	list atomic.Pointer[[]*follow.EVM]

	mu     sync.Mutex                    // guards what follows, and changes of list
	owners map[chain.ID]*network.Network // which network indexes a chain
	ranks  map[*follow.EVM]int           // their order
	hubs   map[*follow.EVM]*events.Hub   // each made when it is asked for first
}

func newEVMs() EVMs {
	return EVMs{owners: make(map[chain.ID]*network.Network), ranks: make(map[*follow.EVM]int), hubs: make(map[*follow.EVM]*events.Hub)}
}

// All returns the chains that are there so far. The list must not be changed.
func (c *EVMs) All() []*follow.EVM {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

// of returns the IDs of the chains of a network.
func (c *EVMs) of(network uint32) (ids []chain.ID) {
	for _, one := range c.All() {
		if one.NetworkID() == network {
			ids = append(ids, one.ID())
		}
	}
	return ids
}

// ByID returns a chain, false if it is not followed.
func (c *EVMs) ByID(id chain.ID) (*follow.EVM, bool) {
	list := c.All()
	i := slices.IndexFunc(list, func(c *follow.EVM) bool { return c.ID() == id })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// Hub returns the events of a chain, false if it is not followed.
func (c *EVMs) Hub(id chain.ID) (*events.Hub, bool) {
	of, ok := c.ByID(id)
	if !ok {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hubs[of]
	if h == nil {
		h = events.NewHub(of.Index())
		c.hubs[of] = h
	}
	return h, true
}

// Head returns the height of a chain that is indexed, as far as it is known.
func (c *EVMs) Head(id chain.ID) (height uint64, ok bool) {
	of, ok := c.ByID(id)
	if !ok {
		return 0, false
	}
	if target, behind := of.Syncing(); behind {
		return target, true
	}
	hub, _ := c.Hub(id) // followed once, followed always
	_, tip, err := hub.Tip()
	return tip.Number, err == nil
}

// Past answers a call of a chain's RPC about what is archived; ok is false if a node has to
// answer. The error is for the client.
func (c *EVMs) Past(ctx context.Context, id chain.ID, method string, params []byte) (result []byte, ok bool, err error) {
	of, found := c.ByID(id)
	if !found {
		return nil, false, nil
	}
	result, err = of.Past().Call(ctx, method, params)
	if errors.Is(err, history.ErrNode) {
		return nil, false, nil
	}
	return result, true, err
}

// claim makes a network the one that indexes a chain: a chain has one writer. It
// reports whether none had it.
func (c *EVMs) claim(id chain.ID, n *network.Network) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners[id] != nil {
		return false
	}
	c.owners[id] = n
	return true
}

// add adds to a copy: readers take no lock.
func (c *EVMs) add(of *follow.EVM, rank int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ranks[of] = rank
	list := append(slices.Clone(c.All()), of)
	slices.SortStableFunc(list, func(a, b *follow.EVM) int { return c.ranks[a] - c.ranks[b] })
	c.list.Store(&list)
}
