package results

import (
	"context"
	"fmt"
)

// Remember keeps value under key for ever, apart from results, and returns when
// it is committed. It needs Run, as Put does.
func (d *DB) Remember(ctx context.Context, key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return d.put(ctx, prefixMemory, key, value, 0)
}

// Recall returns the value that is remembered under key, and whether there is one.
func (d *DB) Recall(key []byte) ([]byte, bool, error) {
	return d.get(prefixMemory, key, nil)
}
