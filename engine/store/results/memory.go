package store

import (
	"context"
	"fmt"
)

// Remember keeps value under key for ever, apart from results, and returns when
// it is committed. It needs Run, as Put does.
func (r *Results) Remember(ctx context.Context, key, value []byte) error {
	if len(key) > MaxResultKey || len(value) > MaxResultValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return r.put(ctx, prefixMemory, key, value, 0)
}

// Recall returns the value that is remembered under key, and whether there is one.
func (r *Results) Recall(key []byte) ([]byte, bool, error) {
	return r.get(prefixMemory, key, nil)
}
