package p2p

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
)

// States of a peer, for lock-free reading.
const (
	stateNever     uint32 = iota // not connected, and nothing went wrong yet
	stateDown                    // the last dial failed or the last link ended
	stateConnected               // TLS is up
	stateReady                   // and the remote's Handshake was received
)

// Reasons to look at a peer before its time.
const (
	wakeAddress uint32 = 1 << iota // an address was learned
	wakeUrgent                     // somebody wants to ask it
)

// peer is one wanted node: its actor, what it was asked, and what is known of it.
type peer struct {
	net    *Network
	id     chain.NodeID
	ctx    context.Context // ends with stop
	cancel context.CancelFunc
	ended  chan struct{} // closed when run has returned

	// Read by anyone, see status.
	state      atomic.Uint32
	hasAddress atomic.Bool
	latency    atomic.Int64 // nanoseconds; written by the reader only
	awaySince  atomic.Int64 // nanoseconds from the network's epoch; -1 while ready
	waiting    atomic.Int32
	missed     atomic.Int32
	named      atomic.Int64 // when the log last named it for a violation, from the network's epoch

	wakes  atomic.Uint32 // reasons since the last dial
	wakeup chan struct{}

	mu     sync.Mutex // guards what follows
	link   *link      // nil while not connected
	asked  map[uint32]question
	peak   int           // most questions since asked was made
	dueMin time.Duration // no question in asked is due before
	budget bucket        // of bytes to send

	gossiped time.Duration // when asked for addresses; owned by the gossip actor

	// Owned by run; read by the successor's run after ended is closed.
	before  *peer // the same node's last peer, whose link may not have ended yet
	backoff backoff
	dials   int
}

// question is one request that waits for this peer's answer. Times count from
// the network's epoch.
type question struct {
	req       *Request
	sent, due time.Duration
}

func newPeer(n *Network, id chain.NodeID, before *peer) *peer {
	p := &peer{
		net:    n,
		id:     id,
		ended:  make(chan struct{}),
		wakeup: make(chan struct{}, 1),
		budget: newBucket(n.cfg.BytesPerSecond, n.cfg.Burst, time.Now()),
		before: before,
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.awaySince.Store(int64(n.now()))
	return p
}

func (p *peer) status() Status {
	state := p.state.Load()
	away := time.Duration(0)
	if since := p.awaySince.Load(); since >= 0 {
		away = max(p.net.now()-time.Duration(since), 0)
	}
	return Status{
		AwayFor:    away,
		Connected:  state >= stateConnected,
		Ready:      state == stateReady,
		Down:       state == stateDown,
		HasAddress: p.hasAddress.Load(),
		Latency:    time.Duration(p.latency.Load()),
		Waiting:    int(p.waiting.Load()),
		Missed:     int(p.missed.Load()),
	}
}

// wake makes run look at the peer, once for each reason until the next dial.
func (p *peer) wake(reason uint32) {
	if p.wakes.Or(reason)&reason != 0 {
		return
	}
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// learned notes that the book has a new address of the node.
func (p *peer) learned() {
	p.hasAddress.Store(true)
	p.wake(wakeAddress)
}

// stop ends run and the link, without waiting for it.
func (p *peer) stop() {
	p.cancel()
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	if l != nil {
		l.fail(ErrStopped)
	}
}

// ask puts a question into the table and its frame into the link's mailbox.
func (p *peer) ask(r *Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		return ErrNotConnected
	}
	if _, waits := p.asked[r.id]; waits {
		return ErrAsked
	}
	now := time.Now()
	if len(p.asked) >= p.net.cfg.Window || !p.budget.take(len(r.frame), now) {
		return ErrBusy
	}
	if p.link.out.TrySend(r.frame) != nil {
		return ErrBusy // the link's writer is stalled
	}
	if p.asked == nil {
		p.asked = make(map[uint32]question)
	}
	q := question{req: r, sent: now.Sub(p.net.epoch)}
	q.due = q.sent + r.wait
	if len(p.asked) == 0 || q.due < p.dueMin {
		p.dueMin = q.due
	}
	p.asked[r.id] = q
	p.peak = max(p.peak, len(p.asked))
	p.waiting.Store(int32(len(p.asked)))
	return nil
}

// answered matches an answer with its question and hands it on. a has Bytes,
// Code and Err set.
func (p *peer) answered(id uint32, chainID chain.ID, a Answer) {
	p.mu.Lock()
	q, ok := p.asked[id]
	ok = ok && q.req.chainID == chainID
	if ok {
		delete(p.asked, id)
		p.waiting.Store(int32(len(p.asked)))
	}
	p.mu.Unlock()
	if !ok {
		p.net.ins.unexpected.Inc()
		if !p.net.requests.given(id) {
			p.violated(unknownID, id)
		}
		return
	}
	p.net.ins.answers.Inc()
	a.From, a.RTT = p.id, p.net.now()-q.sent
	p.missed.Store(0)
	// Moving average with weight 1/8 for the newest.
	average := time.Duration(p.latency.Load())
	if average == 0 {
		average = a.RTT
	}
	p.latency.Store(max(1, int64(average+(a.RTT-average)/8)))
	q.req.answer(a)
}

// keep drops questions that are due, and looks after the link.
func (p *peer) keep(now time.Duration) {
	p.mu.Lock()
	p.expire(now)
	l := p.link
	p.mu.Unlock()
	if l != nil {
		l.keep(now)
	}
}

// tableKept is how large a table of questions may stay while it is empty.
const tableKept = 64

// expire needs mu.
func (p *peer) expire(now time.Duration) {
	if len(p.asked) == 0 {
		if p.peak > tableKept {
			p.asked, p.peak = nil, 0 // maps never shrink
		}
		return
	}
	if now < p.dueMin {
		return
	}
	had := len(p.asked)
	p.dueMin = 1<<63 - 1
	for id, q := range p.asked {
		if q.due <= now {
			delete(p.asked, id)
		} else {
			p.dueMin = min(p.dueMin, q.due)
		}
	}
	gone := had - len(p.asked)
	p.net.ins.expired.Add(gone)
	p.missed.Add(int32(gone))
	p.waiting.Store(int32(len(p.asked)))
}

// attach makes l the link that questions go to, unless the peer was stopped.
func (p *peer) attach(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.link = l
	p.state.Store(stateConnected)
	return true
}

// detach ends the link's use and answers what waits for it.
func (p *peer) detach() {
	p.mu.Lock()
	lost := p.asked
	p.link, p.asked, p.peak = nil, nil, 0
	p.waiting.Store(0)
	p.state.Store(stateDown)
	p.mu.Unlock()
	now := p.net.now()
	p.awaySince.CompareAndSwap(-1, int64(now))
	for _, q := range lost {
		q.req.answer(Answer{From: p.id, Err: ErrDisconnected, RTT: now - q.sent})
	}
}
