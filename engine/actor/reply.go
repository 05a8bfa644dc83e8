package actor

import "context"

// Reply is the answer to one question: it is given once and waited for by one.
type Reply[T any] struct {
	ch chan result[T]
}

type result[T any] struct {
	value T
	err   error
}

// NewReply returns an open reply.
func NewReply[T any]() *Reply[T] { return &Reply[T]{ch: make(chan result[T], 1)} }

// Answer returns the answer. Only the first call counts, so that an actor that
// ends may answer all it holds; it never blocks.
func (r *Reply[T]) Answer(value T, err error) {
	select {
	case r.ch <- result[T]{value, err}:
	default:
	}
}

// Wait returns the answer, or the cause of ctx's end when that comes first. An
// answer that is there is never lost to a context that has ended too.
func (r *Reply[T]) Wait(ctx context.Context) (T, error) {
	select {
	case res := <-r.ch:
		return res.value, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-r.ch:
		return res.value, res.err
	default:
		var zero T
		return zero, context.Cause(ctx)
	}
}

// Ask sends the message that build makes around a fresh reply, and waits for
// the answer. The actor must answer every reply it drains, also while it ends.
func Ask[M, T any](ctx context.Context, m *Mailbox[M], build func(*Reply[T]) M) (T, error) {
	r := NewReply[T]()
	if err := m.Send(ctx, build(r)); err != nil {
		var zero T
		return zero, err
	}
	return r.Wait(ctx)
}
