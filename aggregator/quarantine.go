package aggregator

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/aggregator/bls"
)

// maxQuarantined bounds the memory of bad signers; the oldest entry goes first.
const maxQuarantined = 1 << 14

// quarantine remembers keys that sent invalid signatures. While it lasts, a
// key is asked only in need and each of its signatures verified by itself.
type quarantine struct {
	base, most time.Duration // first term, and the longest; it doubles each time
	terms      atomic.Uint64 // started so far

	mu      sync.Mutex
	entries *simplelru.LRU[[bls.PublicKeyLen]byte, sentence]
}

type sentence struct {
	until time.Time
	term  time.Duration
}

func newQuarantine(base, most time.Duration) *quarantine {
	lru, err := simplelru.NewLRU[[bls.PublicKeyLen]byte, sentence](maxQuarantined, nil)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &quarantine{base: base, most: most, entries: lru}
}

// add records an offence and tells whether it starts a new term, and which.
func (q *quarantine) add(now time.Time, key [bls.PublicKeyLen]byte) (term time.Duration, started bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, known := q.entries.Get(key)
	switch {
	case known && now.Before(s.until):
		return s.term, false
	case known && now.Before(s.until.Add(s.term)):
		s.term = min(2*s.term, q.most)
	default:
		s.term = q.base
	}
	s.until = now.Add(s.term)
	q.entries.Add(key, s)
	q.terms.Add(1)
	return s.term, true
}

// holds tells whether key is quarantined.
func (q *quarantine) holds(now time.Time, key [bls.PublicKeyLen]byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, ok := q.entries.Peek(key)
	return ok && now.Before(s.until)
}

// empty tells cheaply that nobody is quarantined.
func (q *quarantine) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.entries.Len() == 0
}
