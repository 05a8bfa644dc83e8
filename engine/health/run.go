package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-json"
)

// maxError bounds the text of an error in a report: it may quote what a remote
// party has sent.
const maxError = 4096

// check is a registered check with its last results.
type check struct {
	Check
	inside atomic.Bool // Run has been called and has not returned

	// guarded by the checker's mutex
	health    entry
	readiness entry // without Readiness: unused
	passed    bool
	starting  bool // it has neither passed nor failed at a tick of its frequency yet, so a failure is no news
}

// outcome is what a call of Run gave.
type outcome struct {
	message json.RawMessage
	err     error
}

// panicked is the error of a run that panicked.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("the check panicked: %v", p.value) }

func newCheck(k Check) *check {
	fresh := newEntry(k, Result{Error: notYetRun})
	return &check{Check: k, health: fresh, readiness: fresh, starting: true}
}

// act is the actor of a check. It alone starts runs of it, one at a time.
func (c *Checker) act(ctx context.Context, k *check) error {
	ticker := time.NewTicker(c.cfg.Frequency)
	defer ticker.Stop()
	soon := time.NewTimer(0)
	defer soon.Stop()
	soon.Stop()
	for early := true; ; {
		if err := c.round(ctx, k, ticker.C, early); err != nil {
			return nil // the end of ctx, which is no failure
		}
		if c.cfg.Starting < c.cfg.Frequency && !c.hasPassed(k) {
			soon.Reset(c.cfg.Starting)
		}
		select {
		case <-ticker.C:
			early = false
		case <-soon.C:
			early = true
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Checker) hasPassed(k *check) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return k.passed
}

// round runs the check once and returns when the run has ended. A run that
// exceeds the time limit has failed: its own result, when it comes, is too late
// to count. For as long as it goes on, each tick counts as a further failure.
// early runs are the first one, and those before the next tick.
func (c *Checker) round(ctx context.Context, k *check, ticks <-chan time.Time, early bool) error {
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	done := make(chan outcome, 1)
	k.inside.Store(true)
	defer k.inside.Store(false)
	go call(limited, k.Run, done) // has ended when round returns
	c.metrics.runs.Inc()
	select {
	case o := <-done:
		if ctx.Err() != nil {
			return context.Cause(ctx) // what a cut off run found means nothing
		}
		c.settle(k, started, o, early)
		return nil
	case <-limited.Done():
	}
	if ctx.Err() == nil {
		c.metrics.timeouts.Inc()
		c.settle(k, started, outcome{err: fmt.Errorf("the check did not end within %s", c.cfg.Timeout)}, early)
	}
	for {
		select {
		case <-done:
			return context.Cause(ctx)
		case <-ticks:
			if ctx.Err() == nil {
				c.settle(k, started, outcome{err: fmt.Errorf("the check did not end within %s and still runs", c.cfg.Timeout)}, false)
			}
		}
	}
}

// call runs a check and always gives an outcome.
func call(ctx context.Context, run func(context.Context) (any, error), done chan<- outcome) {
	o := outcome{err: errors.New("the check ended its goroutine")}
	defer func() {
		if v := recover(); v != nil {
			o = outcome{err: &panicked{value: v, stack: debug.Stack()}}
		}
		done <- o
	}()
	message, err := run(ctx)
	encoded, encodeErr := encode(message)
	if encodeErr != nil {
		err = errors.Join(err, encodeErr)
	}
	o = outcome{message: encoded, err: err}
}

// encode returns the JSON form of a message, so that later changes of the message
// by the check cannot meet a reader.
func encode(message any) (json.RawMessage, error) {
	if message == nil {
		return nil, nil
	}
	b, err := json.Marshal(message)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the check's message has no JSON form: %w", err)
	case bytes.Equal(b, []byte("null")):
		return nil, nil
	case b[0] != '{' && b[0] != '[':
		return nil, errors.New("the check's message is neither an object nor an array")
	}
	return b, nil
}

// settle makes an outcome the last result of its check.
func (c *Checker) settle(k *check, started time.Time, o outcome, early bool) {
	end := time.Now()
	r := Result{Message: o.message, Timestamp: end, Duration: end.Sub(started)}
	if o.err != nil {
		r.Error = errorText(o.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := k.health.result
	if r.Error != "" {
		r.ContiguousFailures = before.ContiguousFailures + 1
		r.TimeOfFirstFailure = before.TimeOfFirstFailure
		if before.ContiguousFailures == 0 {
			r.TimeOfFirstFailure = end
		}
	}
	k.health = newEntry(k.Check, r)
	if k.Readiness {
		k.readiness = newEntry(k.Check, sticky(k.readiness.result, r))
	}
	c.view.Store(nil)
	if _, defect := errors.AsType[*panicked](o.err); defect {
		k.starting = false
	}
	if r.ContiguousFailures == 1 || before.Error != "" && r.Error == "" {
		c.metrics.changed(k, before, r)
		c.logChange(k, r, o.err)
	} else if k.starting && !early {
		c.logChange(k, r, o.err)
	}
	k.passed = k.passed || r.Error == ""
	k.starting = k.starting && !k.passed && early
}

// sticky returns the readiness result that follows before, when the check gave r.
func sticky(before, r Result) Result {
	if before.Error != "" {
		return r
	}
	return Result{Message: before.Message, Timestamp: r.Timestamp, Duration: r.Duration}
}

func (c *Checker) logChange(k *check, r Result, err error) {
	if err == nil {
		c.cfg.Logger.Info("health check passes", "check", k.Name, "duration", r.Duration)
		return
	}
	attrs := []any{"check", k.Name, "err", r.Error, "duration", r.Duration}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	if k.starting && r.ContiguousFailures == 1 {
		c.cfg.Logger.Info("health check does not pass yet", attrs...)
		return
	}
	c.cfg.Logger.Warn("health check fails", attrs...)
}

// errorText is never empty: a failing check is known by its error.
func errorText(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if text == "" {
		return "the check failed without a reason"
	}
	if len(text) <= maxError {
		return text
	}
	cut := maxError
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
