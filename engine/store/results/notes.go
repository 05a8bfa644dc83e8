package results

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// noteTTL is how long a note lasts that is not written again.
const noteTTL = 30 * 24 * time.Hour

// Notes is the part of the results database for what was learned in passing: it
// makes the next start better, and nothing depends on it.
type Notes struct{ db *DB }

// Notes returns the notes in the database.
func (d *DB) Notes() Notes { return Notes{d} }

// Put keeps value under key, like [DB.Put].
func (n Notes) Put(ctx context.Context, key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return n.db.put(ctx, prefixNote, key, value, uint64(n.db.now().Add(noteTTL).Unix())) // after 1970
}

// Each calls f with every note whose key begins with prefix, in the order of
// the keys. key and value are valid during the call only.
func (n Notes) Each(prefix []byte, f func(key, value []byte)) error {
	return n.db.each(prefixNote, prefix, f)
}

// each calls f with every entry of a kind whose key begins with prefix.
func (d *DB) each(kind byte, prefix []byte, f func(key, value []byte)) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return store.ErrClosed
	}
	now := uint64(d.now().Unix()) // after 1970
	return d.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = append([]byte{kind}, prefix...)
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			err := item.Value(func(b []byte) error {
				if len(b) < expiryLen {
					return fmt.Errorf("%w: an entry of %d bytes", store.ErrFormat, len(b))
				}
				if end := binary.BigEndian.Uint64(b); end == 0 || now < end {
					f(item.Key()[1:], b[expiryLen:])
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("read an entry: %w", err)
			}
		}
		return nil
	})
}
