package results

import (
	"bytes"
	"context"
	"fmt"

	"quorate/engine/store"
)

// Check writes an entry of its own through the writer, reads it back and
// compares, so it fails when the database is closed or refuses work, and when
// its writer does not run. It returns when ctx ends, also when the database
// hangs. Each check overwrites the entry of the one before.
func (d *DB) Check(ctx context.Context) error {
	return d.prober.Check(ctx, func(value []byte) error { return d.probe(ctx, value) })
}

func (d *DB) probe(ctx context.Context, value []byte) error {
	if err := d.put(ctx, store.ProbeKey, nil, value, 0); err != nil {
		return fmt.Errorf("write a probe: %w", err)
	}
	got, found, err := d.get(store.ProbeKey, nil, nil)
	switch {
	case err != nil:
		return fmt.Errorf("read the probe: %w", err)
	case !found:
		return fmt.Errorf("%w: the probe is missing", store.ErrProbe)
	case !bytes.Equal(got, value):
		return fmt.Errorf("%w: the probe has changed", store.ErrProbe)
	}
	return nil
}
