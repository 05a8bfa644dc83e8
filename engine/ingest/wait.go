package ingest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// signal wakes all who wait for it.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// next returns a channel that the next fire closes.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// pause waits for a time or until wake is closed; it reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// pauseFor waits for a time or until there is a hint of a block; wake was the next of
// grew before the block was asked for. It reports whether ctx goes on.
func (i *Ingest[B]) pauseFor(ctx context.Context, d time.Duration, height uint64, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return ctx.Err() == nil
		case <-wake:
			wake = i.grew.next()
			if i.heard.Load() >= height {
				return ctx.Err() == nil
			}
		case <-ctx.Done():
			return false
		}
	}
}

// poke leaves one value in ch, which has room for one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// backoff returns the time to wait after failures in a row: short when the block
// will be there in a moment, longer the less likely it is that waiting helps.
func backoff(err error, failures int) time.Duration {
	first, most := 200*time.Millisecond, 15*time.Second
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrBehind):
		first, most = 50*time.Millisecond, 2*time.Second
	case unreadable(err) != nil:
		first, most = unreadableFirst, unreadableMost
	case errors.Is(err, ErrUnable): // known without asking a node each time
		most = 2 * time.Second
	}
	d := min(first<<min(failures, 10), most)
	return d - d/5 + rand.N(d/5) // so that chains do not come in step
}

// tokens bound what is done at one time.
type tokens chan struct{}

// with calls f with a token; the error is f's or the cause of ctx's end.
func (t tokens) with(ctx context.Context, f func() error) error {
	select {
	case t <- struct{}{}:
		defer func() { <-t }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// window counts the bytes of blocks that are in flight, and knows their mean size.
type window struct {
	limit int
	freed chan struct{}
	held  *atomic.Int64 // used, for all to see

	mu   sync.Mutex
	used int
	mean int // bytes of a block; zero: none was seen
}

// firstMean is the size of a block as long as none has been seen.
const firstMean = 64 << 10

// size returns what a block is thought to take.
func (w *window) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mean == 0 {
		return firstMean
	}
	return w.mean
}

// take waits for room; an empty window takes anything.
func (w *window) take(ctx context.Context, n int) bool {
	for {
		w.mu.Lock()
		ok := w.used == 0 || w.used+n <= w.limit
		if ok {
			w.used += n
			w.held.Store(int64(w.used))
		}
		w.mu.Unlock()
		if ok {
			return ctx.Err() == nil
		}
		select {
		case <-w.freed:
		case <-ctx.Done():
			return false
		}
	}
}

// give returns n bytes to the window; a negative n takes more than there was room for.
func (w *window) give(n int) {
	w.mu.Lock()
	w.used -= n
	w.held.Store(int64(w.used))
	w.mu.Unlock()
	poke(w.freed)
}

// seen records the size of a block.
func (w *window) seen(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mean == 0 {
		w.mean = size
	}
	w.mean += (size - w.mean) / 16
	w.mean = max(w.mean, 1)
}
