package aggregator

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"quorate/aggregator/bls"
)

// maxQuarantined bounds the memory of bad signers; the oldest entry goes first.
const maxQuarantined = 1 << 14

// quarantine remembers keys that sent invalid signatures. While it lasts, a
// key is asked only in need and each of its signatures verified by itself.
type quarantine struct {
	base, most time.Duration // first term, and the longest; it doubles each time
	terms      atomic.Uint64 // started so far
	learned[[bls.PublicKeyLen]byte, quarantineTerm]
}

// quarantineTerm is the last term of a key.
type quarantineTerm struct {
	until  time.Time
	length time.Duration
	// Since the start alone: what was last wrong, and how often something was.
	lie  string
	lies uint64
}

func newQuarantine(base, most time.Duration) *quarantine {
	return &quarantine{base: base, most: most, learned: newLearned[[bls.PublicKeyLen]byte, quarantineTerm](maxQuarantined)}
}

// add records an offence and reports whether it starts a new term, and which.
func (q *quarantine) add(now time.Time, key [bls.PublicKeyLen]byte, lie string) (term time.Duration, started bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, known := q.entries.Get(key)
	s.lie, s.lies = lie, s.lies+1
	switch {
	case known && now.Before(s.until):
		q.entries.Add(key, s)
		return s.length, false
	case known && now.Before(s.until.Add(s.length)):
		s.length = min(2*s.length, q.most)
	default:
		s.length = q.base
	}
	s.until = now.Add(s.length)
	q.put(key, s, true)
	q.terms.Add(1)
	return s.length, true
}

// holds reports whether key is quarantined.
func (q *quarantine) holds(now time.Time, key [bls.PublicKeyLen]byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, ok := q.entries.Peek(key)
	return ok && now.Before(s.until)
}

// count returns how many keys are quarantined.
func (q *quarantine) count(now time.Time) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, term := range q.entries.Values() {
		if now.Before(term.until) {
			n++
		}
	}
	return n
}

// empty reports cheaply whether no key is quarantined.
func (q *quarantine) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.entries.Len() == 0
}

// restore puts back what an earlier run has saved.
func (q *quarantine) restore(now time.Time, key [bls.PublicKeyLen]byte, s quarantineTerm) {
	s.until = restored(now, s.until, min(s.length, q.most))
	q.putBack(key, s)
}

// restored returns a time until which something was to last, at most for so long, as one
// that changes of the wall clock do not move any more. The clock may have been wrong when
// the time was saved.
func restored(now, until time.Time, most time.Duration) time.Time {
	return now.Add(min(until.Sub(now), most))
}

// Note layout of a term, version 1, big-endian:
//
//	u8 1 | i64 until (unix s) | u32 length (s)
const termLen = 1 + 8 + 4

func (s *quarantineTerm) note() []byte {
	b := binary.BigEndian.AppendUint64(append(make([]byte, 0, termLen), 1), uint64(s.until.Unix()))
	return binary.BigEndian.AppendUint32(b, uint32(s.length/time.Second)) // hours at most
}

// parseTerm reads a note; damaged ones are as good as none.
func parseTerm(b []byte) (s quarantineTerm, ok bool) {
	if len(b) != termLen || b[0] != 1 {
		return s, false
	}
	s.until = time.Unix(int64(binary.BigEndian.Uint64(b[1:])), 0)
	s.length = time.Duration(binary.BigEndian.Uint32(b[9:])) * time.Second
	return s, true
}
