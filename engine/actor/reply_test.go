package actor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestReply(t *testing.T) {
	t.Parallel()
	r := NewReply[int]()
	fault := errors.New("fault")
	r.Answer(1, fault)
	r.Answer(2, nil) // does not block, does not count
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // an answer that is there wins, whatever select picks
		again := NewReply[int]()
		again.Answer(7, nil)
		if v, err := again.Wait(ended); v != 7 || err != nil {
			t.Fatalf("got %d, %v", v, err)
		}
	}
	if v, err := r.Wait(t.Context()); v != 1 || !errors.Is(err, fault) {
		t.Errorf("got %d, %v; want the first answer", v, err)
	}
	if _, err := NewReply[int]().Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type question struct {
			n     int
			reply *Reply[int]
		}
		m := NewMailbox[question](4, Block)
		ask := func(ctx context.Context, n int) (int, error) {
			return Ask(ctx, m, func(r *Reply[int]) question { return question{n, r} })
		}
		go func() { // one batch, then the end
			<-m.Ready()
			for _, q := range m.Drain(nil) {
				q.reply.Answer(q.n*q.n, nil)
			}
			<-m.Ready()
			for _, q := range m.Close() {
				q.reply.Answer(0, ErrClosed)
			}
		}()
		if v, err := ask(t.Context(), 7); v != 49 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
		if _, err := ask(t.Context(), 8); !errors.Is(err, ErrClosed) {
			t.Errorf("asked an actor that ends: %v", err)
		}
		if _, err := ask(t.Context(), 9); !errors.Is(err, ErrClosed) {
			t.Errorf("asked an actor that has ended: %v", err)
		}
	})
}

func TestAskGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMailbox[*Reply[int]](1, Block)
		cause := errors.New("no patience")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		for range 2 { // one waits for its answer, one for room
			go func() {
				_, err := Ask(ctx, m, func(r *Reply[int]) *Reply[int] { return r })
				errs <- err
			}()
		}
		synctest.Wait()
		cancel(cause)
		for range 2 {
			if err := <-errs; !errors.Is(err, cause) {
				t.Errorf("got %v, want the cause", err)
			}
		}
		if n := m.Len(); n != 1 {
			t.Errorf("%d messages queued, want 1", n)
		}
	})
}
