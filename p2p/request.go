package p2p

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// Errors of questions and answers.
var (
	// ErrNotConnected: there is no link to the node at the moment.
	ErrNotConnected = errors.New("node is not connected")
	// ErrBusy: as much is under way as is allowed; try later or ask another node.
	ErrBusy = errors.New("node is busy")
	// ErrAsked: the node was asked already and has not answered.
	ErrAsked = errors.New("node was asked already")
	// ErrClosed: the request was closed.
	ErrClosed = errors.New("request is closed")
	// ErrRefused comes with an answer: the node refused, Answer.Code says why.
	ErrRefused = errors.New("node refused")
	// ErrDisconnected comes with an answer: the link ended before the node answered.
	ErrDisconnected = errors.New("link to the node ended")
)

const (
	// maxDeadline is the longest deadline that peers heed.
	maxDeadline = 10 * time.Second
	// answerGrace is how much longer than a request's time an answer is waited for.
	answerGrace = time.Second
	// maxPayload leaves room for the fields around the application bytes.
	maxPayload = wire.MaxMessageSize - 256
)

// Answer is what a node answered to a [Request].
type Answer struct {
	From chain.NodeID
	// Bytes are the application bytes of the answer. They hold only during the call.
	Bytes []byte
	// Code is the node's error code if Err is [ErrRefused].
	Code int32
	// Err is nil, [ErrRefused] or [ErrDisconnected].
	Err error
	// RTT is the time from Ask to the answer.
	RTT time.Duration
}

// Request is one question that can be asked of many nodes: the same bytes with
// the same ID for all of them.
type Request struct {
	net     *Network
	id      uint32
	chainID chain.ID
	frame   []byte
	wait    time.Duration // for each answer

	deliver func(Answer)
	gate    gate // open while calls may use frame and deliver

	mu    sync.Mutex // guards asked
	asked []*peer    // whose places Close frees, in the order of asking; a peer asked again may be there twice
}

// Open prepares a question to the VM of a chain; nothing is sent yet. Nodes
// that have not answered within ttl (0 excluded, above 10 s they give up
// earlier) are not waited for: their answers are dropped, without a call.
//
// deliver gets at most one answer for each Ask that returned nil. It is called
// on the peers' goroutines, of several at the same time, and must not block:
// it would hold up all that this peer has to say. The caller must close the request.
//
// It returns [ErrBusy] when too many requests are open.
func (n *Network) Open(chainID chain.ID, payload []byte, ttl time.Duration, deliver func(Answer)) (*Request, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("p2p: request of %v", ttl)
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("p2p: request: %w", wire.ErrTooLarge)
	}
	id, err := n.requests.take()
	if err != nil {
		return nil, err
	}
	m := wire.AppRequest{ChainID: chainID, RequestID: id, Deadline: uint64(min(ttl, maxDeadline)), Bytes: payload}
	r := &Request{
		net:     n,
		id:      id,
		chainID: chainID,
		frame:   n.codec.Framed(m.Append(make([]byte, 0, len(payload)+64))),
		wait:    ttl + answerGrace,
		deliver: deliver,
	}
	if n.cfg.BytesPerSecond > 0 && len(r.frame) > n.cfg.Burst {
		n.requests.release(id)
		return nil, fmt.Errorf("p2p: request of %d bytes is above the burst of %d: %w", len(r.frame), n.cfg.Burst, wire.ErrTooLarge)
	}
	n.ins.requests.Inc()
	return r, nil
}

// Ask queues the question to a node. A node may be asked again after it
// answered. It never blocks and returns nil, [ErrNotConnected] (and has the
// node dialed as soon as politeness allows), [ErrBusy], [ErrAsked] or [ErrClosed].
func (r *Request) Ask(id chain.NodeID) error {
	p := r.net.peer(id)
	if p == nil {
		return ErrNotConnected
	}
	if !r.gate.enter() {
		return ErrClosed
	}
	defer r.gate.leave()
	err := p.ask(r)
	switch {
	case err == nil:
		r.net.ins.asked.Inc()
		r.remember(p)
	case errors.Is(err, ErrBusy):
		r.net.ins.busy.Inc()
	case errors.Is(err, ErrNotConnected):
		p.wake(wakeUrgent)
	}
	return err
}

// remember notes whom Close has to tell that nobody waits any more.
func (r *Request) remember(p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.asked); n == 0 || r.asked[n-1] != p {
		r.asked = append(r.asked, p)
	}
}

// Close ends the request: the places that its questions had in the windows of
// peers are free again. When it returns no deliver call is running and none
// will start. It must not be called from within deliver. Closing twice is fine.
func (r *Request) Close() {
	if !r.gate.shut() {
		return
	}
	// Nobody is inside the gate any more, so asked is complete. Peers' tables may
	// hold the request until its answers are due, but not what it carried.
	for _, p := range r.asked {
		p.abandon(r)
	}
	r.deliver, r.frame, r.asked = nil, nil, nil
	r.net.requests.release(r.id)
}

// answer calls deliver unless the request was closed.
func (r *Request) answer(a Answer) {
	if r.gate.enter() {
		defer r.gate.leave()
		r.deliver(a)
	}
}

// gate lets calls in until it is shut, and shut waits for those inside. Unlike
// a sync.RWMutex it lets a call that is inside enter again.
type gate struct {
	mu     sync.Mutex
	inside int
	empty  chan struct{} // nil while open; closed once shut and empty
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
	}
}

// shut reports whether this call was the one that shut the gate.
func (g *gate) shut() bool {
	g.mu.Lock()
	first := g.empty == nil
	if first {
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	g.mu.Unlock()
	<-g.empty
	return first
}

// requestTable hands out request IDs.
type requestTable struct {
	most  int
	first uint32        // the first ID handed out, odd; fixed by init
	steps atomic.Uint64 // how many IDs were passed since; read without mu, see issued

	mu   sync.Mutex // guards what follows
	next uint32     // handed out next, odd
	live map[uint32]struct{}
}

func (t *requestTable) init(most int) {
	t.most = most
	t.first = rand.Uint32() | 1
	t.next = t.first
	t.live = map[uint32]struct{}{}
}

// take returns an ID that no open request has. IDs are odd, because EVM chains
// drop even ones silently, and rise by 2, so that one comes back only after
// 2^31 requests.
func (t *requestTable) take() (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.live) >= t.most {
		return 0, fmt.Errorf("%w: %d requests are open", ErrBusy, len(t.live))
	}
	for {
		id := t.next
		t.next += 2
		t.steps.Add(1)
		if _, taken := t.live[id]; !taken {
			t.live[id] = struct{}{}
			return id, nil
		}
	}
}

func (t *requestTable) release(id uint32) {
	t.mu.Lock()
	delete(t.live, id)
	t.mu.Unlock()
}

func (t *requestTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.live)
}
