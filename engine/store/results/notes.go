package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// noteTTL is how long a note lasts that is not written again.
const noteTTL = 30 * 24 * time.Hour

// Notes is the part of the results database for what was learned in passing: it
// makes the next start better, and nothing depends on it.
type Notes struct{ r *Results }

// Notes returns the notes in the database.
func (r *Results) Notes() Notes { return Notes{r} }

// Put keeps value under key, like [Results.Put].
func (n Notes) Put(ctx context.Context, key, value []byte) error {
	if len(key) > MaxResultKey || len(value) > MaxResultValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return n.r.put(ctx, prefixNote, key, value, uint64(n.r.now().Add(noteTTL).Unix())) // after 1970
}

// Each calls f with every note whose key begins with prefix, in the order of
// the keys. key and value are valid during the call only.
func (n Notes) Each(prefix []byte, f func(key, value []byte)) error {
	n.r.mu.RLock()
	defer n.r.mu.RUnlock()
	if n.r.db == nil {
		return ErrClosed
	}
	now := uint64(n.r.now().Unix()) // after 1970
	return n.r.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = append([]byte{prefixNote}, prefix...)
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			err := item.Value(func(b []byte) error {
				if len(b) < expiryLen {
					return fmt.Errorf("%w: a note of %d bytes", ErrFormat, len(b))
				}
				if end := binary.BigEndian.Uint64(b); end == 0 || now < end {
					f(item.Key()[1:], b[expiryLen:])
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("read a note: %w", err)
			}
		}
		return nil
	})
}
