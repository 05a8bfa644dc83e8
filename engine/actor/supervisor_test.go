package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errFault = errors.New("fault")

func mustStop(t *testing.T, s *Supervisor) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// The wait before a restart doubles up to Max, and starts over after a run of Max.
func TestRestartBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures []string
		s := NewSupervisor(t.Context(), RestartPolicy{Min: 100 * time.Millisecond, Max: time.Second},
			func(name string, err error) { failures = append(failures, fmt.Sprint(name, ": ", err)) })
		begin := time.Now()
		var starts []time.Duration
		err := s.Go("worker", func(ctx context.Context) error {
			starts = append(starts, time.Since(begin))
			switch len(starts) {
			case 7: // lives long enough to be trusted again
				<-time.After(time.Second)
			case 9:
				return nil
			}
			return errFault
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		mustStop(t, s)
		var want []time.Duration
		for _, ms := range []int{0, 100, 300, 700, 1500, 2500, 3500, 4600, 4800} {
			want = append(want, time.Duration(ms)*time.Millisecond)
		}
		if !slices.Equal(starts, want) {
			t.Errorf("started at %v\nwant       %v", starts, want)
		}
		if len(failures) != 8 || failures[0] != "worker: fault" {
			t.Errorf("told of %v, want 8 failures", failures)
		}
	})
}

func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want RestartPolicy }{
		{RestartPolicy{}, RestartPolicy{100 * time.Millisecond, 10 * time.Second}},
		{RestartPolicy{Min: time.Minute}, RestartPolicy{time.Minute, time.Minute}},
		{RestartPolicy{Max: time.Second}, RestartPolicy{100 * time.Millisecond, time.Second}},
	} {
		s := NewSupervisor(t.Context(), c.in, nil)
		if s.policy != c.want {
			t.Errorf("%v: got %v, want %v", c.in, s.policy, c.want)
		}
		mustStop(t, s)
	}
}

func TestPanicIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told error
		s := NewSupervisor(t.Context(), RestartPolicy{}, func(_ string, err error) { told = err })
		runs := 0
		if err := s.Go("worker", func(context.Context) error {
			if runs++; runs == 1 {
				panic("out of order")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		mustStop(t, s)
		if runs != 2 || told == nil || !strings.Contains(told.Error(), "out of order") ||
			!strings.Contains(told.Error(), "supervisor_test.go") {
			t.Errorf("%d runs, told of %v; want a restart and the stack", runs, told)
		}
	})
}

// However an actor words it that it was told to stop, it has not failed.
func TestStopIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSupervisor(t.Context(), RestartPolicy{}, func(name string, err error) {
			if name != "really failed" {
				t.Errorf("told that %s failed: %v", name, err)
			}
		})
		for name, end := range map[string]func(ctx context.Context) error{
			"nil":           func(context.Context) error { return nil },
			"error":         context.Context.Err,
			"cause":         context.Cause,
			"wrapped":       func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) },
			"really failed": func(context.Context) error { return errFault },
		} {
			if err := s.Go(name, func(ctx context.Context) error {
				<-ctx.Done()
				return end(ctx)
			}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		mustStop(t, s)
		mustStop(t, s)
		if err := s.Go("late", func(context.Context) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("started after the stop: %v", err)
		}
	})
}

func TestStopDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSupervisor(t.Context(), RestartPolicy{Min: time.Hour}, nil)
		runs := 0
		if err := s.Go("worker", func(context.Context) error { runs++; return errFault }); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		begin := time.Now()
		mustStop(t, s)
		if runs != 1 || time.Since(begin) != 0 {
			t.Errorf("%d runs, the stop took %s", runs, time.Since(begin))
		}
	})
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSupervisor(t.Context(), RestartPolicy{}, nil)
		release := make(chan struct{})
		if err := s.Go("stubborn", func(context.Context) error { <-release; return nil }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		close(release)
		mustStop(t, s)
	})
}

func TestParentEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := NewSupervisor(ctx, RestartPolicy{}, func(_ string, err error) { t.Errorf("told of %v", err) })
		var got error
		if err := s.Go("worker", func(ctx context.Context) error {
			<-ctx.Done()
			got = context.Cause(ctx)
			return got
		}); err != nil {
			t.Fatal(err)
		}
		cancel(errFault)
		synctest.Wait()
		if !errors.Is(got, errFault) {
			t.Errorf("the actor saw %v, want the parent's cause", got)
		}
		if err := s.Go("late", func(context.Context) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("started under an ended parent: %v", err)
		}
		mustStop(t, s)
	})
}

// Go and Stop race: whatever was accepted has run and is waited for.
func TestGoAgainstStop(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := NewSupervisor(t.Context(), RestartPolicy{}, nil)
		var mu sync.Mutex
		started, ended := 0, 0
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				err := s.Go("worker", func(ctx context.Context) error {
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					ended++
					return nil
				})
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					started++
				} else if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		mustStop(t, s)
		wg.Wait()
		mustStop(t, s)
		mu.Lock()
		if ended != started {
			t.Errorf("%d started, %d ended", started, ended)
		}
		mu.Unlock()
	}
}
