package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// stopTime bounds the stop of an engine that was not told when it must be over.
	stopTime = 9 * time.Second
	// stopShare is left to each step that comes after one that hangs.
	stopShare = 500 * time.Millisecond
)

// How long a step of the stop may take at most: no part has more to do than a
// commit that is under way. What is left over goes to the databases.
const (
	networksStop = 4 * time.Second
	baseStop     = 2 * time.Second
	archivesStop = 3 * time.Second
)

// StopBy says until when the engine has to be at its end once the context of Run
// has ended. What hangs then is left behind, and Run says what that was.
func (e *Engine) StopBy(t time.Time) { e.stopBy.Store(&t) }

// ending is what is to be done at the end of Run, the last step first. Each step
// gets a time, and one that does not keep to it is left behind: a disk or a node
// that hangs keeps no process from its end.
type ending struct {
	steps []step
	times int // as long as usual; 0 means 1
}

type step struct {
	name string
	most time.Duration // 0: all that is left
	do   func(limit time.Duration) error
}

// later adds a step, to be done before those that were added so far.
func (s *ending) later(name string, most time.Duration, do func(limit time.Duration) error) {
	s.steps = append(s.steps, step{name, most, do})
}

// run does all steps by the time given, and returns their errors.
func (s *ending) run(by time.Time) error {
	var errs []error
	for i := len(s.steps) - 1; i >= 0; i-- {
		step := &s.steps[i]
		limit := max(time.Until(by)-time.Duration(i)*stopShare, stopShare)
		if step.most > 0 {
			limit = min(limit, step.most*time.Duration(max(s.times, 1)))
		}
		errs = append(errs, step.within(limit))
	}
	return errors.Join(errs...)
}

func (s *step) within(limit time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- s.do(limit) }() // left behind if it hangs: the process ends
	// A step that keeps to its limit may say itself what hung.
	timer := time.NewTimer(limit + limit/10)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s did not stop within %s", s.name, limit.Round(time.Millisecond))
	}
}

// end does what is to be done at the end of Run.
func (e *Engine) end(s *ending) error {
	s.times = e.cfg.StopTimes
	by := time.Now().Add(stopTime * time.Duration(max(s.times, 1)))
	if t := e.stopBy.Load(); t != nil && t.Before(by) {
		by = *t
	}
	return s.run(by)
}

// stopped turns an error that only says that ctx has ended into none.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
