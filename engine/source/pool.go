package source

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// freeAnswer is the length, in bytes, up to which an answer never waits for room:
	// heads, heights and signatures are not held up by blocks and traces.
	freeAnswer = 64 << 10
	// poolPatience is how long an answer waits when no other one ends before one of
	// them is cut off.
	poolPatience = 500 * time.Millisecond
)

// errCutOff is the end of an answer for which there is no room. As with one that is too
// long for itself, less is to be asked for at once.
var errCutOff = fmt.Errorf("%w: the answers of all nodes together leave no room for it", ErrTooLong)

// Pool bounds the bytes of answers that clients hold at one time, from the first byte
// read until the answer was decoded or passed on. An answer that finds no room waits,
// unread, which slows its node down. Room goes first to the node that holds least, and
// of one node's answers to the smallest. When none ends, the one that got the least far
// is cut off, so that no node keeps the others waiting.
//
// The first 64 KiB of each answer do not count: they are bounded by the number of
// connections.
type Pool struct {
	total    int64
	patience time.Duration

	mu      sync.Mutex // guards what follows, and all of hold but its first fields
	used    int64
	most    int64 // that used ever was
	cut     uint64
	freed   time.Time        // when room was given back last
	of      map[string]int64 // of it by node
	held    map[*hold]struct{}
	waiting []*hold // in the order in which they came
}

// NewPool returns a pool of so many bytes.
func NewPool(total int64) *Pool {
	return &Pool{total: total, patience: poolPatience, of: make(map[string]int64), held: make(map[*hold]struct{})}
}

// Held returns the bytes of answers that are held now, and how many were cut off.
func (p *Pool) Held() (bytes int64, cut uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used, p.cut
}

// limit returns how long an answer may be that must not be longer than limit.
func (p *Pool) limit(limit int) int {
	if p == nil {
		return limit
	}
	return int(min(int64(limit), p.total))
}

// begin takes up an answer of a node; stop ends the reading of it, from any goroutine
// and also when it has ended. [hold.end] must follow.
func (p *Pool) begin(node string, stop func()) *hold {
	if p == nil {
		return nil
	}
	h := &hold{pool: p, node: node, stop: stop}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[h] = struct{}{}
	return h
}

// hold is the room that one answer has. A nil one has all that it wants.
type hold struct {
	pool *Pool
	node string
	stop func()

	bytes   int64
	since   time.Time  // when it got room last
	want    int64      // more, while it waits
	granted chan error // set while it waits
	read    bool       // whole: it is not cut off any more
	lost    bool       // cut off
}

// grow waits for room for n more bytes, until ctx or the time for the answer ends.
func (h *hold) grow(ctx context.Context, n int, deadline time.Time) error {
	if h == nil {
		return nil
	}
	granted, err := h.ask(int64(n))
	if granted == nil {
		return err
	}
	press := time.NewTicker(h.pool.patience)
	defer press.Stop()
	end := time.NewTimer(time.Until(deadline))
	defer end.Stop()
	for {
		select {
		case err := <-granted:
			return err
		case <-press.C:
			h.pool.press()
		case <-end.C:
			return h.leave(ErrTimeout)
		case <-ctx.Done():
			return h.leave(context.Cause(ctx))
		}
	}
}

// ask takes n bytes at once, or returns where it is heard when they are there.
func (h *hold) ask(n int64) (granted chan error, err error) {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case h.lost:
		return nil, errCutOff
	case h.bytes+n <= freeAnswer, len(p.waiting) == 0 && p.fits(h, n):
		p.give(h, n)
		return nil, nil
	}
	h.want, h.granted = n, make(chan error, 1)
	p.waiting = append(p.waiting, h)
	return h.granted, nil
}

// leave ends a wait, unless that has ended meanwhile.
func (h *hold) leave(why error) error {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case err := <-h.granted:
		return err
	default:
	}
	p.answer(h, why)
	p.serve()
	return <-h.granted
}

// whole says that an answer was read to its end. What its buffer has beyond it is not
// given back: it is held.
func (h *hold) whole() {
	if h == nil {
		return
	}
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	h.read = true
}

// objectBytes is what an object of an answer takes when it is decoded, about: three bytes
// of an answer, {} and a comma, may become a struct with many fields.
const objectBytes = 256

// unpack makes room for what an answer becomes when it is decoded. It does not wait: room
// for what was read is there already, and what is many times as long is no honest answer.
func (h *hold) unpack(answer []byte) error {
	if h == nil {
		return nil
	}
	n := int64(bytes.Count(answer, []byte("{"))) * objectBytes
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > int64(len(answer)) && h.bytes+n > freeAnswer && !p.fits(h, n) {
		return errCutOff
	}
	p.give(h, n)
	return nil
}

// wasLost reports whether the answer was cut off.
func (h *hold) wasLost() bool {
	if h == nil {
		return false
	}
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	return h.lost
}

// end returns the room of an answer. It may be called again.
func (h *hold) end() {
	if h == nil {
		return
	}
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, h)
	p.give(h, -h.bytes)
	if p.of[h.node] == 0 {
		delete(p.of, h.node)
	}
	p.serve()
}

// counted returns how much of so many bytes counts.
func counted(bytes int64) int64 { return max(0, bytes-freeAnswer) }

func (p *Pool) fits(h *hold, n int64) bool {
	return p.used+counted(h.bytes+n)-counted(h.bytes) <= p.total
}

func (p *Pool) give(h *hold, n int64) {
	more := counted(h.bytes+n) - counted(h.bytes)
	h.bytes += n
	p.of[h.node] += more
	p.used += more
	p.most = max(p.most, p.used)
	h.since = time.Now()
	if more < 0 {
		p.freed = h.since
	}
}

// answer ends the wait of h.
func (p *Pool) answer(h *hold, err error) {
	for i, w := range p.waiting {
		if w == h {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			break
		}
	}
	h.want = 0
	h.granted <- err // has room for it
}

// serve hands out the room that is free. What would not fit is waited for, so that large
// answers have their turn too.
func (p *Pool) serve() {
	for len(p.waiting) > 0 {
		next := p.waiting[0]
		for _, h := range p.waiting[1:] {
			if a, b := p.of[h.node], p.of[next.node]; a < b || a == b && h.bytes < next.bytes {
				next = h
			}
		}
		if !p.fits(next, next.want) {
			return
		}
		p.give(next, next.want)
		p.answer(next, nil)
	}
}

// press has an answer cut off if none has ended for a while.
func (p *Pool) press() {
	if h := p.choose(time.Now()); h != nil {
		h.stop() // not under mu: closing a connection with TLS may take a moment
	}
}

// choose returns the answer to cut off: the one whose node has sent nothing that needs
// room for longest. If all wait for room themselves, the largest of the node that holds
// most gives way. Answers that are complete are let go of soon.
func (p *Pool) choose(now time.Time) *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.freed) < p.patience {
		return nil
	}
	var slow, large *hold
	for h := range p.held {
		switch {
		case h.lost: // one at a time
			return nil
		case h.read || h.bytes <= freeAnswer:
		case h.want == 0:
			if slow == nil || h.since.Before(slow.since) {
				slow = h
			}
		case large == nil, p.of[h.node] > p.of[large.node], h.node == large.node && h.bytes > large.bytes:
			large = h
		}
	}
	switch {
	case slow != nil && now.Sub(slow.since) < p.patience:
		return nil // more comes
	case slow != nil:
		slow.lost = true
		p.cut++
		return slow
	case large != nil:
		large.lost = true
		p.cut++
		p.answer(large, errCutOff)
	}
	return nil
}
