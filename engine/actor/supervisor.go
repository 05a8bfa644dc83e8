package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// RestartPolicy bounds restarts of a failed actor.
type RestartPolicy struct {
	// Min and Max bound the wait before a restart; it doubles with each failure
	// in a row and starts over after an actor has run for Max. Defaults 100 ms and 10 s.
	Min, Max time.Duration
}

// Supervisor owns goroutines: it starts them, restarts those that fail, and
// waits for their end. The zero value is not usable; see [NewSupervisor].
type Supervisor struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	policy  RestartPolicy
	onError func(name string, err error)
	wg      sync.WaitGroup

	mu      sync.Mutex // guards stopped, and orders Go against Stop
	stopped bool
}

// NewSupervisor returns a supervisor whose actors end when ctx does. onError, if
// not nil, is told of every failure before the restart.
func NewSupervisor(ctx context.Context, policy RestartPolicy, onError func(name string, err error)) *Supervisor {
	if policy.Min <= 0 {
		policy.Min = 100 * time.Millisecond
	}
	if policy.Max < policy.Min {
		policy.Max = max(10*time.Second, policy.Min)
	}
	if onError == nil {
		onError = func(string, error) {}
	}
	s := &Supervisor{policy: policy, onError: onError}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// Go runs an actor until it returns nil or the supervisor stops. An error or a
// panic is reported and the actor started again after a wait. Go returns
// [ErrClosed] after Stop; when it returns nil the actor runs at least once, if
// only to find its context ended and to answer those who wait for it.
func (s *Supervisor) Go(name string, run func(ctx context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.ctx.Err() != nil {
		return ErrClosed
	}
	s.wg.Go(func() { s.keep(name, run) })
	return nil
}

func (s *Supervisor) keep(name string, run func(ctx context.Context) error) {
	wait := s.policy.Min
	for {
		started := time.Now()
		err := guarded(s.ctx, run)
		if err == nil || s.isEnd(err) {
			return
		}
		s.onError(name, err)
		if time.Since(started) >= s.policy.Max {
			wait = s.policy.Min
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, s.policy.Max)
	}
}

// isEnd reports whether err only says that the supervisor has stopped.
func (s *Supervisor) isEnd(err error) bool {
	return s.ctx.Err() != nil && (errors.Is(err, s.ctx.Err()) || errors.Is(err, context.Cause(s.ctx)))
}

func guarded(ctx context.Context, run func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run(ctx)
}

// Stop ends every actor and waits for them, at most until ctx ends.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.cancel(ErrClosed)
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors still running: %w", context.Cause(ctx))
	}
}
