package evm

import (
	"sync"
	"time"
)

// pace finds how many blocks to ask for at once: some more after each answer that
// came quickly and is small, fewer after one that did not, half after a failure.
type pace struct {
	limit   int // of blocks
	bytes   int // of an answer, where more is no longer better
	latency time.Duration

	mu   sync.Mutex
	size float64
}

const (
	paceStart = 8
	// paceStep is added after a good answer, paceBack is what is kept after one that
	// took too much: so the size swings within some tenths of the best.
	paceStep = 2
	paceBack = 0.75
)

func newPace(limit, bytes int, latency time.Duration) *pace {
	return &pace{limit: limit, bytes: bytes, latency: latency, size: float64(min(limit, paceStart))}
}

// next is the number of blocks to ask for now.
func (p *pace) next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.size)
}

// answered takes note of an answer about n blocks.
func (p *pace) answered(n, bytes int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case bytes > p.bytes || took > p.latency:
		p.size = max(1, min(p.size, float64(n)*paceBack))
	case n >= int(p.size): // a smaller one says nothing about more
		p.size = min(float64(p.limit), p.size+paceStep)
	}
}

// failed takes note that a request for n blocks was too much.
func (p *pace) failed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = max(1, min(p.size, float64(n)/2))
}
