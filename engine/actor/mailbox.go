// Package actor holds the parts every goroutine of the system is built from:
// bounded mailboxes that are drained in batches, replies that are always
// answered, and a supervisor that owns, restarts and ends goroutines.
//
// The pattern: an actor is one goroutine that owns its state. It waits on
// [Mailbox.Ready], takes everything queued with [Mailbox.Drain], and works on
// the batch. When it ends it calls [Mailbox.Close] and fails what was left.
package actor

import (
	"context"
	"errors"
	"sync"
)

var (
	// ErrFull is returned when a mailbox that sheds has no room.
	ErrFull = errors.New("mailbox is full")
	// ErrClosed is returned when the actor behind a mailbox or a reply has ended.
	ErrClosed = errors.New("actor has stopped")
)

// Policy says what happens to a message sent to a full mailbox.
type Policy uint8

const (
	// Block makes the sender wait until there is room or its context ends.
	Block Policy = iota
	// Shed refuses the message with [ErrFull].
	Shed
	// Coalesce replaces the newest queued message: for state where only the last value counts.
	Coalesce
)

// Mailbox is a bounded queue with many senders and one receiver. The receiver
// takes all queued messages at once, so the cost per message is a short lock.
type Mailbox[T any] struct {
	capacity int
	policy   Policy
	ready    chan struct{}

	mu     sync.Mutex // guards what follows
	queue  []T
	space  chan struct{} // closed and replaced when room appears; nil while there are no waiters
	closed bool
	shed   uint64
}

// NewMailbox returns an empty mailbox for at most capacity (at least 1) messages.
func NewMailbox[T any](capacity int, policy Policy) *Mailbox[T] {
	if capacity < 1 {
		panic("actor: mailbox capacity below 1")
	}
	return &Mailbox[T]{capacity: capacity, policy: policy, ready: make(chan struct{}, 1)}
}

// Send queues v. On a full mailbox it follows the policy; ctx bounds the wait of [Block].
func (m *Mailbox[T]) Send(ctx context.Context, v T) error {
	for {
		m.mu.Lock()
		err := m.put(v)
		if !errors.Is(err, ErrFull) || m.policy != Block {
			m.mu.Unlock()
			return err
		}
		if m.space == nil {
			m.space = make(chan struct{})
		}
		space := m.space
		m.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TrySend queues v or returns at once: [ErrFull] on a full mailbox that does not coalesce.
func (m *Mailbox[T]) TrySend(v T) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.put(v)
	if errors.Is(err, ErrFull) && m.policy == Block {
		m.shed++
	}
	return err
}

// put needs mu.
func (m *Mailbox[T]) put(v T) error {
	switch {
	case m.closed:
		return ErrClosed
	case len(m.queue) < m.capacity:
		m.queue = append(m.queue, v)
	case m.policy == Coalesce:
		m.queue[len(m.queue)-1] = v
		m.shed++
	default:
		if m.policy == Shed {
			m.shed++
		}
		return ErrFull
	}
	select {
	case m.ready <- struct{}{}:
	default:
	}
	return nil
}

// Ready delivers a value when messages may be queued. It can be spurious.
func (m *Mailbox[T]) Ready() <-chan struct{} { return m.ready }

// Drain takes everything queued. It hands the room of reuse (whose content it
// clears) to the mailbox, so that a receiver that passes its last batch back
// allocates nothing.
func (m *Mailbox[T]) Drain(reuse []T) []T {
	clear(reuse)
	m.mu.Lock()
	batch := m.queue
	m.queue = reuse[:0]
	m.wake()
	m.mu.Unlock()
	return batch
}

// Close refuses further messages and returns what was still queued, so that
// the actor can answer those who wait for it. Only the first call returns any.
func (m *Mailbox[T]) Close() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	left := m.queue
	m.queue = nil
	m.wake()
	return left
}

// wake needs mu. It lets every blocked sender look again.
func (m *Mailbox[T]) wake() {
	if m.space != nil {
		close(m.space)
		m.space = nil
	}
}

// Len returns the number of queued messages, a gauge.
func (m *Mailbox[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}

// Shed returns the number of messages refused or replaced since the start, a counter.
func (m *Mailbox[T]) Shed() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shed
}
