// Package health keeps the results of the checks that tell whether the program
// does its work. Each check has one actor, which runs it at a fixed frequency.
// Reports are made from the last results: no reader ever causes a run, and
// readers take no lock while nothing has changed.
package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"quorate/engine/actor"
	"quorate/engine/metric"
)

const (
	defaultFrequency = 30 * time.Second
	defaultTimeout   = 10 * time.Second
	// MinFrequency keeps a mistyped unit from making the checks a busy loop.
	MinFrequency = time.Millisecond
	// maxName bounds names and tags in characters, as long as a chain's name may be.
	maxName = 512
	// stopGrace is how long Run waits for checks that ignore their context's end.
	stopGrace = 5 * time.Second

	// tagAll and tagApplication are what callers ask for to get every check, and
	// the global checks only.
	tagAll         = "all"
	tagApplication = "application"
)

// Errors of [Checker.Register] and [Checker.Run].
var (
	ErrBadCheck  = errors.New("bad health check")
	ErrDuplicate = errors.New("duplicate health check")
	ErrReserved  = errors.New("reserved tag")
	ErrRunning   = errors.New("health checks are run once only")
)

// Check is one thing to look at.
type Check struct {
	// Name is the key in reports, and unique.
	Name string
	// Tags are the tags whose filtered reports hold the check; none: it is a
	// global check, which every report holds.
	Tags []string
	// Readiness makes the check part of the readiness report too. There it passes
	// for good once it has passed, with the message of that run.
	Readiness bool
	// Run looks. The message's JSON form must be an object or an array; nil: there
	// is none. Run must return when ctx ends, which is after [Config.Timeout] at
	// the latest; until it has returned it is not called again.
	Run func(ctx context.Context) (message any, err error)
}

// Config says how checks are run.
type Config struct {
	// Frequency is the time from one start of a check to the next. Default 30 s, at
	// least 1 ms.
	Frequency time.Duration
	// Starting is the time between two runs of a check that has not passed yet, so
	// that what needs a moment after the start is not reported for a whole
	// Frequency. Default and at most Frequency.
	Starting time.Duration
	// Timeout bounds a run; one that takes longer fails. Default 10 s or Frequency,
	// whichever is less; it must not be above Frequency.
	Timeout time.Duration
	// Logger logs whenever a check starts to fail or to pass; nil discards it.
	Logger *slog.Logger
	// Metrics takes gauges and counters; nil: a set of its own.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if c.Frequency == 0 {
		c.Frequency = defaultFrequency
	}
	if c.Frequency < MinFrequency {
		return fmt.Errorf("health check frequency %s is below %s", c.Frequency, MinFrequency)
	}
	if c.Starting == 0 || c.Starting > c.Frequency {
		c.Starting = c.Frequency
	}
	if c.Starting < MinFrequency {
		return fmt.Errorf("health checks that have not passed yet every %s: below %s", c.Starting, MinFrequency)
	}
	if c.Timeout == 0 {
		c.Timeout = min(c.Frequency, defaultTimeout)
	}
	if c.Timeout < 0 || c.Timeout > c.Frequency {
		return fmt.Errorf("health check timeout %s is not between 0 and the frequency %s", c.Timeout, c.Frequency)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// Checker runs checks and reports on them. All methods may be called at once.
type Checker struct {
	cfg     Config
	metrics *instruments

	mu     sync.Mutex // guards what follows, and the results in the checks
	checks []*check   // sorted by name
	actors *actor.Supervisor

	// view is what reports are made from; nil once a result has changed, until the
	// next reader makes it again. Written with mu held.
	view atomic.Pointer[view]
}

// New checks the configuration and returns a checker without checks, which is not
// running yet.
func New(cfg Config) (*Checker, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	return &Checker{cfg: cfg, metrics: newInstruments(cfg.Metrics)}, nil
}

// Register adds a check. Until its first run, which starts at once while the
// checker runs, it is failing as "not yet run". The error wraps [ErrBadCheck],
// [ErrDuplicate] or [ErrReserved]; it is [actor.ErrClosed] after the end of Run.
func (c *Checker) Register(k Check) error {
	if err := validate(k); err != nil {
		return err
	}
	k.Tags = slices.Clone(k.Tags)
	n := newCheck(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := slices.BinarySearchFunc(c.checks, k.Name, func(have *check, name string) int {
		return strings.Compare(have.Name, name)
	})
	if found {
		return fmt.Errorf("%w: %q", ErrDuplicate, k.Name)
	}
	if c.actors != nil {
		if err := c.start(n); err != nil {
			return err
		}
	}
	c.checks = slices.Insert(c.checks, at, n)
	c.metrics.added(n)
	c.view.Store(nil)
	return nil
}

func validate(k Check) error {
	if err := validateText(k.Name); err != nil {
		return fmt.Errorf("%w: name: %w", ErrBadCheck, err)
	}
	if k.Run == nil {
		return fmt.Errorf("%w: %q has nothing to run", ErrBadCheck, k.Name)
	}
	for _, tag := range k.Tags {
		if tag == tagAll || tag == tagApplication {
			return fmt.Errorf("%w: %q of check %q", ErrReserved, tag, k.Name)
		}
		if err := validateText(tag); err != nil {
			return fmt.Errorf("%w: tag of %q: %w", ErrBadCheck, k.Name, err)
		}
	}
	return nil
}

// validateText keeps names fit for JSON keys, metric labels and log lines.
func validateText(s string) error {
	switch {
	case s == "":
		return errors.New("empty")
	case !utf8.ValidString(s):
		return errors.New("not UTF-8")
	case utf8.RuneCountInString(s) > maxName:
		return fmt.Errorf("above %d characters", maxName)
	case strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("control characters")
	}
	return nil
}

// Run runs the checks until ctx ends, and returns when each has ended. The error
// tells of checks that have not 5 s later, though their context has ended too.
// Call it once.
func (c *Checker) Run(ctx context.Context) error {
	if err := c.startAll(ctx); err != nil {
		if errors.Is(err, actor.ErrClosed) { // ctx had ended already
			return nil
		}
		return err
	}
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := c.actors.Stop(grace); err != nil {
		return fmt.Errorf("health checks %s have not returned: %w", strings.Join(c.hanging(), ", "), err)
	}
	return nil
}

func (c *Checker) startAll(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.actors != nil {
		return ErrRunning
	}
	c.actors = actor.NewSupervisor(ctx, actor.RestartPolicy{}, func(name string, err error) {
		c.cfg.Logger.Error("health check's actor failed and is started again", "check", name, "err", err)
	})
	for _, k := range c.checks {
		if err := c.start(k); err != nil {
			return err
		}
	}
	return nil
}

// start needs mu.
func (c *Checker) start(k *check) error {
	return c.actors.Go(k.Name, func(ctx context.Context) error { return c.act(ctx, k) })
}

// hanging names the checks that are inside a run.
func (c *Checker) hanging() []string {
	var names []string
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.checks {
		if k.inside.Load() {
			names = append(names, fmt.Sprintf("%q", k.Name))
		}
	}
	return names
}

// Health reports the last results of the checks with the given tags and of the
// global checks. No tags, or "all" among them: of every check. "application"
// adds nothing to the global checks.
func (c *Checker) Health(tags []string) Report {
	v := c.load()
	return v.health.report(v.tags, tags)
}

// Readiness is [Checker.Health] for the checks that are part of readiness.
func (c *Checker) Readiness(tags []string) Report {
	v := c.load()
	return v.readiness.report(v.tags, tags)
}

// Liveness is healthy and without checks: that it is asked for shows that
// requests are answered.
func (c *Checker) Liveness() Report {
	return Report{Checks: map[string]Result{}, Healthy: true, encoded: []byte(`{"checks":{},"healthy":true}`)}
}

// load returns the view of the last results.
func (c *Checker) load() *view {
	if v := c.view.Load(); v != nil {
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.view.Load(); v != nil {
		return v
	}
	v := newView(c.checks)
	c.view.Store(v)
	return v
}
