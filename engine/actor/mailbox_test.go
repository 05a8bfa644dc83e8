package actor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func mustSend(t *testing.T, m *Mailbox[int], values ...int) {
	t.Helper()
	for _, v := range values {
		if err := m.Send(t.Context(), v); err != nil {
			t.Fatalf("send %d: %v", v, err)
		}
	}
}

func mustHold(t *testing.T, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func isReady[T any](m *Mailbox[T]) bool {
	select {
	case <-m.Ready():
		return true
	default:
		return false
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy Policy
		try    error
		holds  []int
		shed   uint64
	}{
		{Block, ErrFull, []int{1, 2}, 1},
		{Shed, ErrFull, []int{1, 2}, 1},
		{Coalesce, nil, []int{1, 3}, 1},
	} {
		m := NewMailbox[int](2, c.policy)
		mustSend(t, m, 1, 2)
		if err := m.TrySend(3); !errors.Is(err, c.try) {
			t.Errorf("policy %d: third message: got %v, want %v", c.policy, err, c.try)
		}
		if m.Len() != 2 || m.Shed() != c.shed {
			t.Errorf("policy %d: holds %d, shed %d", c.policy, m.Len(), m.Shed())
		}
		mustHold(t, m.Drain(nil), c.holds...)
		if m.Len() != 0 {
			t.Errorf("policy %d: %d left after a drain", c.policy, m.Len())
		}
		mustSend(t, m, 4)
		mustHold(t, m.Drain(nil), 4)
	}
	m := NewMailbox[int](1, Shed)
	mustSend(t, m, 1)
	if err := m.Send(t.Context(), 2); !errors.Is(err, ErrFull) || m.Shed() != 1 {
		t.Errorf("send to a full mailbox that sheds: %v, shed %d", err, m.Shed())
	}
}

func TestCapacityBelowOne(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("capacity 0 accepted")
		}
	}()
	NewMailbox[int](0, Block)
}

func TestReady(t *testing.T) {
	t.Parallel()
	m := NewMailbox[int](10, Block)
	if isReady(m) {
		t.Fatal("ready while empty")
	}
	mustSend(t, m, 1, 2, 3)
	if !isReady(m) || isReady(m) {
		t.Fatal("want one signal for all that is queued")
	}
	mustHold(t, m.Drain(nil), 1, 2, 3)
	mustSend(t, m, 4)
	if !isReady(m) {
		t.Fatal("no signal after a drain")
	}
}

// A receiver that hands its last batch back causes no allocation, and does not
// hold on to what it has worked on.
func TestDrainReuses(t *testing.T) {
	m := NewMailbox[*int](4, Block)
	v := new(int)
	batch := make([]*int, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		_ = m.TrySend(v)
		_ = m.TrySend(v)
		old := batch
		batch = m.Drain(batch)
		if len(batch) > 2 || len(old) > 0 && old[0] != nil {
			t.Fatalf("drained %d, handed back %v", len(batch), old)
		}
	}); n != 0 {
		t.Errorf("%v allocations per batch, want 0", n)
	}
}

func TestBlockedSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMailbox[int](1, Block)
		mustSend(t, m, 1)
		errs := make(chan error, 1)
		go func() { errs <- m.Send(t.Context(), 2) }()
		synctest.Wait()
		select {
		case err := <-errs:
			t.Fatalf("sent to a full mailbox: %v", err)
		default:
		}
		mustHold(t, m.Drain(nil), 1)
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		mustHold(t, m.Drain(nil), 2)
	})
}

func TestBlockedSenderGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMailbox[int](1, Block)
		mustSend(t, m, 1)
		cause := errors.New("no patience")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- m.Send(ctx, 2) }()
		synctest.Wait()
		cancel(cause)
		if err := <-errs; !errors.Is(err, cause) {
			t.Fatalf("got %v, want the cause", err)
		}
		mustHold(t, m.Close(), 1)
	})
}

func TestCloseWhileBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMailbox[int](2, Block)
		mustSend(t, m, 1, 2)
		errs := make(chan error, 5)
		for range cap(errs) {
			go func() { errs <- m.Send(context.Background(), 9) }()
		}
		synctest.Wait()
		mustHold(t, m.Close(), 1, 2)
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		}
		if err := m.TrySend(3); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		mustHold(t, m.Close())
		mustHold(t, m.Drain(nil))
	})
}

// Every message sent without an error is drained once, or returned by Close,
// in the order of its sender.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 2000
	for _, policy := range []Policy{Block, Shed} {
		m := NewMailbox[[2]int](7, policy)
		var sent [senders]int // by sender: how many got in
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for range each {
					switch err := m.Send(context.Background(), [2]int{s, sent[s]}); {
					case err == nil:
						sent[s]++
					case errors.Is(err, ErrClosed):
						return
					case !errors.Is(err, ErrFull):
						t.Error(err)
					}
				}
			})
		}
		var seen [senders]int
		check := func(batch [][2]int) {
			for _, v := range batch {
				if v[1] != seen[v[0]] {
					t.Errorf("sender %d: got its message %d, want %d", v[0], v[1], seen[v[0]])
				}
				seen[v[0]]++
			}
		}
		var batch [][2]int
		for total := 0; total < 3000; total += len(batch) {
			if policy == Shed && total > 0 && m.Len() == 0 {
				break // the senders may have shed all they had left
			}
			<-m.Ready()
			batch = m.Drain(batch)
			if len(batch) > 7 {
				t.Fatalf("drained %d from a mailbox for 7", len(batch))
			}
			check(batch)
		}
		check(m.Close())
		wg.Wait()
		if seen != sent {
			t.Errorf("policy %d: sent %v, seen %v", policy, sent, seen)
		}
	}
}

// A coalescing mailbox may drop what is old, never what is last.
func TestCoalesceKeepsLast(t *testing.T) {
	t.Parallel()
	m := NewMailbox[int](1, Coalesce)
	const last = 10_000
	go func() {
		for v := range last + 1 {
			if err := m.TrySend(v); err != nil {
				t.Error(err)
			}
		}
	}()
	got := -1
	for got < last {
		<-m.Ready()
		for _, v := range m.Drain(nil) {
			if v <= got {
				t.Fatalf("%d after %d", v, got)
			}
			got = v
		}
	}
}

// The floor to compare with is a channel of the same capacity.
func BenchmarkMailbox(b *testing.B) {
	m := NewMailbox[[2]uint64](1024, Block)
	done := make(chan struct{})
	b.ReportAllocs()
	go func() {
		defer close(done)
		var batch [][2]uint64
		for n := 0; n < b.N; n += len(batch) {
			<-m.Ready()
			batch = m.Drain(batch)
		}
	}()
	ctx := context.Background()
	for n := range b.N {
		if err := m.Send(ctx, [2]uint64{uint64(n)}); err != nil {
			b.Fatal(err)
		}
	}
	<-done
}

func BenchmarkChannel(b *testing.B) {
	ch := make(chan [2]uint64, 1024)
	done := make(chan struct{})
	b.ReportAllocs()
	go func() {
		defer close(done)
		for range b.N {
			<-ch
		}
	}()
	ctx := context.Background()
	for n := range b.N {
		select {
		case ch <- [2]uint64{uint64(n)}:
		case <-ctx.Done():
		}
	}
	<-done
}

func BenchmarkAsk(b *testing.B) {
	m := NewMailbox[*Reply[int]](16, Block)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var batch []*Reply[int]
		for {
			select {
			case <-m.Ready():
				batch = m.Drain(batch)
				for _, r := range batch {
					r.Answer(1, nil)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Ask(ctx, m, func(r *Reply[int]) *Reply[int] { return r }); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	<-done
}
