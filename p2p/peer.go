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
	stateResting                 // it was, and there is no link until somebody asks, see rest
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
	awaySince  atomic.Int64 // nanoseconds from the network's epoch; -1 while ready
	turnedAway atomic.Int32 // links in a row that the remote closed right after TLS
	refused    atomic.Int32 // those that it closed soon, and before it took our Handshake
	polls      atomic.Bool  // the node takes us for a validator, see rest
	record     record
	greeting   atomic.Pointer[Greeting] // of the link; nil while not ready

	// Owned by the reader of the link, one at a time, and by run between them.
	tolerance bucket // of units, see violation
	named     int64  // when the log last named it for a violation, from the network's epoch; 0 never

	wakes  atomic.Uint32 // reasons since the last dial
	wakeup chan struct{}

	mu        sync.Mutex // guards what follows
	link      *link      // nil while not connected
	questions questions
	budget    bucket // of bytes to send

	gossiped time.Duration // when asked for addresses; owned by the gossip actor

	// Owned by run; read by the successor's run after ended is closed.
	before  *peer // the same node's last peer, whose link may not have ended yet
	backoff backoff
	dials   int
	proven  bool // was ready once
}

func newPeer(n *Network, id chain.NodeID, before *peer) *peer {
	p := &peer{
		net:    n,
		id:     id,
		ended:  make(chan struct{}),
		wakeup: make(chan struct{}, 1),
		budget: newBucket(n.cfg.BytesPerSecond, n.cfg.Burst, time.Now()),
		before: before,

		tolerance: newBucket(toleranceRate, toleranceBurst, time.Now()),
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
		AwayFor:      away,
		Connected:    state >= stateConnected,
		Ready:        state >= stateReady,
		OnRequest:    p.polls.Load(),
		Down:         state == stateDown,
		HasAddress:   p.hasAddress.Load(),
		TurnedAway:   p.turnedAway.Load() >= turnedAwayOften,
		LinksRefused: p.refused.Load() >= turnedAwayOften,
		Latency:      time.Duration(p.record.latency.Load()),
		Waiting:      int(p.record.waiting.Load()),
		Missed:       int(p.record.missed.Load()),
	}
}

// wake makes run look at the peer, once for each reason until the next dial.
func (p *peer) wake(reason uint32) {
	if p.wakes.Or(reason)&reason == 0 {
		p.look()
	}
}

// look makes run look at the peer.
func (p *peer) look() {
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

// keep drops questions that are due, and looks after the link.
func (p *peer) keep(now time.Duration) {
	p.mu.Lock()
	p.questions.expire(now, &p.record, p.net.ins)
	p.rest()
	l := p.link
	p.mu.Unlock()
	if l != nil {
		l.keep(now)
	}
}

// attach makes l the link that questions go to, unless the peer was stopped.
func (p *peer) attach(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.link = l
	p.sendWaiting(l)
	if p.state.Load() != stateResting {
		p.state.Store(stateConnected)
	}
	return true
}

// lose notes that there is no link, and answers what waits for one.
func (p *peer) lose() {
	p.mu.Lock()
	lost := p.questions.clear()
	p.link = nil
	p.greeting.Store(nil)
	p.record.waiting.Store(0)
	p.state.Store(stateDown)
	p.mu.Unlock()
	now := p.net.now()
	p.awaySince.CompareAndSwap(-1, int64(now))
	for _, q := range lost {
		if !q.abandoned {
			q.req.answer(Answer{From: p.id, Err: ErrDisconnected, RTT: now - q.sent})
		}
	}
}
