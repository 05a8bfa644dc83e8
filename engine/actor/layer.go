package actor

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Layer is a group of actors that is stopped as one, when its turn has come and
// not already when the context of its owner ends.
type Layer struct{ *Supervisor }

// NewLayer returns a layer whose failures are logged.
func NewLayer(ctx context.Context, log *slog.Logger) Layer {
	onError := func(name string, err error) {
		log.Error("actor failed and is started again", "actor", name, "err", err)
	}
	return Layer{NewSupervisor(context.WithoutCancel(ctx), RestartPolicy{}, onError)}
}

// StopWithin ends the actors and waits for them at most for limit.
func (l Layer) StopWithin(limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("the %s for it are over", limit.Round(time.Millisecond)))
	defer cancel()
	return l.Stop(ctx)
}
