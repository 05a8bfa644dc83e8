package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrProbe is wrapped by the error of a check that did not read what it wrote.
var ErrProbe = errors.New("the database does not give back what was written")

// Prober has a database checked, by one check at a time.
type Prober struct {
	closing <-chan struct{}
	token   chan struct{} // held by the check that is under way
}

// NewProber returns the prober of a database that refuses checks once closing is closed.
func NewProber(closing <-chan struct{}) *Prober {
	return &Prober{closing: closing, token: make(chan struct{}, 1)}
}

// Check calls probe with a random value that it is to write and read back, and
// returns its error. It returns when ctx ends, also when the database hangs; until
// the hanging check has ended, later ones wait for it.
func (p *Prober) Check(ctx context.Context, probe func(value []byte) error) error {
	select {
	case p.token <- struct{}{}:
	case <-p.closing:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("the last check of the database still hangs: %w", context.Cause(ctx))
	}
	value := binary.BigEndian.AppendUint64(nil, rand.Uint64())
	value = binary.BigEndian.AppendUint64(value, rand.Uint64())
	done := make(chan error, 1)
	go func() { // Wait waits for its end by the token
		defer func() { <-p.token }()
		done <- probe(value)
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

// Wait waits for the end of a check, and lets none begin before release is called.
func (p *Prober) Wait() (release func()) {
	p.token <- struct{}{}
	return func() { <-p.token }
}
