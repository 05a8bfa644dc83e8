package valset

import (
	"context"
	"fmt"

	"quorate/engine/chain"
)

// Kinds of questions to the source that callers wait for.
const (
	flightSet = iota
	flightBalances
	flightSubnet
	flightConversion
)

type flightKey struct {
	kind   int
	id     chain.ID
	height uint64
}

// flight is one question that any number of callers wait for.
type flight struct {
	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

// fly puts a question to the source unless the same one is under way, and waits
// for the answer or for the end of ctx. The question itself lasts as long as
// the keeper runs and the call timeout allows: it is not the first caller's alone.
func fly[T any](ctx context.Context, k *Keeper, key flightKey, ask func(context.Context) (T, error)) (T, error) {
	var zero T
	f, err := k.takeOff(key, func(ctx context.Context) (any, error) { return ask(ctx) })
	if err != nil {
		return zero, err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
	if f.err != nil {
		return zero, f.err
	}
	return f.value.(T), nil // the kind in key fixes the type
}

func (k *Keeper) takeOff(key flightKey, ask func(context.Context) (any, error)) (*flight, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f, ok := k.flights[key]; ok {
		return f, nil
	}
	if k.runCtx == nil || k.runCtx.Err() != nil {
		return nil, fmt.Errorf("%w: not running", ErrSource)
	}
	if len(k.flights) >= maxFlights {
		return nil, fmt.Errorf("%w: %d questions are waiting", ErrSource, len(k.flights))
	}
	f := &flight{done: make(chan struct{})}
	k.flights[key] = f
	ctx := k.runCtx
	k.wg.Go(func() {
		f.value, f.err = k.ask(ctx, ask)
		k.mu.Lock()
		delete(k.flights, key)
		k.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

// ask waits for a slot and asks.
func (k *Keeper) ask(ctx context.Context, ask func(context.Context) (any, error)) (any, error) {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrSource, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	return ask(ctx)
}
