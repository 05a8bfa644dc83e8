package p2p

import (
	"time"

	"quorate/engine/chain"
)

const (
	// tableKept is how large a table of questions may stay while it is empty.
	tableKept = 64
	// maxAbandoned bounds the questions of closed requests that are remembered
	// until they are due. They take no place in the window: their answers only
	// tell how fast the peer is, and that it is not silent.
	maxAbandoned = 256
	// maxOwed bounds the answers that a peer owes us and that are not matched any
	// more. They are free of charge: we asked for them.
	maxOwed = 2048
	// maxUnread is how many questions may follow the last one that the peer is
	// known to have read. A validator stops reading at 1024 unprocessed messages.
	// The window alone does not bound them: a closed request leaves its question
	// on its way.
	maxUnread = 1000
	// probeEvery is how many questions go by until a Ping asks whether they were
	// read. Peers read in order, so that its Pong vouches for all before it.
	probeEvery = 128
)

// question is one request that was put to a peer. Times count from the
// network's epoch.
type question struct {
	req       *Request
	sent, due time.Duration
	number    uint64 // see unread
	abandoned bool   // the request was closed: nobody waits for the answer
}

// questions is what one peer was asked and has not answered. The peer's mu guards it.
type questions struct {
	asked     map[uint32]question
	abandoned int           // of those in asked
	owed      int           // questions that left asked without an answer
	peak      int           // most questions since asked was made
	dueMin    time.Duration // no question in asked is due before
	unread    unread
}

// waiting returns the number of questions that somebody waits for.
func (t *questions) waiting() int { return len(t.asked) - t.abandoned }

// add takes a question that was sent.
func (t *questions) add(r *Request, sent time.Duration) {
	if t.asked == nil {
		t.asked = make(map[uint32]question)
	}
	t.unread.sent++
	q := question{req: r, sent: sent, due: sent + r.wait, number: t.unread.sent}
	if len(t.asked) == 0 || q.due < t.dueMin {
		t.dueMin = q.due
	}
	t.asked[r.id] = q
	t.peak = max(t.peak, len(t.asked))
}

// take removes the question that an answer belongs to.
func (t *questions) take(id uint32, chainID chain.ID) (question, bool) {
	q, ok := t.asked[id]
	if !ok || q.req.chainID != chainID {
		return q, false
	}
	t.remove(id, q)
	t.unread.upTo(q.number)
	return q, true
}

// late takes an answer to a question that is not in the table any more, and
// reports whether the peer owed it.
func (t *questions) late() bool {
	if t.owed == 0 {
		return false
	}
	t.owed--
	return true
}

// owe notes a question that leaves the table without an answer.
func (t *questions) owe() { t.owed = min(t.owed+1, maxOwed) }

func (t *questions) remove(id uint32, q question) {
	delete(t.asked, id)
	if q.abandoned {
		t.abandoned--
	}
}

// abandon frees the place of a closed request's question.
func (t *questions) abandon(r *Request) {
	q, ok := t.asked[r.id]
	switch {
	case !ok || q.req != r || q.abandoned:
	case t.abandoned < maxAbandoned:
		q.abandoned = true
		t.asked[r.id] = q
		t.abandoned++
	default:
		delete(t.asked, r.id)
		t.owe()
	}
}

// expire drops the questions that are due.
func (t *questions) expire(now time.Duration, rec *record, ins *instruments) {
	if len(t.asked) == 0 {
		if t.peak > tableKept {
			t.asked, t.peak = nil, 0 // maps never shrink
		}
		return
	}
	if now < t.dueMin {
		return
	}
	gone := 0
	t.dueMin = 1<<63 - 1
	for id, q := range t.asked {
		if q.due <= now {
			t.remove(id, q)
			t.owe()
			gone++
		} else {
			t.dueMin = min(t.dueMin, q.due)
		}
	}
	ins.expired.Add(float64(gone))
	rec.missedSome(gone)
	rec.waiting.Store(int32(t.waiting()))
}

// clear empties the table and returns what was in it.
func (t *questions) clear() map[uint32]question {
	lost := t.asked
	t.asked, t.abandoned, t.owed, t.peak = nil, 0, 0, 0
	return lost
}

// unread counts the questions that a peer may not have read yet. Numbers count
// the questions sent on any link of the peer.
type unread struct {
	sent uint64 // the last question's number
	read uint64 // the last one that was read, as far as known
	ping uint64 // the last one before the last Ping
}

func (u *unread) full() bool { return u.sent-u.read >= maxUnread }

// probe reports whether it is time for a Ping.
func (u *unread) probe() bool { return u.sent-max(u.read, u.ping) >= probeEvery }

func (u *unread) upTo(number uint64) { u.read = max(u.read, number) }

// restart forgets what was sent on a link that has ended, all but the last waiting ones: they
// are sent on the next.
func (u *unread) restart(waiting int) {
	u.read = u.sent - uint64(waiting)
	u.ping = u.read
}

// ask puts a question into the table and its frame into the link's mailbox.
func (p *peer) ask(r *Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, t := p.link, &p.questions
	if l == nil && p.state.Load() != stateResting {
		return ErrNotConnected
	}
	if q, waits := t.asked[r.id]; waits {
		if q.req == r {
			return ErrAsked
		}
		t.remove(r.id, q) // IDs went round while the peer said nothing
	}
	now := time.Now()
	if t.waiting() >= p.net.cfg.Window || t.unread.full() || !p.budget.take(len(r.frame), now) {
		return ErrBusy
	}
	if l != nil && (l.out.Len() >= p.net.cfg.Window+controlRoom/2 || l.out.TrySend(r.frame) != nil) {
		return ErrBusy // the link's writer is stalled; the rest of the room is for pongs
	}
	t.add(r, now.Sub(p.net.epoch))
	p.record.asked.Add(1)
	p.record.waiting.Store(int32(t.waiting()))
	switch {
	case l == nil:
		p.wakes.Or(wakeUrgent)
		p.look() // it may have been told already, and have waited for nobody since
	case t.unread.probe():
		l.ping(t)
	}
	return nil
}

// abandon frees the place of a closed request's question.
func (p *peer) abandon(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions.abandon(r)
	p.record.waiting.Store(int32(p.questions.waiting()))
	p.rest()
}

// answered matches an answer with its question and hands it on. a has Bytes,
// Code and Err set. It reports whether we asked for it, however long ago.
func (p *peer) answered(id uint32, chainID chain.ID, a Answer) bool {
	p.mu.Lock()
	q, ok := p.questions.take(id, chainID)
	late := !ok && p.net.requests.issued(id) && p.questions.late()
	p.record.waiting.Store(int32(p.questions.waiting()))
	p.rest()
	p.mu.Unlock()
	if !ok {
		p.net.ins.unexpected.Inc()
		return late
	}
	p.net.ins.answers.Inc()
	a.From, a.RTT = p.id, p.net.now()-q.sent
	p.record.answered(a)
	if !q.abandoned {
		q.req.answer(a)
	}
	return true
}
