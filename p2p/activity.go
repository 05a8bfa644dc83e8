package p2p

import (
	"sync"
	"time"
)

// failWindow is the time over which [Activity] reports the rate of failed sends.
const failWindow = time.Minute

// Activity is what health checks look at: the totals, and what is under way.
type Activity struct {
	Stats
	// SendFailRate is the share of failed ones among the messages of the last
	// minute, 0 to 1, and 0 if there were none.
	SendFailRate float64
	// Outstanding is the number of questions without an answer yet, each node
	// asked counted, those of closed requests not.
	Outstanding int
	// Longest is how long the oldest of them has waited, 0 if there is none. The
	// keeper drops questions when they expire, so a longest wait far above the
	// time given to requests means that it does not run.
	Longest time.Duration
}

// Activity looks at every question that waits: call it now and then.
func (n *Network) Activity() Activity {
	a := Activity{Stats: n.Stats()}
	a.SendFailRate = n.recent.rate(a.Sent, a.SendFailures)
	now := n.now()
	oldest := now
	for _, p := range *n.peers.Load() {
		count, first := p.oldest(now)
		a.Outstanding += count
		oldest = min(oldest, first)
	}
	a.Longest = now - oldest
	return a
}

// oldest returns the number of questions that wait and when the first of them
// was sent, now if there is none.
func (p *peer) oldest(now time.Duration) (count int, sent time.Duration) {
	if p.record.waiting.Load() == 0 {
		return 0, now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions.asked {
		if !q.abandoned {
			now = min(now, q.sent)
		}
	}
	return p.questions.waiting(), now
}

// window remembers the totals of sends at each of the keeper's rounds of the
// last minute, so that counting costs the senders nothing.
type window struct {
	mu   sync.Mutex
	past [failWindow / keepEvery]struct{ sent, failed uint64 }
	next int // the oldest entry
}

// note keeps the totals of this round in place of the oldest.
func (w *window) note(sent, failed uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.past[w.next]
	e.sent, e.failed = sent, failed
	w.next = (w.next + 1) % len(w.past)
}

// rate returns the share of failures in what was added to the totals since the
// oldest round. The first minute's rounds are measured against zero.
func (w *window) rate(sent, failed uint64) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.past[w.next]
	sent, failed = sent-e.sent, failed-e.failed
	if failed == 0 {
		return 0
	}
	return float64(failed) / float64(sent+failed)
}
