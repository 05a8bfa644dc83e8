package actor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestRetry: the waits double up to a bound, each new reason is said once, and the end of
// the context ends a wait.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, said := time.Now(), []string(nil)
		var at []time.Duration
		say := func(err error) { said = append(said, err.Error()) }
		fails := []error{errors.New("a"), errors.New("a"), errors.New("b"), errors.New("b"), nil}
		if !Retry(t.Context(), time.Second, 3*time.Second, say, func() error {
			at = append(at, time.Since(began))
			return fails[len(at)-1]
		}) {
			t.Error("it gave up")
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}
		if !slices.Equal(at, want) || !slices.Equal(said, []string{"a", "b"}) {
			t.Errorf("at %v, said %v", at, said)
		}
		began = time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if Retry(ctx, time.Minute, time.Minute, say, func() error { return fails[0] }) || time.Since(began) != 10*time.Second {
			t.Errorf("it ended after %s", time.Since(began))
		}
	})
}
