package actor

import (
	"context"
	"time"
)

// Retry does f until it succeeds, with waits between that double from first to most, and
// reports whether it did before ctx ended. say is called with each new reason why it does
// not, so that a log has one line for each.
func Retry(ctx context.Context, first, most time.Duration, say func(error), f func() error) bool {
	said := ""
	for wait := first; ; wait = min(2*wait, most) {
		err := f()
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		if text := err.Error(); text != said {
			said = text
			say(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}
