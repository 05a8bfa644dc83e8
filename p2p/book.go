package p2p

import (
	"net/netip"
	"sync"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// book remembers where nodes can be reached.
type book struct {
	most int

	mu      sync.Mutex // guards what follows
	entries map[chain.NodeID]*entry
	claims  int // ever taken, a mark of progress
}

// entry holds what two sources say of one node.
type entry struct {
	hint    netip.AddrPort // what a followed node's API or our own operator says
	claim   netip.AddrPort // what the node itself has signed, the newest
	claimed uint64         // when, Unix seconds; 0 there is no claim
}

func newBook(most int) *book {
	return &book{most: most, entries: map[chain.NodeID]*entry{}}
}

// addresses gives what is known of a node, the first to be tried first.
func (b *book) addresses(id chain.NodeID) []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[id]
	if e == nil {
		return nil
	}
	var list []netip.AddrPort
	if e.hint.IsValid() {
		list = append(list, e.hint)
	}
	if e.claim.IsValid() && e.claim != e.hint {
		list = append(list, e.claim)
	}
	return list
}

// entry needs mu. It gives nil when the book is full and the node is not wanted.
func (b *book) entry(id chain.NodeID, wanted bool) *entry {
	e := b.entries[id]
	if e == nil && (wanted || len(b.entries) < b.most) {
		e = &entry{}
		b.entries[id] = e
	}
	return e
}

// hint takes an address and tells whether it is news.
func (b *book) hint(a Address, wanted bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(a.NodeID, wanted)
	if e == nil || e.hint == a.Addr {
		return false
	}
	news := e.claim != a.Addr
	e.hint = a.Addr
	return news
}

// wouldTake tells whether a claim of that time would be newer than what the
// book has, so that only such claims' signatures need to be checked.
func (b *book) wouldTake(id chain.NodeID, time uint64, wanted bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[id]; e != nil {
		return time > e.claimed
	}
	return wanted || len(b.entries) < b.most
}

// claim takes an address whose signature was checked and tells whether it is news.
func (b *book) claim(id chain.NodeID, addr netip.AddrPort, time uint64, wanted bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(id, wanted)
	if e == nil || time <= e.claimed {
		return false
	}
	b.claims++
	news := addr != e.claim && addr != e.hint
	e.claim, e.claimed = addr, time
	return news
}

// progress rises with each claim taken.
func (b *book) progress() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claims
}

// prune makes room in a full book: nodes that nobody wants may have been
// invented, and real ones are heard of again.
func (b *book) prune(wanted map[chain.NodeID]*peer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) < b.most {
		return
	}
	for id := range b.entries {
		if wanted[id] == nil {
			delete(b.entries, id)
		}
	}
}

// filter gives the set of claims that the book has.
func (b *book) filter(salt []byte, seed func() uint64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := wire.NewBloom(len(b.entries), seed)
	for id, e := range b.entries {
		if e.claimed != 0 {
			f.Add(wire.ClaimHash(id, e.claimed, salt))
		}
	}
	return f.Append(nil)
}
