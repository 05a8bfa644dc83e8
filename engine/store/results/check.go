package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// errProbe is wrapped by the error of a check that did not read what it wrote.
var errProbe = errors.New("the database does not give back what was written")

// Check writes an entry of its own through the writer, reads it back and
// compares, so it fails when the database is closed or refuses work, and when
// its writer does not run. It returns when ctx ends, also when the database
// hangs; until the hanging check has ended, later ones wait for it. Each check
// overwrites the entry of the one before.
func (r *Results) Check(ctx context.Context) error {
	select {
	case r.probing <- struct{}{}:
	case <-r.closing:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("the last check of the database still hangs: %w", context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() { // Close waits for its end by the token
		defer func() { <-r.probing }()
		done <- r.probe(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	default:
		return fmt.Errorf("the database did not answer in time: %w", context.Cause(ctx))
	}
}

func (r *Results) probe(ctx context.Context) error {
	value := binary.BigEndian.AppendUint64(nil, rand.Uint64())
	value = binary.BigEndian.AppendUint64(value, rand.Uint64())
	if err := r.put(ctx, prefixProbe, nil, value, 0); err != nil {
		return fmt.Errorf("write a probe: %w", err)
	}
	got, found, err := r.get(prefixProbe, nil, nil)
	switch {
	case err != nil:
		return fmt.Errorf("read the probe: %w", err)
	case !found:
		return fmt.Errorf("%w: the probe is missing", errProbe)
	case !bytes.Equal(got, value):
		return fmt.Errorf("%w: the probe has changed", errProbe)
	}
	return nil
}
