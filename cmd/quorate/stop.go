package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"quorate/engine"
)

// The times of a stop, all from the signal on. Each part bounds its own stop and
// says what hung; lastResort is for what none of them has foreseen, such as a
// standard error that is not read.
const (
	// forwardTime is what requests that wait for a node or a plugin are given: less
	// than the others, so that they are answered.
	forwardTime = 5 * time.Second
	// drainTime is what requests in flight are given.
	drainTime = 6500 * time.Millisecond
	// stopTime is when the engine is at its end, whatever is left behind.
	stopTime = 9300 * time.Millisecond
	// lastResort is when the process ends.
	lastResort = 9800 * time.Millisecond
)

// stopTimes is how many times as long each part may take. Tests are patient where they
// are not about that time: a disk may be busy for seconds.
var stopTimes = 1

// drainFor is for how many nanoseconds a stop waits before it begins.
var drainFor atomic.Int64

// drain returns a context that ends so long after another one. Meanwhile the server is not
// ready, so that balancers send new requests elsewhere, and answers all that it gets.
func drain(ctx context.Context, r *engine.Readiness, wait time.Duration) (later context.Context, end func()) {
	drainFor.Store(int64(wait))
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		r.Drain()
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-later.Done():
		}
		cancel(context.Cause(ctx))
	})
	return later, func() {
		stop()
		cancel(nil)
	}
}

// sayTime is how long a process that gives up tries to say so.
const sayTime = 100 * time.Millisecond

// giveUp ends the process though parts of it are still at work, and shows at what.
func giveUp() {
	said := make(chan struct{})
	go func() { // standard error may hang too
		defer close(said)
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		// What cannot be written to stderr cannot be reported.
		_, _ = fmt.Fprintf(os.Stderr, "quorate: the stop has not ended within %s; this is what hangs:\n%s\n", lastResort, stacks)
	}()
	select {
	case <-said:
	case <-time.After(sayTime):
	}
	os.Exit(exitFailed)
}
