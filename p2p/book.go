package p2p

import (
	"crypto/rand"
	mrand "math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// book remembers where nodes can be reached: wanted ones by what they sign
// themselves, and any node by what trusted sources say, up to a bound.
type book struct {
	most int

	mu      sync.Mutex // guards what follows
	entries map[chain.NodeID]*entry
	news    int // a mark of progress, see progress
	seen    seenClaims
}

// entry holds what three sources say of one node.
type entry struct {
	pinned  netip.AddrPort // what our own operator says
	hint    netip.AddrPort // what a followed node's API says
	claim   netip.AddrPort // what the node itself has signed, the newest; only of wanted nodes
	claimed uint64         // when, Unix seconds; 0 there is no claim
}

func newBook(most int) *book {
	b := &book{most: most, entries: map[chain.NodeID]*entry{}}
	b.seen = newSeenClaims(seenRoom, time.Now())
	return b
}

// addresses returns what is known of a node, the first to be tried first.
func (b *book) addresses(id chain.NodeID) []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[id]
	if e == nil {
		return nil
	}
	var list []netip.AddrPort
	for _, a := range []netip.AddrPort{e.pinned, e.hint, e.claim} {
		if a.IsValid() && (len(list) == 0 || a != list[0]) && (len(list) < 2 || a != list[1]) {
			list = append(list, a)
		}
	}
	return list
}

// entry needs mu. It returns nil when the book is full and the node is not wanted.
func (b *book) entry(id chain.NodeID, wanted bool) *entry {
	e := b.entries[id]
	if e == nil && (wanted || len(b.entries) < b.most) {
		e = &entry{}
		b.entries[id] = e
	}
	return e
}

// hint takes an address from a trusted source and reports whether it is news.
func (b *book) hint(a Address, wanted bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(a.NodeID, wanted)
	if e == nil || e.hint == a.Addr {
		return false
	}
	news := e.claim != a.Addr && e.pinned != a.Addr
	e.hint = a.Addr
	return news
}

// pin takes the operator's address of a node and reports whether it is news.
func (b *book) pin(a Address) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(a.NodeID, true)
	news := e.pinned != a.Addr
	e.pinned = a.Addr
	return news
}

// newer reports whether a claim of that time would be newer than the one in
// the book, so that only such claims' signatures need to be checked.
func (b *book) newer(id chain.NodeID, time uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[id]
	return e == nil || time > e.claimed
}

// claim takes a wanted node's address whose signature was checked and reports
// whether it is news.
func (b *book) claim(id chain.NodeID, addr netip.AddrPort, time uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(id, true)
	if time <= e.claimed {
		return false
	}
	b.news++
	news := addr != e.claim && addr != e.hint && addr != e.pinned
	e.claim, e.claimed = addr, time
	b.seen.add(id, time)
	return news
}

// heard notes a claim, not verified, of a node that nobody wants.
func (b *book) heard(id chain.NodeID, at uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen.add(id, at) {
		return
	}
	b.news++
	if b.seen.count >= b.seen.room {
		b.renew(min(2*b.seen.room, maxSeenRoom), time.Now())
	}
}

// progress rises with each claim that was not known before.
func (b *book) progress() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// setWanted forgets the claims of nodes that are wanted no more, and all that is
// said of them when the book is full: real ones are heard of again. When fresh
// ones are wanted, peers are to tell again what they told when nobody wanted it.
func (b *book) setWanted(wanted map[chain.NodeID]*peer, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := len(b.entries) >= b.most
	for id, e := range b.entries {
		if wanted[id] != nil {
			continue
		}
		if e.claim, e.claimed = (netip.AddrPort{}), 0; full || !e.hint.IsValid() && !e.pinned.IsValid() {
			delete(b.entries, id)
		}
	}
	if fresh {
		b.renew(b.seen.room, time.Now())
	}
}

const (
	// A filter of seen claims begins with room for seenRoom, 1.3 kB, and grows to
	// maxSeenRoom, 20 kB. A full one starts again empty.
	seenRoom    = 1 << 10
	maxSeenRoom = 1 << 14
	// seenFor is how long a filter is used, so that no claim stays hidden behind
	// a false positive for longer.
	seenFor = 10 * time.Minute
	// saltLen is the length of filters' salts.
	saltLen = 8
)

// seenClaims is a set of the claims that peers need not send again: those in
// the book, and those of nodes that nobody wants.
type seenClaims struct {
	bloom *wire.Bloom
	salt  []byte
	count int // claims added
	room  int // for how many the filter was made
	since time.Time
}

func newSeenClaims(room int, now time.Time) seenClaims {
	salt := make([]byte, saltLen)
	rand.Read(salt) // never fails
	return seenClaims{bloom: wire.NewBloom(room, mrand.Uint64), salt: salt, room: room, since: now}
}

// add reports whether the claim was not in the set.
func (s *seenClaims) add(id chain.NodeID, at uint64) bool {
	hash := wire.ClaimHash(id, at, s.salt)
	if s.bloom.Contains(hash) {
		return false
	}
	s.bloom.Add(hash)
	s.count++
	return true
}

// renew needs mu. It forgets all but the claims in the book.
func (b *book) renew(room int, now time.Time) {
	claims := 0
	for _, e := range b.entries {
		if e.claimed != 0 {
			claims++
		}
	}
	for room < 2*claims { // or invented ones would fill it at once
		room *= 2
	}
	b.seen = newSeenClaims(room, now)
	for id, e := range b.entries {
		if e.claimed != 0 {
			b.seen.add(id, e.claimed)
		}
	}
}

// known is a filter as peers get it.
type known struct{ filter, salt []byte }

// filter returns the set of claims that peers need not send.
func (b *book) filter(now time.Time) *known {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.seen.since) >= seenFor {
		b.renew(b.seen.room, now)
	}
	return &known{filter: b.seen.bloom.Append(nil), salt: b.seen.salt}
}
